"""Where mail providers call. Each door answers in the way that its provider takes for "stop" or "later"."""

from base64 import b64decode
from binascii import Error as BadBase64
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from reedbed.domain.errors import Invalid
from reedbed.http.caller import RuntimeOf
from reedbed.http.client_ip import client_ip
from reedbed.http.guards import BODY_LIMIT, MAIL_LIMIT
from reedbed.http.json import json_response
from reedbed.services.mail_webhooks import check_token, from_mailgun, from_postmark, from_raw, from_ses
from reedbed.services.newsletters import Received, Refused

router = APIRouter(prefix="/inbound", include_in_schema=False)

# A permanent refusal that each provider does not try again after.
_POSTMARK, _MAILGUN, _SES = 403, 406, 403
_RAW = {"unknown": 404, "large": 413, "unreadable": 422, "spam": 422, "blocked": 422, "full": 507}
_MOST_FIELDS = 500


@router.post("/raw")
async def raw(
    request: Request, runtime: RuntimeOf, to: Annotated[list[str], Query(max_length=100)]
) -> Response:
    """The mail itself as the body; `to` names who it was sent to."""
    await check_token(runtime, _given_token(request), client_ip(request))
    outcome = await from_raw(runtime, tuple(to), await request.body())
    return _answer(
        outcome, _RAW[outcome.why] if isinstance(outcome, Refused) and outcome.why != "busy" else 0
    )


@router.post("/postmark")
async def postmark(request: Request, runtime: RuntimeOf) -> Response:
    await check_token(runtime, _given_token(request), client_ip(request))
    return _answer(await from_postmark(runtime, _object(await request.body())), _POSTMARK)


@router.post("/mailgun")
@router.post("/mailgun/mime")
async def mailgun(request: Request, runtime: RuntimeOf) -> Response:
    """Mailgun sends the whole mail to addresses that end in `mime`, and what it read of it to others."""
    fields, files = await _form(request)
    return _answer(await from_mailgun(runtime, fields, files, client_ip(request)), _MAILGUN)


@router.post("/ses")
async def ses(request: Request, runtime: RuntimeOf) -> Response:
    body = await request.body()
    if len(body) > BODY_LIMIT:
        raise Invalid("No notification is as large as this.")
    return _answer(await from_ses(runtime, body, client_ip(request)), _SES)


async def _form(request: Request) -> tuple[dict[str, str], dict[str, bytes]]:
    """Fields as text and as they were sent: a whole mail in one of them is bytes of any charset."""
    kind = request.headers.get("content-type", "")
    files: dict[str, bytes] = {}
    if kind.startswith("multipart/form-data"):
        parser = MultiPartParser(
            Headers({"content-type": f"{kind}; charset=latin-1"}),
            request.stream(),
            max_files=200,
            max_fields=_MOST_FIELDS,
            max_part_size=MAIL_LIMIT,
        )
        form = await _parsed(parser)
        try:
            for name, value in form.multi_items():
                files[name] = await value.read() if isinstance(value, UploadFile) else value.encode("latin-1")
        finally:
            await form.close()
    else:
        pairs = _pairs(await request.body())
        files = {name: value.encode("latin-1") for name, value in pairs}
    return {name: data.decode("utf-8", "replace") for name, data in files.items()}, files


async def _parsed(parser: MultiPartParser) -> FormData:
    try:
        return await parser.parse()
    except (MultiPartException, KeyError) as error:
        raise Invalid("The form could not be read.") from error


def _pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode("latin-1"), encoding="latin-1", max_num_fields=_MOST_FIELDS, keep_blank_values=True
        )
    except ValueError as error:
        raise Invalid("The form could not be read.") from error


def _answer(outcome: Received | Refused, refusal: int) -> Response:
    if isinstance(outcome, Received):
        return json_response({"received": outcome.new, "known": outcome.known, "unwanted": outcome.unwanted})
    status = 429 if outcome.why == "busy" else refusal
    error: dict[str, Any] = {"code": outcome.why, "message": outcome.reason, "details": {}}
    return json_response({"error": error}, status)


def _given_token(request: Request) -> str:
    """From a bearer header, or as the password of basic authentication, which an address can hold."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    try:
        return (
            b64decode(value).decode("utf-8", "replace").partition(":")[2] if scheme.lower() == "basic" else ""
        )
    except (BadBase64, ValueError):
        return ""


def _object(body: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid("This is no JSON.") from error
    if not isinstance(told, dict):
        raise Invalid("This is no mail of Postmark's.")
    return cast(dict[str, Any], told)

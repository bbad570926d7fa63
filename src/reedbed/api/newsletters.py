"""Where mail providers call. Each door answers in the way that its provider takes for "stop" or "later"."""

from base64 import b64decode
from binascii import Error as BadBase64
from typing import Annotated, Any, Literal, cast
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from reedbed.domain.errors import Invalid
from reedbed.domain.newsletters import IngestAddress, Sender, WaitingConfirmation
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.middleware import BODY_LIMIT, MAIL_LIMIT
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, moment, text_id
from reedbed.services.newsletters.channels import (
    MailboxOptions,
    add_mailbox,
    ask_for_look,
    check_token,
    from_mailgun,
    from_postmark,
    from_raw,
    from_ses,
    remove_mailbox,
)
from reedbed.services.newsletters.receive import MailRejected, Received
from reedbed.services.newsletters.senders import (
    CONFIRMATIONS_SHOWN,
    add_address,
    block_address,
    block_sender,
    dismiss_confirmation,
    follow_again,
    get_sender,
    rename_address,
    revoke_address,
    unblock_sender,
    written,
)
from reedbed.services.runtime import Runtime
from reedbed.store import newsletters
from reedbed.store.newsletters import Mailbox

router = APIRouter(prefix="/api/v1/newsletters", tags=["newsletters"])


class NameRequest(ApiModel):
    name: str = Field(examples=["Newsletters"], max_length=500)


class SenderRequest(ApiModel):
    address: str = Field(examples=["news@example.org"], max_length=500)


class SenderChange(ApiModel):
    """What is not sent stays."""

    blocked: bool | None = None
    followed: Literal[True] | None = Field(
        None, description="Show its mail again after it was left. To leave, delete its subscription."
    )


class MailboxRequest(ApiModel):
    host: str = Field(examples=["imap.example.org"], max_length=500)
    port: int = 993
    security: Literal["tls", "starttls", "none"] = "tls"
    username: str = Field(max_length=500)
    password: str = Field(max_length=500, description="Kept to log in with, and never shown again.")
    folder: str = Field("INBOX", max_length=500)


class NewsletterAddressResponse(ApiModel):
    id: str
    name: str
    address: str
    received: int
    created_at: str
    last_used_at: str | None


class VerdictsResponse(ApiModel):
    by: str = Field(description="The receiving server that found this out.")
    spf: str
    dkim: str
    dmarc: str


class SenderResponse(ApiModel):
    id: str
    feed_id: str | None
    address: str
    name: str
    received: int
    refused: int = Field(description="Mails not shown since it was blocked or left.")
    last_mail_at: str | None
    blocked: bool
    left: bool
    leaving: str = Field(description="What became of unsubscribing, in a sentence.")
    leave_page: str | None = Field(description="Where the list lets people leave by hand.")
    verdicts: VerdictsResponse


class MailboxResponse(ApiModel):
    id: str
    host: str
    port: int
    security: str
    username: str
    folder: str
    received: int
    last_checked_at: str | None
    next_check_at: str
    last_error: str | None


class ConfirmationResponse(ApiModel):
    entry_id: str
    title: str
    sender: str
    url: str = Field(description="Open it to confirm. The server itself never does.")
    label: str
    created_at: str


class AddressList(ApiModel):
    items: list[NewsletterAddressResponse]
    next_cursor: str | None


class SenderList(ApiModel):
    items: list[SenderResponse]
    next_cursor: str | None


class MailboxList(ApiModel):
    items: list[MailboxResponse]
    next_cursor: str | None


class ConfirmationList(ApiModel):
    items: list[ConfirmationResponse]
    next_cursor: str | None


@router.get("/addresses", summary="Your addresses for newsletters", responses={200: {"model": AddressList}})
async def list_addresses(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        found = await newsletters.list_addresses(tx, caller.user_id)
    return _items([_address(runtime, one) for one in found])


@router.post(
    "/addresses",
    status_code=201,
    summary="A new address",
    responses={201: {"model": NewsletterAddressResponse}},
)
async def create_address(runtime: CurrentRuntime, caller: CurrentCaller, body: NameRequest) -> Response:
    return json_response(_address(runtime, await add_address(runtime, caller.user_id, body.name)), 201)


@router.patch(
    "/addresses/{address_id}",
    summary="Name an address",
    responses={200: {"model": NewsletterAddressResponse}},
)
async def change_address(
    runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath, body: NameRequest
) -> Response:
    renamed = await rename_address(runtime, caller.user_id, address_id, body.name)
    return json_response(_address(runtime, renamed))


@router.delete("/addresses/{address_id}", status_code=204, summary="Revoke an address, for ever")
async def delete_address(runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath) -> Response:
    await revoke_address(runtime, caller.user_id, address_id)
    return Response(status_code=204)


@router.get(
    "/senders", summary="Who sends you newsletters, newest first", responses={200: {"model": SenderList}}
)
async def list_senders(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        found = await newsletters.list_senders(tx, caller.user_id)
    return _items([_sender(one) for one in found])


@router.post(
    "/senders",
    status_code=201,
    summary="Block an address, also before it wrote",
    responses={201: {"model": SenderResponse}},
)
async def create_block(runtime: CurrentRuntime, caller: CurrentCaller, body: SenderRequest) -> Response:
    return json_response(_sender(await block_address(runtime, caller.user_id, body.address)), 201)


@router.get("/senders/{sender_id}", summary="One sender", responses={200: {"model": SenderResponse}})
async def one_sender(runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath) -> Response:
    return json_response(_sender(await get_sender(runtime, caller.user_id, sender_id)))


@router.patch(
    "/senders/{sender_id}", summary="Block or follow a sender", responses={200: {"model": SenderResponse}}
)
async def change_sender(
    runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath, body: SenderChange
) -> Response:
    found = await get_sender(runtime, caller.user_id, sender_id)
    if body.followed:
        found = await follow_again(runtime, caller.user_id, sender_id)
    if body.blocked is not None:
        act = block_sender if body.blocked else unblock_sender
        found = await act(runtime, caller.user_id, sender_id)
    return json_response(_sender(found))


@router.get(
    "/mailboxes", summary="Mailboxes looked into for newsletters", responses={200: {"model": MailboxList}}
)
async def list_mailboxes(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        found = await newsletters.list_mailboxes(tx, caller.user_id)
    return _items([_mailbox(one) for one in found])


@router.post(
    "/mailboxes",
    status_code=201,
    summary="Look into a folder of a mailbox",
    description="The log-in is tried first. The folder is only read; nothing in it changes.",
    responses={201: {"model": MailboxResponse}},
)
async def create_mailbox(runtime: CurrentRuntime, caller: CurrentCaller, body: MailboxRequest) -> Response:
    wish = MailboxOptions(body.host, body.username, body.password, body.port, body.security, body.folder)
    return json_response(_mailbox(await add_mailbox(runtime, caller.user_id, wish)), 201)


@router.post("/mailboxes/{mailbox_id}/check", status_code=202, summary="Look into it soon")
async def check(runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath) -> Response:
    await ask_for_look(runtime, caller.user_id, mailbox_id)
    return Response(status_code=202)


@router.delete("/mailboxes/{mailbox_id}", status_code=204, summary="Look into it no more")
async def delete_mailbox(runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath) -> Response:
    await remove_mailbox(runtime, caller.user_id, mailbox_id)
    return Response(status_code=204)


@router.get(
    "/confirmations",
    summary="Mails that wait for your click, newest first",
    responses={200: {"model": ConfirmationList}},
)
async def list_confirmations(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        found = await newsletters.waiting(tx, caller.user_id, runtime.now() - CONFIRMATIONS_SHOWN)
    return _items([_confirmation(one) for one in found])


@router.delete("/confirmations/{entry_id}", status_code=204, summary="Done, or not wanted")
async def delete_confirmation(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    await dismiss_confirmation(runtime, caller.user_id, entry_id)
    return Response(status_code=204)


def _items(items: list[dict[str, Any]]) -> Response:
    return json_response({"items": items, "next_cursor": None})


def _address(runtime: Runtime, one: IngestAddress) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "name": one.name,
        "address": written(runtime, one),
        "received": one.received,
        "created_at": moment(one.created_at),
        "last_used_at": moment(one.last_used_at),
    }


def _sender(one: Sender) -> dict[str, Any]:
    told = one.verdicts
    return {
        "id": str(one.id),
        "feed_id": text_id(one.feed_id),
        "address": one.address,
        "name": one.name,
        "received": one.received,
        "refused": one.refused,
        "last_mail_at": moment(one.last_mail_at),
        "blocked": one.blocked_at is not None,
        "left": one.left_at is not None,
        "leaving": one.leaving,
        "leave_page": one.ways_out.page or None,
        "verdicts": {"by": told.by, "spf": told.spf, "dkim": told.dkim, "dmarc": told.dmarc},
    }


def _mailbox(one: Mailbox) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "host": one.host,
        "port": one.port,
        "security": one.security,
        "username": one.username,
        "folder": one.folder,
        "received": one.received,
        "last_checked_at": moment(one.last_checked_at),
        "next_check_at": moment(one.next_check_at),
        "last_error": one.last_error,
    }


def _confirmation(one: WaitingConfirmation) -> dict[str, Any]:
    return {
        "entry_id": str(one.entry_id),
        "title": one.title,
        "sender": one.sender,
        "url": one.url,
        "label": one.label,
        "created_at": moment(one.created_at),
    }


inbound_router = APIRouter(prefix="/inbound", include_in_schema=False)

# A permanent refusal that each provider does not try again after.
_POSTMARK, _MAILGUN, _SES = 403, 406, 403
_RAW = {"unknown": 404, "large": 413, "unreadable": 422, "spam": 422, "blocked": 422, "full": 507}
_MAX_FIELDS = 500


@inbound_router.post("/raw")
async def raw(
    request: Request, runtime: CurrentRuntime, to: Annotated[list[str], Query(max_length=100)]
) -> Response:
    """The mail itself as the body; `to` names who it was sent to."""
    await check_token(runtime, _given_token(request), client_ip(request))
    outcome = await from_raw(runtime, tuple(to), await request.body())
    return _answer(
        outcome, _RAW[outcome.why] if isinstance(outcome, MailRejected) and outcome.why != "busy" else 0
    )


@inbound_router.post("/postmark")
async def postmark(request: Request, runtime: CurrentRuntime) -> Response:
    await check_token(runtime, _given_token(request), client_ip(request))
    return _answer(await from_postmark(runtime, _object(await request.body())), _POSTMARK)


@inbound_router.post("/mailgun")
@inbound_router.post("/mailgun/mime")
async def mailgun(request: Request, runtime: CurrentRuntime) -> Response:
    """Mailgun sends the whole mail to addresses that end in `mime`, and what it read of it to others."""
    fields, files = await _form(request)
    return _answer(await from_mailgun(runtime, fields, files, client_ip(request)), _MAILGUN)


@inbound_router.post("/ses")
async def ses(request: Request, runtime: CurrentRuntime) -> Response:
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
            max_fields=_MAX_FIELDS,
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
            body.decode("latin-1"), encoding="latin-1", max_num_fields=_MAX_FIELDS, keep_blank_values=True
        )
    except ValueError as error:
        raise Invalid("The form could not be read.") from error


def _answer(outcome: Received | MailRejected, refusal: int) -> Response:
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

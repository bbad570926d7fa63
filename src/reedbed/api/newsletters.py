"""Newsletter addresses, senders, mailboxes and confirmations, and the webhooks that mail providers post to.

Each webhook rejects mail with the status that makes its provider stop retrying.
"""

from base64 import b64decode
from binascii import Error as BadBase64
from typing import Annotated, Any, Literal, cast
from urllib.parse import parse_qsl

import orjson
from fastapi import Query, Request, Response
from pydantic import Field
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from reedbed.domain.errors import Invalid
from reedbed.domain.newsletters import IngestAddress, Sender
from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.middleware import BODY_LIMIT, MAIL_LIMIT
from reedbed.http.models import (
    ApiModel,
    FailureName,
    FailureSentence,
    FailureText,
    JsonId,
    ListPage,
    ResponseModel,
    Timestamp,
)
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json, json_response
from reedbed.services.newsletters.channels import (
    MailboxOptions,
    add_mailbox,
    check_token,
    from_mailgun,
    from_postmark,
    from_raw,
    from_ses,
    remove_mailbox,
    request_mailbox_check_now,
)
from reedbed.services.newsletters.receive import MailRejected, Received
from reedbed.services.newsletters.senders import (
    CONFIRMATIONS_RETENTION,
    add_address,
    block_address,
    block_sender,
    dismiss_confirmation,
    get_sender,
    rename_address,
    resume_sender,
    revoke_address,
    unblock_sender,
    written,
)
from reedbed.services.runtime import Runtime
from reedbed.store.newsletters import inbound, mailboxes

router = ApiRouter(prefix="/api/v1/newsletters", tags=["newsletters"])


class NameRequest(ApiModel):
    name: str = Field(examples=["Newsletters"], max_length=500)


class SenderRequest(ApiModel):
    address: str = Field(examples=["news@example.org"], max_length=500)


class ChangeSenderRequest(ApiModel):
    """Fields that are not sent stay unchanged."""

    blocked: bool | None = None
    followed: Literal[True] | None = Field(
        None, description="Subscribe again after unsubscribing. To unsubscribe, delete its subscription."
    )


class MailboxRequest(ApiModel):
    host: str = Field(examples=["imap.example.org"], max_length=500)
    port: int = 993
    security: Literal["tls", "starttls", "none"] = "tls"
    username: str = Field(max_length=500)
    password: str = Field(max_length=500, description="Stored to log in; never returned.")
    folder: str = Field("INBOX", max_length=500)


@record
class NewsletterAddressResponse(ResponseModel):
    id: JsonId
    name: str
    address: str
    received: int
    created_at: Timestamp
    last_used_at: Timestamp | None


@record
class AuthResultsResponse(ResponseModel):
    by: Annotated[str, Field(description="The receiving server that checked.")]
    spf: str
    dkim: str
    dmarc: str


@record
class SenderResponse(ResponseModel):
    id: JsonId
    feed_id: JsonId | None
    address: str
    name: str
    received: int
    refused: Annotated[int, Field(description="Mails dropped since it was blocked or unsubscribed.")]
    last_mail_at: Timestamp | None
    blocked: bool
    left: bool
    leaving: Annotated[FailureSentence, Field(description="Result of unsubscribing, as a sentence.")]
    leaving_code: FailureName
    leave_page: Annotated[str | None, Field(description="Page of the list for unsubscribing by hand.")]
    verdicts: AuthResultsResponse


@record
class MailboxResponse(ResponseModel):
    id: JsonId
    host: str
    port: int
    security: str
    username: str
    folder: str
    received: int
    last_checked_at: Timestamp | None
    next_check_at: Timestamp
    last_error: FailureText
    last_error_code: FailureName


@record
class ConfirmationResponse(ResponseModel):
    entry_id: JsonId
    title: str
    sender: str
    url: Annotated[str, Field(description="Open it to confirm. The server never opens it itself.")]
    label: str
    created_at: Timestamp


@router.get("/addresses", summary="List your newsletter addresses")
async def list_addresses(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[NewsletterAddressResponse]]:
    async with runtime.db.read() as tx:
        addresses = await inbound.list_addresses(tx, caller.user_id)
    return Json(ListPage([_address_response(runtime, address) for address in addresses]))


@router.post("/addresses", status_code=201, summary="Create a newsletter address")
async def create_address(
    runtime: CurrentRuntime, caller: CurrentCaller, body: NameRequest
) -> Json[NewsletterAddressResponse]:
    return Json(_address_response(runtime, await add_address(runtime, caller.user_id, body.name)), 201)


@router.patch("/addresses/{address_id}", summary="Rename a newsletter address")
async def change_address(
    runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath, body: NameRequest
) -> Json[NewsletterAddressResponse]:
    renamed = await rename_address(runtime, caller.user_id, address_id, body.name)
    return Json(_address_response(runtime, renamed))


@router.delete("/addresses/{address_id}", status_code=204, summary="Revoke a newsletter address permanently")
async def delete_address(runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath) -> Response:
    await revoke_address(runtime, caller.user_id, address_id)
    return Response(status_code=204)


@router.get("/senders", summary="List newsletter senders, newest first")
async def list_senders(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[SenderResponse]]:
    async with runtime.db.read() as tx:
        senders = await inbound.list_senders(tx, caller.user_id)
    return Json(ListPage([_sender_response(sender) for sender in senders]))


@router.post("/senders", status_code=201, summary="Block a sender address, even before its first mail")
async def create_block(runtime: CurrentRuntime, caller: CurrentCaller, body: SenderRequest) -> Json[SenderResponse]:
    return Json(_sender_response(await block_address(runtime, caller.user_id, body.address)), 201)


@router.get("/senders/{sender_id}", summary="Get a sender")
async def one_sender(runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath) -> Json[SenderResponse]:
    return Json(_sender_response(await get_sender(runtime, caller.user_id, sender_id)))


@router.patch("/senders/{sender_id}", summary="Block, unblock or resubscribe to a sender")
async def change_sender(
    runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath, body: ChangeSenderRequest
) -> Json[SenderResponse]:
    sender = await get_sender(runtime, caller.user_id, sender_id)
    if body.followed:
        sender = await resume_sender(runtime, caller.user_id, sender_id)
    if body.blocked is not None:
        update = block_sender if body.blocked else unblock_sender
        sender = await update(runtime, caller.user_id, sender_id)
    return Json(_sender_response(sender))


@router.get("/mailboxes", summary="List mailboxes checked for newsletters")
async def list_mailboxes(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[MailboxResponse]]:
    async with runtime.db.read() as tx:
        rows = await mailboxes.list_mailboxes(tx, caller.user_id)
    return Json(ListPage([MailboxResponse.of(mailbox) for mailbox in rows]))


@router.post(
    "/mailboxes",
    status_code=201,
    summary="Add a mailbox folder to check",
    description="Tests the login first. The folder is only read, never changed.",
)
async def create_mailbox(runtime: CurrentRuntime, caller: CurrentCaller, body: MailboxRequest) -> Json[MailboxResponse]:
    options = MailboxOptions(body.host, body.username, body.password, body.port, body.security, body.folder)
    return Json(MailboxResponse.of(await add_mailbox(runtime, caller.user_id, options)), 201)


@router.post("/mailboxes/{mailbox_id}/check", status_code=202, summary="Check a mailbox soon")
async def check(runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath) -> Response:
    await request_mailbox_check_now(runtime, caller.user_id, mailbox_id)
    return Response(status_code=202)


@router.delete("/mailboxes/{mailbox_id}", status_code=204, summary="Remove a mailbox")
async def delete_mailbox(runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath) -> Response:
    await remove_mailbox(runtime, caller.user_id, mailbox_id)
    return Response(status_code=204)


@router.get("/confirmations", summary="List subscription confirmations that wait for your click, newest first")
async def list_confirmations(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[ConfirmationResponse]]:
    async with runtime.db.read() as tx:
        confirmations = await inbound.waiting(tx, caller.user_id, runtime.now() - CONFIRMATIONS_RETENTION)
    return Json(ListPage([ConfirmationResponse.of(confirmation) for confirmation in confirmations]))


@router.delete("/confirmations/{entry_id}", status_code=204, summary="Dismiss a confirmation")
async def delete_confirmation(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    await dismiss_confirmation(runtime, caller.user_id, entry_id)
    return Response(status_code=204)


def _address_response(runtime: Runtime, address: IngestAddress) -> NewsletterAddressResponse:
    return NewsletterAddressResponse.of(address, address=written(runtime, address))


def _sender_response(sender: Sender) -> SenderResponse:
    return SenderResponse.of(
        sender,
        blocked=sender.blocked_at is not None,
        left=sender.left_at is not None,
        leave_page=sender.ways_out.page or None,
        verdicts=AuthResultsResponse.of(sender.verdicts),
    )


# --- Webhooks of mail providers

inbound_router = ApiRouter(prefix="/inbound", include_in_schema=False)

# The status after which each provider stops retrying.
_POSTMARK_REJECTED, _MAILGUN_REJECTED, _SES_REJECTED = 403, 406, 403
_RAW_REJECTED = {"unknown": 404, "large": 413, "unreadable": 422, "spam": 422, "blocked": 422, "full": 507}
_MAX_FIELDS = 500


@inbound_router.post("/raw")
async def raw(request: Request, runtime: CurrentRuntime, to: Annotated[list[str], Query(max_length=100)]) -> Response:
    """Take a raw mail as the body; `to` holds the recipients."""
    await check_token(runtime, _read_token(request), client_ip(request))
    outcome = await from_raw(runtime, tuple(to), await request.body())
    return _mail_response(
        outcome, _RAW_REJECTED[outcome.why] if isinstance(outcome, MailRejected) and outcome.why != "busy" else 0
    )


@inbound_router.post("/postmark")
async def postmark(request: Request, runtime: CurrentRuntime) -> Response:
    await check_token(runtime, _read_token(request), client_ip(request))
    return _mail_response(await from_postmark(runtime, _parse_object(await request.body())), _POSTMARK_REJECTED)


@inbound_router.post("/mailgun")
@inbound_router.post("/mailgun/mime")
async def mailgun(request: Request, runtime: CurrentRuntime) -> Response:
    """Mailgun posts the raw mail to URLs that end in `mime` and the parsed mail to all others."""
    fields, files = await _read_form(request)
    return _mail_response(await from_mailgun(runtime, fields, files, client_ip(request)), _MAILGUN_REJECTED)


@inbound_router.post("/ses")
async def ses(request: Request, runtime: CurrentRuntime) -> Response:
    body = await request.body()
    if len(body) > BODY_LIMIT:
        raise Invalid("No notification is as large as this.")
    return _mail_response(await from_ses(runtime, body, client_ip(request)), _SES_REJECTED)


async def _read_form(request: Request) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the fields as text and as raw bytes: a raw mail in a field may use any charset."""
    content_type = request.headers.get("content-type", "")
    files: dict[str, bytes] = {}
    if content_type.startswith("multipart/form-data"):
        parser = MultiPartParser(
            Headers({"content-type": f"{content_type}; charset=latin-1"}),
            request.stream(),
            max_files=200,
            max_fields=_MAX_FIELDS,
            max_part_size=MAIL_LIMIT,
        )
        form = await _parse_multipart(parser)
        try:
            for name, value in form.multi_items():
                files[name] = await value.read() if isinstance(value, UploadFile) else value.encode("latin-1")
        finally:
            await form.close()
    else:
        pairs = _parse_pairs(await request.body())
        files = {name: value.encode("latin-1") for name, value in pairs}
    return {name: data.decode("utf-8", "replace") for name, data in files.items()}, files


async def _parse_multipart(parser: MultiPartParser) -> FormData:
    try:
        return await parser.parse()
    except (MultiPartException, KeyError) as error:
        raise Invalid("The form could not be read.") from error


def _parse_pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("latin-1"), encoding="latin-1", max_num_fields=_MAX_FIELDS, keep_blank_values=True)
    except ValueError as error:
        raise Invalid("The form could not be read.") from error


def _mail_response(outcome: Received | MailRejected, rejected_status: int) -> Response:
    if isinstance(outcome, Received):
        return json_response({"received": outcome.new, "known": outcome.known, "unwanted": outcome.unwanted})
    status = 429 if outcome.why == "busy" else rejected_status
    error: dict[str, Any] = {"code": outcome.why, "message": outcome.reason, "details": {}}
    return json_response({"error": error}, status)


def _read_token(request: Request) -> str:
    """Read a bearer token, or the password of basic authentication, which a URL can hold."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    try:
        return b64decode(value).decode("utf-8", "replace").partition(":")[2] if scheme.lower() == "basic" else ""
    except (BadBase64, ValueError):
        return ""


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid("This is no JSON.") from error
    if not isinstance(content, dict):
        raise Invalid("This is no mail of Postmark's.")
    return cast(dict[str, Any], content)

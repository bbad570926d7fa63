"""Newsletter addresses, senders, mailboxes and confirmations, and the webhooks that mail providers post to.

Each webhook rejects mail with the status that makes its provider stop retrying.
"""

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
    CONFIRMATIONS_SHOWN,
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
from reedbed.store import newsletters
from reedbed.store.newsletters import Mailbox

router = APIRouter(prefix="/api/v1/newsletters", tags=["newsletters"])


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


class NewsletterAddressResponse(ApiModel):
    id: str
    name: str
    address: str
    received: int
    created_at: str
    last_used_at: str | None


class AuthResultsResponse(ApiModel):
    by: str = Field(description="The receiving server that checked.")
    spf: str
    dkim: str
    dmarc: str


class SenderResponse(ApiModel):
    id: str
    feed_id: str | None
    address: str
    name: str
    received: int
    refused: int = Field(description="Mails dropped since it was blocked or unsubscribed.")
    last_mail_at: str | None
    blocked: bool
    left: bool
    leaving: str = Field(description="Result of unsubscribing, as a sentence.")
    leave_page: str | None = Field(description="Page of the list for unsubscribing by hand.")
    verdicts: AuthResultsResponse


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
    url: str = Field(description="Open it to confirm. The server never opens it itself.")
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


@router.get("/addresses", summary="List your newsletter addresses", responses={200: {"model": AddressList}})
async def list_addresses(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        addresses = await newsletters.list_addresses(tx, caller.user_id)
    return _list_response([_address_json(runtime, address) for address in addresses])


@router.post(
    "/addresses",
    status_code=201,
    summary="Create a newsletter address",
    responses={201: {"model": NewsletterAddressResponse}},
)
async def create_address(runtime: CurrentRuntime, caller: CurrentCaller, body: NameRequest) -> Response:
    return json_response(_address_json(runtime, await add_address(runtime, caller.user_id, body.name)), 201)


@router.patch(
    "/addresses/{address_id}",
    summary="Rename a newsletter address",
    responses={200: {"model": NewsletterAddressResponse}},
)
async def change_address(
    runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath, body: NameRequest
) -> Response:
    renamed = await rename_address(runtime, caller.user_id, address_id, body.name)
    return json_response(_address_json(runtime, renamed))


@router.delete("/addresses/{address_id}", status_code=204, summary="Revoke a newsletter address permanently")
async def delete_address(runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath) -> Response:
    await revoke_address(runtime, caller.user_id, address_id)
    return Response(status_code=204)


@router.get(
    "/senders", summary="List newsletter senders, newest first", responses={200: {"model": SenderList}}
)
async def list_senders(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        senders = await newsletters.list_senders(tx, caller.user_id)
    return _list_response([_sender_json(sender) for sender in senders])


@router.post(
    "/senders",
    status_code=201,
    summary="Block a sender address, even before its first mail",
    responses={201: {"model": SenderResponse}},
)
async def create_block(runtime: CurrentRuntime, caller: CurrentCaller, body: SenderRequest) -> Response:
    return json_response(_sender_json(await block_address(runtime, caller.user_id, body.address)), 201)


@router.get("/senders/{sender_id}", summary="Get a sender", responses={200: {"model": SenderResponse}})
async def one_sender(runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath) -> Response:
    return json_response(_sender_json(await get_sender(runtime, caller.user_id, sender_id)))


@router.patch(
    "/senders/{sender_id}",
    summary="Block, unblock or resubscribe to a sender",
    responses={200: {"model": SenderResponse}},
)
async def change_sender(
    runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath, body: ChangeSenderRequest
) -> Response:
    sender = await get_sender(runtime, caller.user_id, sender_id)
    if body.followed:
        sender = await resume_sender(runtime, caller.user_id, sender_id)
    if body.blocked is not None:
        update = block_sender if body.blocked else unblock_sender
        sender = await update(runtime, caller.user_id, sender_id)
    return json_response(_sender_json(sender))


@router.get(
    "/mailboxes", summary="List mailboxes checked for newsletters", responses={200: {"model": MailboxList}}
)
async def list_mailboxes(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        mailboxes = await newsletters.list_mailboxes(tx, caller.user_id)
    return _list_response([_mailbox_json(mailbox) for mailbox in mailboxes])


@router.post(
    "/mailboxes",
    status_code=201,
    summary="Add a mailbox folder to check",
    description="Tests the login first. The folder is only read, never changed.",
    responses={201: {"model": MailboxResponse}},
)
async def create_mailbox(runtime: CurrentRuntime, caller: CurrentCaller, body: MailboxRequest) -> Response:
    options = MailboxOptions(body.host, body.username, body.password, body.port, body.security, body.folder)
    return json_response(_mailbox_json(await add_mailbox(runtime, caller.user_id, options)), 201)


@router.post("/mailboxes/{mailbox_id}/check", status_code=202, summary="Check a mailbox soon")
async def check(runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath) -> Response:
    await request_mailbox_check_now(runtime, caller.user_id, mailbox_id)
    return Response(status_code=202)


@router.delete("/mailboxes/{mailbox_id}", status_code=204, summary="Remove a mailbox")
async def delete_mailbox(runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath) -> Response:
    await remove_mailbox(runtime, caller.user_id, mailbox_id)
    return Response(status_code=204)


@router.get(
    "/confirmations",
    summary="List subscription confirmations that wait for your click, newest first",
    responses={200: {"model": ConfirmationList}},
)
async def list_confirmations(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        confirmations = await newsletters.waiting(tx, caller.user_id, runtime.now() - CONFIRMATIONS_SHOWN)
    return _list_response([_confirmation_json(confirmation) for confirmation in confirmations])


@router.delete("/confirmations/{entry_id}", status_code=204, summary="Dismiss a confirmation")
async def delete_confirmation(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    await dismiss_confirmation(runtime, caller.user_id, entry_id)
    return Response(status_code=204)


def _list_response(items: list[dict[str, Any]]) -> Response:
    return json_response({"items": items, "next_cursor": None})


def _address_json(runtime: Runtime, address: IngestAddress) -> dict[str, Any]:
    return {
        "id": str(address.id),
        "name": address.name,
        "address": written(runtime, address),
        "received": address.received,
        "created_at": moment(address.created_at),
        "last_used_at": moment(address.last_used_at),
    }


def _sender_json(sender: Sender) -> dict[str, Any]:
    auth_results = sender.verdicts
    return {
        "id": str(sender.id),
        "feed_id": text_id(sender.feed_id),
        "address": sender.address,
        "name": sender.name,
        "received": sender.received,
        "refused": sender.refused,
        "last_mail_at": moment(sender.last_mail_at),
        "blocked": sender.blocked_at is not None,
        "left": sender.left_at is not None,
        "leaving": sender.leaving,
        "leave_page": sender.ways_out.page or None,
        "verdicts": {
            "by": auth_results.by,
            "spf": auth_results.spf,
            "dkim": auth_results.dkim,
            "dmarc": auth_results.dmarc,
        },
    }


def _mailbox_json(mailbox: Mailbox) -> dict[str, Any]:
    return {
        "id": str(mailbox.id),
        "host": mailbox.host,
        "port": mailbox.port,
        "security": mailbox.security,
        "username": mailbox.username,
        "folder": mailbox.folder,
        "received": mailbox.received,
        "last_checked_at": moment(mailbox.last_checked_at),
        "next_check_at": moment(mailbox.next_check_at),
        "last_error": mailbox.last_error,
    }


def _confirmation_json(confirmation: WaitingConfirmation) -> dict[str, Any]:
    return {
        "entry_id": str(confirmation.entry_id),
        "title": confirmation.title,
        "sender": confirmation.sender,
        "url": confirmation.url,
        "label": confirmation.label,
        "created_at": moment(confirmation.created_at),
    }


# --- Webhooks of mail providers

inbound_router = APIRouter(prefix="/inbound", include_in_schema=False)

# The status after which each provider stops retrying.
_POSTMARK_REJECTED, _MAILGUN_REJECTED, _SES_REJECTED = 403, 406, 403
_RAW_REJECTED = {"unknown": 404, "large": 413, "unreadable": 422, "spam": 422, "blocked": 422, "full": 507}
_MAX_FIELDS = 500


@inbound_router.post("/raw")
async def raw(
    request: Request, runtime: CurrentRuntime, to: Annotated[list[str], Query(max_length=100)]
) -> Response:
    """Take a raw mail as the body; `to` holds the recipients."""
    await check_token(runtime, _read_token(request), client_ip(request))
    outcome = await from_raw(runtime, tuple(to), await request.body())
    return _mail_response(
        outcome,
        _RAW_REJECTED[outcome.why] if isinstance(outcome, MailRejected) and outcome.why != "busy" else 0,
    )


@inbound_router.post("/postmark")
async def postmark(request: Request, runtime: CurrentRuntime) -> Response:
    await check_token(runtime, _read_token(request), client_ip(request))
    return _mail_response(
        await from_postmark(runtime, _parse_object(await request.body())), _POSTMARK_REJECTED
    )


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
        return parse_qsl(
            body.decode("latin-1"), encoding="latin-1", max_num_fields=_MAX_FIELDS, keep_blank_values=True
        )
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
        return (
            b64decode(value).decode("utf-8", "replace").partition(":")[2] if scheme.lower() == "basic" else ""
        )
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

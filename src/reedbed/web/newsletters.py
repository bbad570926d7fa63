"""Newsletters: settings (addresses, senders, mailboxes), confirmation mails, and facts about senders."""

from dataclasses import field, replace

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Entry
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.images import MAIL_KEY
from reedbed.domain.newsletters import AuthResults, IngestAddress, Sender, UnsubscribeOptions, WaitingConfirmation
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath
from reedbed.services.newsletters.channels import MailboxOptions, add_mailbox, remove_mailbox, request_mailbox_check_now
from reedbed.services.newsletters.senders import (
    CONFIRMATIONS_RETENTION,
    add_address,
    block_address,
    block_sender,
    dismiss_confirmation,
    resume_sender,
    revoke_address,
    unblock_sender,
    written,
)
from reedbed.services.runtime import Runtime
from reedbed.store import sidebar
from reedbed.store.engine.database import Tx
from reedbed.store.newsletters import inbound
from reedbed.store.newsletters.mailboxes import Mailbox, list_mailboxes
from reedbed.web.formats import ago
from reedbed.web.forms import Text
from reedbed.web.i18n import enumerated, explain, ngettext, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.views.entries import ArticleView, EntryListView
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.newsletters import (
    AddressView,
    Confirm,
    MailboxForm,
    MailboxView,
    MailFacts,
    NewslettersSettings,
    SenderView,
)

_SHOWN_ABOVE = ("unread", "all")


async def with_confirmations(
    runtime: Runtime, tx: Tx, user_id: int, view: str, entry_list: EntryListView
) -> EntryListView:
    """The list with unconfirmed newsletter subscriptions above it."""
    if view not in _SHOWN_ABOVE:
        return entry_list
    waiting = await inbound.waiting(tx, user_id, runtime.now() - CONFIRMATIONS_RETENTION)
    return replace(entry_list, confirmations=tuple(map(confirm_view, waiting))) if waiting else entry_list


async def with_mail(tx: Tx, user_id: int, article: ArticleView, entry: Entry) -> ArticleView:
    """The article with facts about its mail, if it came by mail."""
    # Every mail has a sender, so most entries return here without a query.
    if not any(author.email for author in entry.authors):
        return article
    sender = await inbound.sender_of_feed(tx, user_id, entry.row.feed_id)
    if sender is None:
        return article
    waiting = await inbound.confirmation(tx, user_id, entry.row.id)
    facts = MailFacts(
        address=sender.address,
        verdict=mail_auth_text(sender.verdicts),
        confirm=confirm_view(waiting) if waiting else None,
    )
    return replace(article, mail=facts)


def confirm_view(waiting: WaitingConfirmation) -> Confirm:
    label = waiting.label or translate("Confirm")
    return Confirm(waiting.entry_id, waiting.title, waiting.sender, waiting.url, label)


def sender_facts(sender: Sender) -> tuple[tuple[str, str], ...]:
    """Facts for the edit page of a sender's feed."""
    facts = (
        (translate("Sender"), sender.address),
        (translate("Findings about the sender"), mail_auth_text(sender.verdicts)),
        (translate("When you unsubscribe, the list is notified"), _unsubscribe_method(sender.ways_out)),
    )
    return tuple((name, value) for name, value in facts if value)


def _unsubscribe_method(ways_out: UnsubscribeOptions) -> str:
    if ways_out.post:
        return translate("With one click")
    if ways_out.mailto:
        return translate("With a mail")
    return translate("By you, on its page") if ways_out.page else translate("Not: it offers no way")


def mail_auth_text(verdicts: AuthResults) -> str:
    """`SPF pass, DKIM pass, says mx.example.org`; the technical names are not translated."""
    checks = (("SPF", verdicts.spf), ("DKIM", verdicts.dkim), ("DMARC", verdicts.dmarc))
    results = enumerated(f"{name} {result}" for name, result in checks if result)
    return translate("%(results)s, says %(server)s", results=results, server=verdicts.by) if results else ""


# --- Settings

router = APIRouter(include_in_schema=False)

HERE = "/settings/newsletters"
_IMAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


@record
class _Form:
    """Submitted values and their errors."""

    name: str = ""
    name_error: str = ""
    blocked: str = ""
    blocked_error: str = ""
    mailbox: MailboxForm = field(default_factory=MailboxForm)
    status: int = 200


@router.get("/newsletters/images/{name}")
async def show_image(runtime: CurrentRuntime, caller: CurrentCaller, name: str) -> Response:
    """An image embedded in a mail, only for the recipient of the mail."""
    async with runtime.db.read() as tx:
        image = await inbound.image(tx, caller.user_id, f"{MAIL_KEY}{storable(name)[:64]}")
    if image is None:
        raise NotFound("There is no such picture.")
    media_type, data = image
    return Response(data, 200, _IMAGE_HEADERS, media_type)


@router.get(HERE)
async def show_newsletters(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show(request, runtime, caller, _Form())


@router.post("/settings/newsletters/addresses")
async def make_address(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, name: Text = "") -> Response:
    try:
        await add_address(runtime, caller.user_id, name)
    except (Invalid, Conflict) as error:
        form = _Form(name=name, name_error=explain(error), status=status_of(error))
        return await _show(request, runtime, caller, form)
    return see_other(request, HERE, toast=Toast(translate("The address is ready. Subscribe with it.")))


@router.post("/settings/newsletters/addresses/{address_id}/delete")
async def drop_address(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, address_id: IdPath
) -> Response:
    await revoke_address(runtime, caller.user_id, address_id)
    return see_other(request, HERE, toast=Toast(translate("Mail to it is refused from now on.")))


@router.post("/settings/newsletters/senders")
async def block_typed(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, address: Text = "") -> Response:
    try:
        await block_address(runtime, caller.user_id, address)
    except Invalid as error:
        form = _Form(blocked=address, blocked_error=explain(error), status=status_of(error))
        return await _show(request, runtime, caller, form)
    return see_other(request, HERE, toast=Toast(translate("Its mail is refused from now on.")))


@router.post("/settings/newsletters/senders/{sender_id}/block")
async def block(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath) -> Response:
    await block_sender(runtime, caller.user_id, sender_id)
    return see_other(request, HERE, toast=Toast(translate("Its mail is refused from now on.")))


@router.post("/settings/newsletters/senders/{sender_id}/unblock")
async def unblock(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath) -> Response:
    await unblock_sender(runtime, caller.user_id, sender_id)
    return see_other(request, HERE, toast=Toast(translate("Its mail is accepted again.")))


@router.post("/settings/newsletters/senders/{sender_id}/follow")
async def follow(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, sender_id: IdPath) -> Response:
    await resume_sender(runtime, caller.user_id, sender_id)
    message = translate("Its mail is shown again. You may have to subscribe to the list again.")
    return see_other(request, HERE, toast=Toast(message))


@router.post("/settings/newsletters/confirmations/{entry_id}/done")
async def done(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, next: Text = HERE
) -> Response:
    await dismiss_confirmation(runtime, caller.user_id, entry_id)
    return see_other(request, next)


@router.post("/settings/newsletters/mailboxes")
async def make_mailbox(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    host: Text = "",
    port: Text = "993",
    security: Text = "tls",
    username: Text = "",
    password: Text = "",
    folder: Text = "INBOX",
) -> Response:
    number = int(port) if port.isascii() and port.isdigit() and len(port) < 6 else 0
    options = MailboxOptions(host, username, password, number, security, folder)
    try:
        await add_mailbox(runtime, caller.user_id, options)
    except (Invalid, Conflict) as error:
        form = MailboxForm(host, port, username, folder, _security_options(security), explain(error))
        return await _show(request, runtime, caller, _Form(mailbox=form, status=status_of(error)))
    return see_other(request, HERE, toast=Toast(translate("The first mails come in a moment.")))


@router.post("/settings/newsletters/mailboxes/{mailbox_id}/check")
async def check_mailbox(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath
) -> Response:
    await request_mailbox_check_now(runtime, caller.user_id, mailbox_id)
    return see_other(request, HERE, toast=Toast(translate("It is checked in a moment.")))


@router.post("/settings/newsletters/mailboxes/{mailbox_id}/delete")
async def drop_mailbox(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, mailbox_id: IdPath
) -> Response:
    await remove_mailbox(runtime, caller.user_id, mailbox_id)
    message = translate("It is no longer checked. What came from it stays.")
    return see_other(request, HERE, toast=Toast(message))


async def _show(request: Request, runtime: Runtime, caller: Caller, form: _Form) -> Response:
    user_id, now = caller.user_id, runtime.now()
    async with runtime.db.read() as tx:
        addresses = await inbound.list_addresses(tx, user_id)
        senders = await inbound.list_senders(tx, user_id)
        mailboxes = await list_mailboxes(tx, user_id)
        waiting = await inbound.waiting(tx, user_id, now - CONFIRMATIONS_RETENTION)
        subscription_ids = {feed.feed_id: feed.subscription_id for feed in await sidebar.sidebar_feeds(tx, user_id)}
    mailbox_form = form.mailbox if form.mailbox.securities else MailboxForm(securities=_security_options("tls"))
    view = NewslettersSettings(
        domain=runtime.mail.domain,
        addresses=tuple(_address_view(runtime, address, now) for address in addresses) if runtime.mail.domain else (),
        senders=tuple(_sender_view(sender, subscription_ids.get(sender.feed_id or 0), now) for sender in senders),
        mailboxes=tuple(_mailbox_view(mailbox, now) for mailbox in mailboxes),
        confirmations=tuple(map(confirm_view, waiting)),
        name=form.name,
        name_error=form.name_error,
        blocked=form.blocked,
        blocked_error=form.blocked_error,
        mailbox=mailbox_form,
    )
    return await settings_page(request, runtime, caller, "newsletters", view, status=form.status)


def _address_view(runtime: Runtime, address: IngestAddress, now: Instant) -> AddressView:
    if address.last_used_at is None:
        used = translate("Made %(when)s, no mail yet", when=ago(address.created_at, now))
    else:
        mails = ngettext("%(num)s mail", "%(num)s mails", address.received)
        used = translate("%(mails)s, the last %(when)s", mails=mails, when=ago(address.last_used_at, now))
    return AddressView(address.id, address.name, written(runtime, address), used)


def _sender_view(sender: Sender, subscription_id: int | None, now: Instant) -> SenderView:
    facts = [ngettext("%(num)s mail", "%(num)s mails", sender.received)]
    if sender.last_mail_at is not None:
        facts.append(translate("the last %(when)s", when=ago(sender.last_mail_at, now)))
    if sender.refused:
        facts.append(ngettext("%(num)s not shown since", "%(num)s not shown since", sender.refused))
    auth_results = mail_auth_text(sender.verdicts)
    return SenderView(
        id=sender.id,
        name=sender.title,
        address=sender.address if sender.name else "",
        facts=f"{enumerated(facts)}. {auth_results}" if auth_results else enumerated(facts),
        url=f"/feed/{subscription_id}" if subscription_id else "",
        blocked=sender.blocked_at is not None,
        left=sender.left_at is not None,
        leaving=explain(sender.leaving),
        leave_page=sender.ways_out.page if sender.left_at is not None else "",
    )


def _mailbox_view(mailbox: Mailbox, now: Instant) -> MailboxView:
    facts = [ngettext("%(num)s mail", "%(num)s mails", mailbox.received)]
    if mailbox.last_checked_at is not None:
        facts.append(translate("Checked %(when)s.", when=ago(mailbox.last_checked_at, now)))
    return MailboxView(
        mailbox.id,
        f"{mailbox.username}, {mailbox.folder} ({mailbox.host})",
        ". ".join(facts),
        explain(mailbox.last_error),
    )


def _security_options(chosen: str) -> tuple[SelectOption, ...]:
    options = (("tls", "TLS"), ("starttls", "STARTTLS"), ("none", translate("None")))
    return tuple(SelectOption(value, name, value == chosen) for value, name in options)

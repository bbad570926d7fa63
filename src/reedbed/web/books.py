"""Books: make EPUB files of lists and digests, plan and mail them, and confirm the address of an e-reader."""

from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.books import Book, BookPlan, left_out_lines, named_source
from reedbed.domain.digests import minute_of
from reedbed.domain.errors import Conflict, Invalid, NotFound, ReedbedError, TooMany
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, public_base_url
from reedbed.services.books.mail import confirm_address, confirmed_user, is_confirmed, sender_of, set_address
from reedbed.services.books.manage import (
    add_plan,
    delete_book,
    delete_plan,
    list_books,
    list_plans,
    mail_book,
    name_of_source,
    request_book,
    zone_for,
)
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import folders, sidebar
from reedbed.store.engine.database import Tx
from reedbed.store.search import saved as searches
from reedbed.store.tags import names as tag_names
from reedbed.web.formats import format_future_time, format_size, full_time, zone_of
from reedbed.web.forms import FormFlag, Text, folder_options
from reedbed.web.i18n import (
    current_conventions,
    current_language,
    enumerated,
    explain,
    name_key,
    ngettext,
    texts_in,
    translate,
)
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, TimeView, Toast

router = APIRouter(include_in_schema=False)


@record
class BookView:
    id: int
    title: str
    when: TimeView
    status: str
    progress: int
    facts: str
    """Entries, pictures and size as text."""
    left_out: tuple[str, ...] = ()
    mailed: str = ""
    error: str = ""


@record
class BookPlanView:
    id: int
    name: str
    when: str
    """How often and at what time, as text."""
    next: str
    error: str = ""


@record
class BooksPage:
    books: tuple[BookView, ...]
    plans: tuple[BookPlanView, ...]
    sources: tuple[SelectOption, ...]
    weekdays: tuple[SelectOption, ...]
    catalogue_url: str
    pending: bool = False
    can_mail: bool = False
    """This server sends mail."""
    address: str = ""
    confirmed: bool = False
    sender: str = ""
    error: str = ""


@record
class BookAddressPage:
    """The target of the link that confirms an address; it needs no login."""

    token: str
    address: str
    done: bool = False


_REFUSED = (Invalid, Conflict, NotFound, TooMany)


@router.get("/books")
async def show_books(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    if is_htmx(request):
        return await page(request, "books/list.html", await _view(request, runtime, caller), block="made")
    return await _books_page(request, runtime, caller)


@router.post("/books")
async def make_book(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, of: Text = "all", *, mail: FormFlag = False
) -> Response:
    try:
        await request_book(runtime, caller.user, named_source(of), mail=mail)
    except _REFUSED as error:
        return await _books_page(request, runtime, caller, error=error, chosen=of)
    return see_other(request, "/books", toast=Toast(translate("The book is being made.")))


@router.post("/books/{book_id}/mail")
async def send_book(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, book_id: IdPath) -> Response:
    try:
        await mail_book(runtime, caller.user, book_id)
    except Conflict as error:
        return await _books_page(request, runtime, caller, error=error)
    return see_other(request, "/books", toast=Toast(translate("The book is on its way.")))


@router.post("/books/{book_id}/delete")
async def remove_book(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, book_id: IdPath) -> Response:
    await delete_book(runtime, caller.user_id, book_id)
    return see_other(request, "/books", toast=Toast(translate("Deleted.")))


@router.post("/books/plans")
async def plan_books(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    of: Text = "all",
    time: Text = "",
    weekday: Text = "",
    *,
    mail: FormFlag = False,
) -> Response:
    try:
        await add_plan(
            runtime,
            caller.user,
            named_source(of),
            minute=minute_of(time),
            weekday=_weekday(weekday),
            zone=zone_for(caller.user, str(zone_of(request))),
            mail=mail,
        )
    except _REFUSED as error:
        return await _books_page(request, runtime, caller, error=error, chosen=of)
    return see_other(request, "/books", toast=Toast(translate("Saved.")))


@router.post("/books/plans/{plan_id}/delete")
async def remove_plan(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, plan_id: IdPath) -> Response:
    await delete_plan(runtime, caller.user_id, plan_id)
    return see_other(request, "/books", toast=Toast(translate("Deleted.")))


@router.post("/books/address")
async def save_address(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, address: Text = ""
) -> Response:
    try:
        await set_address(runtime, caller.user, address)
    except _REFUSED as error:
        return await _books_page(request, runtime, caller, error=error)
    return see_other(request, "/books", toast=Toast(translate("Saved.")))


def _weekday(text: str) -> int | None:
    if not text:
        return None
    if text not in "0123456":
        raise Invalid("The day of the week must be between 0 (Monday) and 6 (Sunday).", field="weekday")
    return int(text)


# --- The page


async def _books_page(
    request: Request, runtime: Runtime, caller: Caller, *, error: ReedbedError | None = None, chosen: str = ""
) -> Response:
    view = await _view(request, runtime, caller, error=explain(error), chosen=chosen)
    status = status_of(error) if error else 200
    return await app_page(request, runtime, caller, "books/list.html", view, status=status)


async def _view(request: Request, runtime: Runtime, caller: Caller, *, error: str = "", chosen: str = "") -> BooksPage:
    made, plans = await list_books(runtime, caller.user_id), await list_plans(runtime, caller.user_id)
    now, zone = runtime.now(), zone_of(request)
    address = preferences_of(caller.user).book_address
    async with runtime.db.read() as tx:
        sources = await _sources(tx, caller.user_id, chosen or request.query_params.get("of", ""))
        planned = [await _plan_view(tx, caller.user, plan, now, zone) for plan in plans]
    return BooksPage(
        books=tuple(_book_view(book, now, zone) for book in made),
        plans=tuple(planned),
        sources=sources,
        weekdays=_weekdays(),
        catalogue_url=f"{public_base_url(request, runtime)}/opds",
        pending=any(book.status == "pending" for book in made),
        can_mail=runtime.mailer is not None,
        address=address,
        confirmed=bool(address) and is_confirmed(runtime, caller.user, address),
        sender=sender_of(runtime),
        error=error,
    )


def _book_view(book: Book, now: Instant, zone: tzinfo) -> BookView:
    facts: list[str] = []
    if book.status == "ready":
        facts.append(ngettext("%(num)s entry", "%(num)s entries", book.entries))
        if book.pictures:
            facts.append(ngettext("%(num)s picture", "%(num)s pictures", book.pictures))
        facts.append(format_size(book.length))
    return BookView(
        id=book.id,
        title=book.title,
        when=full_time(book.finished_at or book.created_at, now, zone),
        status=book.status,
        progress=book.progress,
        facts=enumerated(facts),
        left_out=tuple(left_out_lines(book.left_out, texts_in(current_language()))),
        mailed=_mailed(book),
        error=explain(book.error),
    )


def _mailed(book: Book) -> str:
    match book.mail_status:
        case "sent":
            return translate("Sent to %(address)s", address=book.mail_to)
        case "pending":
            return translate("On its way to %(address)s", address=book.mail_to)
        case "failed":
            reason = explain(book.mail_error)
            return translate("Not sent to %(address)s. %(reason)s", address=book.mail_to, reason=reason)
        case _:
            return ""


async def _plan_view(tx: Tx, user: User, plan: BookPlan, now: Instant, zone: tzinfo) -> BookPlanView:
    try:
        name = await name_of_source(tx, user, plan.source, texts_in(current_language()))
    except NotFound as error:
        name = explain(error)
    time = f"{plan.minute // 60:02}:{plan.minute % 60:02}"
    if plan.weekday is None:
        when = translate("Every day at %(time)s", time=time)
    else:
        day = current_conventions().long_days[plan.weekday]
        when = translate("Every week: %(day)s, %(time)s", day=day, time=time)
    return BookPlanView(
        id=plan.id,
        name=name,
        when=f"{when} ({plan.zone})",
        next=translate("Next: %(when)s", when=format_future_time(plan.next_at, now, zone)),
        error=explain(plan.error),
    )


def _weekdays() -> tuple[SelectOption, ...]:
    days = current_conventions().long_days
    named = tuple(SelectOption(str(number), day, chosen=False) for number, day in enumerate(days))
    return (SelectOption("", translate("Every day"), chosen=True), *named)


async def _sources(tx: Tx, user_id: int, chosen: str) -> tuple[SelectOption, ...]:
    """The lists that a book can be made of, and the digest that the address names."""
    rows = await folders.of_user(tx, user_id)
    tags = sorted(await tag_names(tx, user_id), key=name_key)
    feeds = sorted(await sidebar.sidebar_feeds(tx, user_id), key=lambda feed: name_key(feed.title))
    options = [
        ("unread", translate("Unread")),
        ("all", translate("All entries")),
        ("starred", translate("Starred")),
        ("later", translate("Later")),
        ("digests", translate("The newest digest")),
        *((f"folder:{folder.value}", translate("Folder: %(name)s", name=folder.name))
          for folder in folder_options(rows, None)[1:]),
        *((f"tag:{name}", translate("Tag: %(name)s", name=name)) for name in tags),
        *((f"search:{search.id}", translate("Search: %(name)s", name=search.name))
          for search in await searches.of_user(tx, user_id)),
        *((f"feed:{feed.feed_id}", feed.title) for feed in feeds),
    ]  # fmt: skip
    return tuple(SelectOption(value, name, value == chosen) for value, name in options)


# --- The link that confirms an address

confirm_router = APIRouter(include_in_schema=False)


@confirm_router.get("/books/confirm/{token}")
async def show_confirm(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    """Only ask: mail scanners follow links but do not submit forms."""
    _, address = await confirmed_user(runtime, token)
    return await page(request, "books/confirm.html", BookAddressPage(token, address))


@confirm_router.post("/books/confirm/{token}")
async def confirm(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    """The token in the URL authorizes this; it only allows mail to the address that received it."""
    address = await confirm_address(runtime, token)
    return await page(request, "books/confirm.html", BookAddressPage(token, address, done=True))

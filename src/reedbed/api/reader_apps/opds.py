"""OPDS 1.2: the catalogue of books for e-readers such as KOReader.

Readers log in by Basic authentication with the account's email and an app password. A book of a list is made when it is
asked for; a reader that gives up before it is made gets it at the next try.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from reedbed.api.books import book_file
from reedbed.api.reader_apps.common import basic_login
from reedbed.domain.books import BOOK_TYPE, Book, book_date, named_source
from reedbed.domain.digests import Digest
from reedbed.domain.errors import AppPasswordRequired, Conflict, Forbidden, Unavailable
from reedbed.domain.feed_writer import CatalogueEntry, CatalogueKind, CataloguePage, catalogue_type, write_catalogue
from reedbed.domain.languages import Texts
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, TokenScope
from reedbed.http.auth import CurrentRuntime
from reedbed.http.params import IdPath, spend_request
from reedbed.http.responses import is_head
from reedbed.services.books.manage import get_book, list_books, name_of_source, request_book, wait_for_book
from reedbed.services.email import texts_for
from reedbed.services.reader_apps import caller_by_login_token
from reedbed.services.runtime import Runtime
from reedbed.store import digests, folders, tags
from reedbed.store.search import saved as searches

router = APIRouter(include_in_schema=False)

ROOT = "/opds"
PAGE = 50
MAX_DIGESTS = 30
PATIENCE = 12.0
"""Seconds that a reader waits for a book. KOReader gives up after 15 without a byte."""


async def _caller(request: Request, runtime: Runtime) -> Caller:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else await basic_login(request, runtime)
    caller = await caller_by_login_token(runtime, token) if token else None
    if caller is None:
        raise AppPasswordRequired("Log in with your email and an app password.")
    if TokenScope.READ not in caller.scopes:
        raise Forbidden("This token may not read.")
    await spend_request(runtime, caller)
    return caller


# --- Pages


@router.get(ROOT)
async def start(request: Request, runtime: CurrentRuntime) -> Response:
    caller = await _caller(request, runtime)
    texts, now = texts_for(runtime, caller.user), runtime.now()
    parts: Sequence[tuple[str, str]] = (
        ("books", texts.translate("Books")),
        ("lists", texts.translate("Lists")),
        ("digests", texts.translate("Digests")),
        ("folders", texts.translate("Folders")),
        ("tags", texts.translate("Tags")),
        ("searches", texts.translate("Searches")),
    )
    entries = [
        CatalogueEntry(_urn(runtime, name), title, now, f"{ROOT}/{name}", leads_to="acquisition")
        for name, title in parts
    ]
    return _page(runtime, "", "Reedbed", "navigation", now, entries)


@router.get(f"{ROOT}/books")
async def made_books(request: Request, runtime: CurrentRuntime) -> Response:
    """What was made by hand or by a plan, newest first."""
    caller = await _caller(request, runtime)
    texts = texts_for(runtime, caller.user)
    books = [book for book in await list_books(runtime, caller.user_id) if book.status == "ready"]
    entries = [_book_entry(runtime, book, texts) for book in books]
    return _page(runtime, "books", texts.translate("Books"), "acquisition", runtime.now(), entries)


@router.get(f"{ROOT}/lists")
async def lists(request: Request, runtime: CurrentRuntime) -> Response:
    caller = await _caller(request, runtime)
    texts = texts_for(runtime, caller.user)
    names = ("unread", "all", "starred", "later", "digests")
    entries = await _sources(runtime, caller, names, texts)
    return _page(runtime, "lists", texts.translate("Lists"), "acquisition", runtime.now(), entries)


@router.get(f"{ROOT}/digests")
async def digest_list(request: Request, runtime: CurrentRuntime) -> Response:
    caller = await _caller(request, runtime)
    texts = texts_for(runtime, caller.user)
    async with runtime.db.read() as tx:
        found = await digests.newest(tx, caller.user_id, limit=MAX_DIGESTS)
    entries = [_digest_entry(runtime, digest, texts) for digest in found if digest.status == "ready"]
    return _page(runtime, "digests", texts.translate("Digests"), "acquisition", runtime.now(), entries)


@router.get(f"{ROOT}/folders")
async def folder_list(request: Request, runtime: CurrentRuntime, page: int = 0) -> Response:
    caller = await _caller(request, runtime)
    async with runtime.db.read() as tx:
        names = [f"folder:{folder.id}" for folder in await folders.of_user(tx, caller.user_id)]
    return await _list_of_sources(runtime, caller, "folders", "Folders", names, page)


@router.get(f"{ROOT}/tags")
async def tag_list(request: Request, runtime: CurrentRuntime, page: int = 0) -> Response:
    caller = await _caller(request, runtime)
    async with runtime.db.read() as tx:
        names = [f"tag:{name}" for name in sorted(await tags.names(tx, caller.user_id), key=str.casefold)]
    return await _list_of_sources(runtime, caller, "tags", "Tags", names, page)


@router.get(f"{ROOT}/searches")
async def search_list(request: Request, runtime: CurrentRuntime, page: int = 0) -> Response:
    caller = await _caller(request, runtime)
    async with runtime.db.read() as tx:
        names = [f"search:{search.id}" for search in await searches.of_user(tx, caller.user_id)]
    return await _list_of_sources(runtime, caller, "searches", "Searches", names, page)


async def _list_of_sources(
    runtime: Runtime, caller: Caller, part: str, title: str, names: Sequence[str], number: int
) -> Response:
    texts = texts_for(runtime, caller.user)
    begin = max(0, min(number, 10_000)) * PAGE
    entries = await _sources(runtime, caller, names[begin : begin + PAGE], texts)
    following = f"{ROOT}/{part}?page={begin // PAGE + 1}" if len(names) > begin + PAGE else ""
    here = f"{part}?page={number}" if begin else part
    return _page(runtime, here, texts.translate(title), "acquisition", runtime.now(), entries, following)


# --- Entries


async def _sources(runtime: Runtime, caller: Caller, names: Iterable[str], texts: Texts) -> list[CatalogueEntry]:
    """A book of each list, made when it is asked for."""
    text = texts.translate("Made when you load it. That can take a moment; try again if your reader gives up.")
    now = runtime.now()
    async with runtime.db.read() as tx:
        return [
            CatalogueEntry(
                _urn(runtime, f"of/{caller.user_id}/{name}"),
                await name_of_source(tx, caller.user, named_source(name), texts),
                now,
                _url_of(name),
                text=text,
            )
            for name in names
        ]


def _book_entry(runtime: Runtime, book: Book, texts: Texts) -> CatalogueEntry:
    return CatalogueEntry(
        id=_urn(runtime, f"books/{book.id}"),
        title=book.title,
        updated=book.finished_at or book.created_at,
        url=f"{ROOT}/books/{book.id}.epub",
        text=texts.ngettext("%(num)s entry", "%(num)s entries", book.entries),
        language=book.language,
        length=book.length,
    )


def _digest_entry(runtime: Runtime, digest: Digest, texts: Texts) -> CatalogueEntry:
    first = next((sentence.text for part in digest.text.paragraphs for sentence in part.sentences), "")
    return CatalogueEntry(
        id=_urn(runtime, f"digests/{digest.id}"),
        title=f"{texts.translate('Digest')}, {_date(digest.until, texts)}",
        updated=digest.finished_at or digest.created_at,
        url=_url_of(f"digest:{digest.id}"),
        text=first,
        language=digest.language,
    )


def _date(moment: Instant, texts: Texts) -> str:
    return book_date(moment, UTC, texts)


def _url_of(name: str) -> str:
    return f"{ROOT}/make/book.epub?{urlencode({'of': name})}"


def _urn(runtime: Runtime, name: str) -> str:
    """Atom wants ids that stay; those of two servers differ."""
    return f"{runtime.accounts.base_url}{ROOT}/{name}"


def _page(
    runtime: Runtime,
    path: str,
    title: str,
    kind: CatalogueKind,
    now: Instant,
    entries: Sequence[CatalogueEntry],
    next_url: str = "",
) -> Response:
    url = f"{ROOT}/{path}" if path else ROOT
    head = CataloguePage(_urn(runtime, path or "start"), title, now, kind, url, ROOT, next_url)
    headers = {"Cache-Control": "private, no-store"}
    return Response(write_catalogue(head, entries), 200, headers, catalogue_type(kind))


# --- Files


@router.get(ROOT + "/books/{book_id}.epub")
async def file(request: Request, runtime: CurrentRuntime, book_id: IdPath) -> Response:
    caller = await _caller(request, runtime)
    book = await get_book(runtime, caller.user_id, book_id)
    return book_file(request, runtime, book, request.headers.get("range"))


@router.get(ROOT + "/make/book.epub")
async def make(request: Request, runtime: CurrentRuntime, of: str = "all") -> Response:
    """Make the book, unless it was made a moment ago, and wait for it. A `HEAD` makes nothing."""
    caller = await _caller(request, runtime)
    source = named_source(of)
    if is_head(request):
        async with runtime.db.read() as tx:
            await name_of_source(tx, caller.user, source, texts_for(runtime, caller.user))
        return Response(None, 200, {"Accept-Ranges": "none"}, BOOK_TYPE)
    asked = await request_book(runtime, caller.user, source)
    book = await wait_for_book(runtime, caller.user_id, asked.id, PATIENCE)
    if book.status == "failed":
        raise Conflict("The book could not be made. Look at it on the page Books.")
    if book.status == "pending":
        raise Unavailable("The book is being made. Ask for it again in a moment.")
    return book_file(request, runtime, book, request.headers.get("range"))

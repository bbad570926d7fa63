"""Make a book in a job: choose the entries, turn each into a chapter, fetch the pictures, store the file."""

import asyncio
import tempfile
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from time import monotonic
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import structlog

from reedbed.domain.books import (
    MAX_ENTRIES,
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    MAX_PICTURES_OF_ENTRY,
    MAX_TEXT,
    Book,
    BookPlan,
    LeftOut,
    book_date,
    excess,
    left_out_lines,
    remembered,
    unsent,
)
from reedbed.domain.digests import Digest
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.images import MAIL_KEY, MAIL_PATH, image_type
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest
from reedbed.domain.text import text_direction
from reedbed.domain.times import MINUTE, SECOND, rfc3339
from reedbed.domain.users import User
from reedbed.ingest.epub.pictures import BATCH_BYTES, BATCH_SIZE, convert_safely, draw_cover
from reedbed.ingest.epub.writer import EpubMetadata, EpubWriter
from reedbed.ingest.epub.xhtml import XhtmlBody, xhtml_body
from reedbed.services.books.content import (
    digest_chapter,
    entry_chapter,
    entry_ids,
    language_tag,
    last_chapter,
    new_entry_ids,
    newest_digest,
)
from reedbed.services.books.mail import check_mail_allowed, enqueue_book_mail
from reedbed.services.books.manage import NOTHING, name_of_source
from reedbed.services.digests import ask_digest
from reedbed.services.email import texts_for
from reedbed.services.jobs import Done, Later, failure_of, report_job_progress
from reedbed.services.published_feeds import texts_for_programs
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import blobs, books, digests, users
from reedbed.store.books import PART_BYTES
from reedbed.store.entries.read import EntryText
from reedbed.store.jobs import Job

# --- Pictures


SECONDS = 180.0
"""For all pictures of a book."""
MAX_CONCURRENT_FETCHES = 4
_ACCEPT = "image/jpeg, image/png, image/webp, image/avif, image/gif;q=0.9, */*;q=0.1"
_MAX_DATA_URL = 2_000_000


class PictureBox:
    def __init__(self, runtime: Runtime, writer: EpubWriter) -> None:
        self._runtime, self._writer = runtime, writer
        self.files: dict[str, str] = {}
        """The file in the book by URL."""
        self._missing: set[str] = set()
        self._loaded: list[tuple[str, bytes]] = []
        """Not yet converted."""
        self._bytes = 0
        self._ends_at = monotonic() + SECONDS

    @property
    def left_out(self) -> int:
        return len(self._missing)

    async def add(self, urls: Sequence[str]) -> None:
        wanted = [url for url in dict.fromkeys(urls) if url not in self.files and url not in self._missing]
        for start in range(0, len(wanted), MAX_CONCURRENT_FETCHES):
            some = wanted[start : start + MAX_CONCURRENT_FETCHES]
            if self._is_full():
                break
            loaded = await asyncio.gather(*map(self._load, some))
            self._loaded += [(url, data) for url, data in zip(some, loaded, strict=True) if image_type(data)]
            if len(self._loaded) >= BATCH_SIZE or sum(len(data) for _, data in self._loaded) >= BATCH_BYTES:
                await self._convert()
        await self._convert()
        self._missing.update(url for url in wanted if url not in self.files)

    async def _convert(self) -> None:
        loaded, self._loaded = self._loaded, []
        made = await convert_safely([data for _, data in loaded]) if loaded else []
        for (url, _), picture in zip(loaded, made, strict=True):
            if picture is None or self._is_full() or self._bytes + len(picture.data) > MAX_PICTURE_BYTES:
                continue
            self._bytes += len(picture.data)
            self.files[url] = await asyncio.to_thread(self._writer.add_picture, picture.data, picture.media_type)

    def leave_out(self, urls: Sequence[str]) -> None:
        self._missing.update(url for url in urls if url not in self.files)

    def _is_full(self) -> bool:
        return len(self.files) >= MAX_PICTURES or self._bytes >= MAX_PICTURE_BYTES or monotonic() > self._ends_at

    async def _load(self, url: str) -> bytes:
        if url.startswith("data:"):
            return _of_data_url(url)
        if url.startswith(MAIL_PATH):
            async with self._runtime.db.read() as tx:
                kept = await blobs.kept(tx, f"{MAIL_KEY}{url.removeprefix(MAIL_PATH)}")
            return kept[1] if kept else b""
        if not url.startswith(("http://", "https://")):
            return b""
        return await self._fetch(url)

    async def _fetch(self, url: str) -> bytes:
        images = self._runtime.images
        cached = await asyncio.to_thread(images.cache.get, url) if images.cache is not None else None
        if cached is not None:
            return cached
        try:
            async with asyncio.timeout(max(0.1, min(images.timeout, self._ends_at - monotonic()))):
                outcome = await self._runtime.fetcher.fetch(
                    FetchRequest(url, accept=_ACCEPT, max_bytes=images.max_bytes)
                )
        except TimeoutError:
            return b""
        return outcome.body if isinstance(outcome, Fetched) else b""


def _of_data_url(url: str) -> bytes:
    head, _, data = url.partition(",")
    if not head.endswith(";base64") or len(data) > _MAX_DATA_URL:
        return b""
    try:
        return b64decode(data)
    except (NotBase64, ValueError):
        return b""


# --- Chapters


log = structlog.get_logger()

ENTRIES_AT_A_TIME = 10
"""Entries in memory."""
PATIENCE = 15 * MINUTE
"""For a digest that is being written."""
FAILED = Failure(FailureCode.BOOK_FAILED)


@record
class _Chosen:
    """What goes into the book."""

    ids: list[int]
    """Of entries."""
    counted: int
    """Entries of the list, with those that have no room."""
    digest: Digest | None = None


async def make_book(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: make a requested book, or that of a plan. An error becomes the book's status."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
    if user is None or user.disabled_at is not None:
        return Done()
    found = await _wanted(runtime, job, user)
    if not isinstance(found, tuple):
        return found
    book, chosen, plan = found
    work = _make(runtime, job, user, book, chosen, plan)
    failure = await failure_of(work, FAILED, event="a book broke down", book=book.id)
    if failure is not None:
        async with runtime.db.write() as tx:
            await books.fail(tx, book.id, failure, runtime.now())
            if plan is not None:
                await books.note_failure(tx, plan, failure)
    await report_job_progress(runtime, job, 1, 1, {"book_id": book.id})
    return Done({"book_id": book.id})


async def _wanted(
    runtime: Runtime, job: Job, user: User
) -> tuple[Book, _Chosen | None, BookPlan | None] | Done | Later:
    """The book to make; for a plan with what is new. Nothing new means no book."""
    plan_id, book_id = job.payload.get("plan_id"), job.payload.get("book_id", job.report.get("book_id"))
    async with runtime.db.read() as tx:
        plan = await books.get_plan(tx, user.id, plan_id) if plan_id is not None else None
        book = await books.get(tx, user.id, book_id) if book_id is not None else None
    if plan is None:
        return (book, None, None) if book is not None and book.status == "pending" else Done()
    if book is not None and book.status != "pending":
        return Done({"book_id": book.id})
    try:
        chosen = await _new_for(runtime, job, user, plan)
    except NotFound as error:
        async with runtime.db.write() as tx:
            await books.note_failure(tx, plan, error.failure)
        return Done()
    if not isinstance(chosen, _Chosen):
        return chosen
    if book is None:
        book = await _add_book(runtime, job, user, plan)
    return book, chosen, plan


async def _new_for(runtime: Runtime, job: Job, user: User, plan: BookPlan) -> _Chosen | Done | Later:
    if not plan.source.digests:
        ids = await new_entry_ids(runtime, plan)
        return _Chosen(ids[:MAX_ENTRIES], len(ids)) if ids else Done()
    digest_id = job.payload.get("digest_id")
    async with runtime.db.read() as tx:
        newest = await digests.newest(tx, user.id, limit=1)
        named = await digests.get(tx, user.id, digest_id) if digest_id is not None else None
    if named is not None:
        return _of_digest(named) if unsent([named.id], plan.sent) else Done()
    if newest and newest[0].status == "pending" and runtime.now() - newest[0].created_at < PATIENCE:
        return Later(runtime.now() + 20 * SECOND)
    since = plan.last_at or runtime.now() - PATIENCE
    if newest and newest[0].status == "ready" and newest[0].created_at > since and unsent([newest[0].id], plan.sent):
        return _of_digest(newest[0])
    try:
        await ask_digest(runtime, user, since_last=True, plan_id=plan.id)
    except NotFound:
        log.info("no book today", user=user.id, plan=plan.id)
    return Done()


async def _add_book(runtime: Runtime, job: Job, user: User, plan: BookPlan) -> Book:
    mail_to, failure = "", None
    if plan.mail:
        try:
            mail_to = await check_mail_allowed(runtime, user)
        except Conflict as error:
            failure = error.failure
    async with runtime.db.write() as tx:
        await books.note_failure(tx, plan, failure)
        title = await name_of_source(tx, user, plan.source, texts_for(runtime, user))
        book = await books.add(tx, user.id, plan.source, title, runtime.now(), plan_id=plan.id, mail_to=mail_to)
    await report_job_progress(runtime, job, 0, 1, {"book_id": book.id})
    return book


def _of_digest(digest: Digest) -> _Chosen:
    ids = [source.entry_id for source in digest.text.sources]
    return _Chosen(ids, len(ids), digest)


async def _choose(runtime: Runtime, user: User, book: Book) -> _Chosen:
    if book.source.is_digest:
        digest = await _digest_of(runtime, user, book)
        if digest is None:
            raise NotFound(NOTHING)
        return _of_digest(digest)
    ids = await entry_ids(runtime, user.id, book.source)
    if not ids:
        raise NotFound(NOTHING)
    return _Chosen(ids[:MAX_ENTRIES], len(ids))


async def _digest_of(runtime: Runtime, user: User, book: Book) -> Digest | None:
    if book.source.digest_id is None:
        return await newest_digest(runtime, user.id)
    async with runtime.db.read() as tx:
        return await digests.get(tx, user.id, book.source.digest_id)


# --- Making


async def _make(
    runtime: Runtime, job: Job, user: User, book: Book, chosen: _Chosen | None, plan: BookPlan | None
) -> None:
    chosen = chosen or await _choose(runtime, user, book)
    with tempfile.TemporaryDirectory(prefix="reedbed-book-") as folder:
        path = Path(folder) / "book.epub"
        made = await _BookMaking(runtime, job, user, book, chosen, path).run()
        await _store_file(runtime, made, path)
    async with runtime.db.write() as tx:
        await books.finish(tx, made)
        await books.remove_some(tx, user.id, excess(await books.sizes(tx, user.id)))
        if plan is not None:
            sent = [chosen.digest.id] if chosen.digest is not None else chosen.ids
            await books.remember(tx, plan, remembered(plan.sent, sent), runtime.now())
    if made.mail_to:
        await enqueue_book_mail(runtime, made, made.mail_to)


async def _store_file(runtime: Runtime, book: Book, path: Path) -> None:
    async with runtime.db.write() as tx:
        await books.delete_file(tx, book.id)
    with path.open("rb") as file:
        number = 0
        while data := await asyncio.to_thread(file.read, PART_BYTES):
            async with runtime.db.write() as tx:
                await books.add_part(tx, book.id, number, data)
            number += 1


class _BookMaking:
    def __init__(self, runtime: Runtime, job: Job, user: User, book: Book, chosen: _Chosen, path: Path) -> None:
        self._runtime, self._job, self._user, self._book = runtime, job, user, book
        self._chosen, self._path = chosen, path
        preferences = preferences_of(user)
        self._texts = texts_for(runtime, user)
        self._zone: tzinfo = ZoneInfo(preferences.time_zone or "UTC")
        self._date = book_date(runtime.now(), self._zone, self._texts)
        self._title = f"{book.title}, {self._date}"
        self._chapters: dict[int, str] = {}
        """The file of each entry."""
        self._characters = 0

    async def run(self) -> Book:
        first = await self._load(self._chosen.ids[:ENTRIES_AT_A_TIME])
        language = self._language_of(first)
        with self._path.open("wb") as file:
            writer = EpubWriter(file, self._metadata(language))
            pictures = PictureBox(self._runtime, writer)
            cover = await asyncio.to_thread(draw_cover, self._book.title, self._date)
            await asyncio.to_thread(writer.add_cover, cover, "image/jpeg")
            for start in range(0, len(self._chosen.ids), ENTRIES_AT_A_TIME):
                loaded = await self._load(self._chosen.ids[start : start + ENTRIES_AT_A_TIME]) if start else first
                await self._add_entries(writer, pictures, loaded)
                await self._tell(min(start + ENTRIES_AT_A_TIME, len(self._chosen.ids)))
            left_out = LeftOut(self._chosen.counted - len(self._chapters), pictures.left_out)
            await asyncio.to_thread(self._end, writer, left_out)
        return replace(
            self._book,
            title=self._title,
            language=language,
            status="ready",
            entries=len(self._chapters),
            pictures=len(pictures.files),
            left_out=left_out,
            length=self._path.stat().st_size,
            finished_at=self._runtime.now(),
        )

    async def _load(self, ids: Sequence[int]) -> list[EntryText]:
        async with self._runtime.db.read() as tx:
            return await texts_for_programs(self._runtime, tx, self._user.id, list(ids))

    def _metadata(self, language: str) -> EpubMetadata:
        base_url = self._runtime.accounts.base_url
        return EpubMetadata(
            identifier=uuid5(NAMESPACE_URL, f"{base_url}/books/{self._book.id}/{self._book.created_at}").urn,
            title=self._title,
            language=language,
            direction=text_direction("", language),
            modified=f"{rfc3339(self._runtime.now())[:19]}Z",
            contents=self._texts.translate("Contents"),
            cover=self._texts.translate("Cover"),
        )

    def _language_of(self, entries: Sequence[EntryText]) -> str:
        """That of most of the first entries; EPUB wants one for the book."""
        counted = Counter(tag for entry in entries if (tag := language_tag(entry.language)))
        return counted.most_common(1)[0][0] if counted else self._texts.language

    async def _add_entries(self, writer: EpubWriter, pictures: PictureBox, entries: Sequence[EntryText]) -> None:
        bodies: list[tuple[EntryText, XhtmlBody]] = []
        recording = self._texts.translate("Recording")
        for entry in entries:
            if self._characters + len(entry.content) > MAX_TEXT:
                continue
            self._characters += len(entry.content)
            body = await asyncio.to_thread(xhtml_body, entry.content, f"e{entry.id}-", recording)
            bodies.append((entry, body))
        urls = [[picture.url for picture in body.pictures if picture.url] for _, body in bodies]
        # Those of several entries together, because each process that converts them takes a while to start.
        await pictures.add([url for some in urls for url in some[:MAX_PICTURES_OF_ENTRY]])
        pictures.leave_out([url for some in urls for url in some[MAX_PICTURES_OF_ENTRY:]])
        for entry, body in bodies:
            self._chapters[entry.id] = await asyncio.to_thread(self._add_chapter, writer, entry, body, pictures)

    def _add_chapter(self, writer: EpubWriter, entry: EntryText, body: XhtmlBody, pictures: PictureBox) -> str:
        return writer.add_chapter(entry_chapter(entry, body, pictures.files, self._texts, self._zone))

    def _end(self, writer: EpubWriter, left_out: LeftOut) -> None:
        if self._chosen.digest is not None:
            chapter = digest_chapter(self._chosen.digest, self._chapters, self._title, self._texts)
            writer.add_chapter(chapter, first=True)
        made = self._texts.translate("Made by Reedbed on %(date)s.", date=self._date)
        lines = [made, *left_out_lines(left_out, self._texts)]
        writer.add_chapter(last_chapter(lines, self._texts.translate("About this book"), self._texts))
        writer.close()

    async def _tell(self, done: int) -> None:
        total = len(self._chosen.ids)
        async with self._runtime.db.write() as tx:
            await books.set_progress(tx, self._book.id, round(99 * done / total))
        await report_job_progress(self._runtime, self._job, done, total, {"book_id": self._book.id})

"""Books: of lists and digests, with pictures, within limits, by plan and by mail."""

import io
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from time import monotonic

import pytest
from PIL import Image

from reedbed.domain.books import MAX_ENTRIES, MAX_KEPT, Book, BookSource
from reedbed.domain.digests import DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import failure_sentence
from reedbed.domain.times import DAY, HOUR, MINUTE
from reedbed.ingest.smtp import Mailer
from reedbed.services.books.mail import MAX_A_DAY, confirm_address, is_confirmed, set_address
from reedbed.services.books.manage import (
    add_plan,
    enqueue_due_books,
    get_book,
    list_books,
    list_plans,
    mail_book,
    read_book,
    request_book,
)
from reedbed.services.entries import change_entry
from reedbed.services.maintenance import delete_old_books
from reedbed.store import books, digests, users
from reedbed.store.engine.database import counting
from tests.epub_reader import EpubBook, read_epub
from tests.feedsite import FeedSite
from tests.harness import open_harness, run
from tests.services.writing import BREAD, HERON, STORY, Desk, new_desk
from tests.smtp_server import SmtpServer, open_smtp_server, work_off

ALL = BookSource()
PDF_OF_HORROR = b"\x89PNG\r\n\x1a\n" + b"\0" * 500


@pytest.fixture
async def desk(database_url: str) -> AsyncIterator[Desk]:
    async with open_harness(database_url) as harness:
        yield await new_desk(harness)


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with open_smtp_server() as server:
        yield server


async def _made(desk: Desk, source: BookSource = ALL, *, mail: bool = False) -> Book:
    book = await request_book(desk.runtime, desk.user, source, mail=mail)
    await work_off(desk.runtime)
    return await get_book(desk.runtime, desk.user.id, book.id)


async def _read(desk: Desk, book: Book) -> EpubBook:
    data = b"".join([part async for part in read_book(desk.runtime, book)])
    assert len(data) == book.length
    return read_epub(data)


async def _html(desk: Desk, html: str, title: str = "The bridge", language: str | None = None) -> int:
    entry_id = await desk.entry("", title=title, more="")
    await desk.harness.change(
        "UPDATE entry_bodies SET content = :h WHERE entry_id = :i RETURNING 1", h=html, i=entry_id
    )
    if language:
        await desk.harness.change("UPDATE entries SET language = :l WHERE id = :i RETURNING 1", l=language, i=entry_id)
    return entry_id


def _jpeg(size: tuple[int, int] = (60, 40)) -> bytes:
    output = io.BytesIO()
    Image.effect_noise(size, 60).convert("RGB").save(output, "JPEG")
    return output.getvalue()


async def test_a_list_becomes_a_book_with_a_chapter_for_each_entry(desk: Desk, site: FeedSite) -> None:
    picture = site.put("/a.webp", _jpeg(), content_type="image/webp")
    first = await _html(
        desk, f'<p>{STORY}<sup><a href="#fn-1">1</a></sup></p><p id="fn-1">Note.</p><img src="{picture}" alt="A crane">'
    )
    await desk.harness.change(
        "UPDATE entries SET author = 'Ann', url = 'https://a.example/x' WHERE id = :i RETURNING 1", i=first
    )
    desk.pass_time(MINUTE)
    await _html(desk, "<p>مرحبا بالعالم</p>", "الجسر", "ar")
    made = await _made(desk)
    assert (made.status, made.entries, made.pictures, made.progress) == ("ready", 2, 1, 100)
    assert made.title.startswith("All entries, ") and made.file_name.endswith(".epub")
    book = await _read(desk, made)
    assert [title for title, _ in book.contents] == ["الجسر", "The bridge", "About this book"]
    text = book.text("The bridge")
    assert "Ann" in text and "Original: https://a.example/x" in text and "council of Marrowby" in text
    assert len(book.pictures) == 1 and book.language == "ar" and book.direction == "rtl"
    assert book.pages["chapter-0001.xhtml"].get("dir") == "rtl" and book.pages["chapter-0001.xhtml"].get("lang") == "ar"
    (link,) = (a for a in book.pages["chapter-0002.xhtml"].iter("{*}a") if a.get("href", "").startswith("#"))
    assert link.get("href") == f"#e{first}-fn-1"


async def test_lists_tags_and_states_choose_the_entries(desk: Desk) -> None:
    heron, bread = await desk.entry(HERON, title="Heron"), await desk.entry(BREAD, title="Bread")
    await change_entry(desk.runtime, desk.user.id, heron, StateChange(starred=True, tags=("birds",)))
    await change_entry(desk.runtime, desk.user.id, bread, StateChange(later=True))
    for source, title in (
        (BookSource("starred"), "Heron"),
        (BookSource("later"), "Bread"),
        (BookSource(tag="birds"), "Heron"),
    ):
        book = await _read(desk, await _made(desk, source))
        assert [found for found, _ in book.contents] == [title, "About this book"]
    for source in (BookSource(folder_id=9), BookSource(feed_id=9), BookSource(tag="x"), BookSource(search_id=9)):
        with pytest.raises(NotFound):
            await request_book(desk.runtime, desk.user, source)
    stranger = await new_desk(desk.harness)
    with pytest.raises(NotFound, match="There is nothing in this list"):
        await request_book(desk.runtime, stranger.user, BookSource("starred"))
    with pytest.raises(NotFound):
        await get_book(desk.runtime, stranger.user.id, (await list_books(desk.runtime, desk.user.id))[0].id)


WRONG = [
    ("<p>x</p><p><p>y<table><td>z<tr><td>q</table>", "en"),
    ("<ruby>漢<rt>かん</ruby><p dir=rtl>البحر</p>", "de_AT"),
    (
        "<h1 id=a>x</h1><h2 id=a>x</h2><a href='#a'>j</a><a href='#none'>k</a><a href='javascript:1'>w</a>",
        "not a language",
    ),
    ("<a href='http://exa mple/ü?q=\"x\"&amp;<'>z</a><a href='http://%41/'>y</a><a href='https://[::1]:8/'>x</a>", "x"),
    (
        "<dl><dd>a<dt>b</dl><ul>text<li>x</ul><figure><figcaption>a</figcaption><img src=x><figcaption>b</figcaption>",
        "ja",
    ),
    ("<table><caption><p>c</p></caption><tfoot><tr><td colspan=0 rowspan=-1>f</td></tr></tfoot></table>", "xx-" * 9),
    ("<details><summary>s</summary>t</details><svg><circle r=1/></svg><math><mi>x</mi></math>&shy;\ufffe", ""),
]


async def test_whatever_markup_and_language_a_feed_has_the_book_is_sound(desk: Desk) -> None:
    for number, (html, language) in enumerate(WRONG):
        await _html(desk, html, f"{number} <&\"' \x07", language)
    book = await _made(desk, ALL)
    assert (book.status, book.entries) == ("ready", len(WRONG))
    read = await _read(desk, book)
    assert len(read.contents) == len(WRONG) + 1
    links = [link.get("href") for page in read.pages.values() for link in page.iter("{*}a")]
    assert "https://%5B::1%5D:8/" in links or "https://[::1]:8/" in links
    assert [link for link in links if link and "exa" in link] == []


async def test_two_thousand_entries_with_hostile_pictures_are_bounded(desk: Desk, site: FeedSite) -> None:
    site.put("/junk.png", b"<html>no picture</html>", content_type="image/png")
    site.put("/broken.png", PDF_OF_HORROR, content_type="image/png")
    site.put("/good.jpg", _jpeg(), content_type="image/jpeg")
    now = desk.runtime.now()
    html = "".join(
        f'<img src="{site.url}/{name}" alt="{name}">' for name in ("junk.png", "broken.png", "good.jpg", "gone.png")
    )
    async with desk.runtime.db.write() as tx:
        for number in range(2_000):
            ((entry_id,),) = await run(
                tx,
                "INSERT INTO entries (feed_id, guid, title, change_hash, fetched_at, sort_at, words, summary) "
                "VALUES (:feed, :guid, :guid, 'x', :at, :at, 1, '') RETURNING id",
                feed=desk.feed_id,
                guid=f"n{number}",
                at=now - number,
            )
            inside = f'<img src="http://10.0.0.1/{number}.png" alt="inside">' if number % 50 == 0 else ""
            await run(
                tx,
                "INSERT INTO entry_bodies (entry_id, content) VALUES (:id, :html) RETURNING entry_id",
                id=entry_id,
                html=f"<p>{number}</p>{html}{inside}" + '<img src="data:image/png;base64,AAAA" alt="">' * 99,
            )
    began = monotonic()
    made = await _made(desk)
    assert monotonic() - began < 60
    assert (made.status, made.entries, made.pictures) == ("ready", MAX_ENTRIES, 1)
    assert made.left_out.entries == 2_000 - MAX_ENTRIES and made.left_out.pictures == 3 + 4 + 1
    book = await _read(desk, made)
    assert "left out because the book was full: 1800" in book.text("About this book")
    assert "Pictures left out" in book.text("About this book") and "[junk.png]" in book.text("n0")
    assert len(site.seen_at("/junk.png")) == 1


async def test_a_book_of_a_digest_holds_what_the_digest_cites(desk: Desk) -> None:
    heron = await desk.entry(HERON, title="Heron")
    await desk.entry(BREAD, title="Bread")
    digest_id = await _digest(desk, heron)
    book = await _read(desk, await _made(desk, BookSource(digest_id=digest_id)))
    titles = [title for title, _ in book.contents]
    assert titles[0].startswith("Digest, ") and titles[1:] == ["Heron", "About this book"]
    links = [a.get("href") for a in book.pages[dict(book.contents)[titles[0]]].iter("{*}a")]
    assert links == ["chapter-0001.xhtml"] * 2


async def _digest(desk: Desk, entry_id: int) -> int:
    now = desk.runtime.now()
    paragraph = Paragraph("Today", (Sentence("A heron nests.", (entry_id,)),))
    text = DigestText((paragraph,), (Source(entry_id, "Heron", "Feed", now, "en"),), 1, 1)
    async with desk.runtime.db.write() as tx:
        digest_id = await digests.add(
            tx, desk.user.id, DigestScope(), model="extract", language="en", since=now - DAY, now=now
        )
        await digests.finish(tx, digest_id, text, model="extract", language="en", entries=1, now=now)
    return digest_id


async def test_the_same_book_is_not_made_twice_in_ten_minutes(desk: Desk) -> None:
    await desk.entry(HERON)
    first = await _made(desk)
    assert (await request_book(desk.runtime, desk.user, ALL)).id == first.id
    desk.pass_time(11 * MINUTE)
    assert (await request_book(desk.runtime, desk.user, ALL)).id != first.id
    async with desk.runtime.db.write() as tx:
        for _ in range(2):
            await books.add(tx, desk.user.id, ALL, "Another", desk.runtime.now())
    with pytest.raises(Conflict, match="Several of your books"):
        await request_book(desk.runtime, desk.user, BookSource(feed_id=desk.feed_id))


async def test_only_the_newest_books_are_kept_and_old_ones_go(desk: Desk) -> None:
    await desk.entry(HERON)
    async with desk.runtime.db.write() as tx:
        for _ in range(MAX_KEPT + 3):
            old = await books.add(tx, desk.user.id, ALL, "Old", 1)
            await books.finish(tx, replace(old, length=1))
    made = await _made(desk)
    assert len(await list_books(desk.runtime, desk.user.id)) == MAX_KEPT
    assert await delete_old_books(desk.runtime) == MAX_KEPT - 1
    assert [book.id for book in await list_books(desk.runtime, desk.user.id)] == [made.id]
    assert await desk.value("SELECT count(*) FROM book_parts WHERE book_id <> :id", id=made.id) == 0


async def test_a_longer_book_costs_two_statements_for_ten_entries(desk: Desk) -> None:
    async def cost(entries: int) -> int:
        for _ in range(entries):
            await desk.entry(HERON)
        desk.pass_time(HOUR)
        with counting() as count:
            await _made(desk)
        return count.value

    few = await cost(10)
    assert await cost(20) - few <= 2 * 4
    assert few <= 40


async def test_a_list_that_was_emptied_meanwhile_fails_in_plain_words(desk: Desk) -> None:
    entry_id = await desk.entry(HERON)
    await change_entry(desk.runtime, desk.user.id, entry_id, StateChange(starred=True))
    book = await request_book(desk.runtime, desk.user, BookSource("starred"))
    await change_entry(desk.runtime, desk.user.id, entry_id, StateChange(starred=False))
    await work_off(desk.runtime)
    failed = await get_book(desk.runtime, desk.user.id, book.id)
    assert failed.error is not None
    assert (failed.status, failed.error.message) == ("failed", "There is nothing in this list.")


# --- By mail


async def _with_reader(desk: Desk, mailer: Mailer, address: str = "ann@kindle.com") -> None:
    desk.harness.runtime = replace(desk.runtime, mailer=mailer)
    desk.user = await set_address(desk.runtime, desk.user, address)


async def test_a_book_is_mailed_to_the_e_reader(desk: Desk, smtp: SmtpServer) -> None:
    await _with_reader(desk, smtp.mailer(), " Ann@Kindle.com ")
    await desk.entry(HERON, title="Heron")
    made = await _made(desk, mail=True)
    assert (made.mail_status, made.mail_to) == ("sent", "ann@kindle.com")
    (letter,) = smtp.letters
    (attachment,) = letter.iter_attachments()
    assert letter["To"] == "ann@kindle.com" and attachment.get_content_type() == "application/epub+zip"
    assert attachment.get_filename() == made.file_name
    assert read_epub(attachment.get_content()).contents[0][0] == "Heron"
    await mail_book(desk.runtime, desk.user, made.id)
    await work_off(desk.runtime)
    assert len(smtp.letters) == 2


async def test_a_book_is_not_mailed_again_without_end(desk: Desk, smtp: SmtpServer) -> None:
    await _with_reader(desk, smtp.mailer())
    await desk.entry(HERON)
    made = await _made(desk)
    desk.pass_time(2 * DAY)
    for _ in range(MAX_A_DAY):
        await mail_book(desk.runtime, desk.user, made.id)
        await desk.harness.change("UPDATE books SET mail_status = 'sent' RETURNING 1")
    with pytest.raises(Conflict, match="At most 20 books"):
        await mail_book(desk.runtime, desk.user, made.id)


async def test_a_failed_mail_is_tried_again_and_shown(desk: Desk, smtp: SmtpServer) -> None:
    await _with_reader(desk, smtp.mailer())
    await desk.entry(HERON)
    smtp.answer = "451 later"
    made = await _made(desk, mail=True)
    assert made.mail_status == "pending" and "451" in failure_sentence(made.mail_error)
    desk.pass_time(HOUR)
    smtp.answer = "552 too large for us"
    await work_off(desk.runtime)
    failed = await get_book(desk.runtime, desk.user.id, made.id)
    assert failed.mail_status == "failed" and "552" in failure_sentence(failed.mail_error)
    smtp.answer = "250 OK"
    await mail_book(desk.runtime, desk.user, made.id)
    await work_off(desk.runtime)
    assert (await get_book(desk.runtime, desk.user.id, made.id)).mail_status == "sent"


async def test_another_address_must_be_confirmed_by_who_reads_its_mail(desk: Desk, smtp: SmtpServer) -> None:
    await desk.entry(HERON)
    with pytest.raises(Conflict, match="cannot send mail"):
        await set_address(desk.runtime, desk.user, "ann@kindle.com")
    await _with_reader(desk, smtp.mailer(), "ben@elsewhere.example")
    with pytest.raises(Conflict, match="Open the link"):
        await request_book(desk.runtime, desk.user, ALL, mail=True)
    await work_off(desk.runtime)
    (letter,) = smtp.letters
    token = str(letter.get_content()).partition("/books/confirm/")[2].split()[0]
    for wrong in (token[:-1] + "x", f"1{token}", "", "9-9"):
        with pytest.raises(NotFound):
            await confirm_address(desk.runtime, wrong)
    assert await confirm_address(desk.runtime, token) == "ben@elsewhere.example"
    async with desk.runtime.db.read() as tx:
        changed = await users.get(tx, desk.user.id)
    assert changed is not None and is_confirmed(desk.runtime, changed, "ben@elsewhere.example")
    assert not is_confirmed(desk.runtime, changed, "eve@elsewhere.example")
    with pytest.raises(Invalid):
        await set_address(desk.runtime, changed, "no address")


# --- By the clock


async def test_a_plan_makes_a_book_of_what_is_new_and_none_of_nothing(desk: Desk, smtp: SmtpServer) -> None:
    await _with_reader(desk, smtp.mailer())
    await desk.entry(HERON, title="Heron")
    plan = await add_plan(desk.runtime, desk.user, ALL, minute=360, weekday=None, zone="Europe/Berlin", mail=True)
    assert await enqueue_due_books(desk.runtime) == 0
    titles = [await _next_day(desk, plan.next_at - desk.runtime.now() + MINUTE)]
    titles.append(await _next_day(desk))
    await desk.entry(BREAD, title="Bread")
    titles.append(await _next_day(desk))
    assert titles == [["Heron"], [], ["Bread"]]
    assert len(smtp.letters) == 2
    (kept,) = await list_plans(desk.runtime, desk.user.id)
    assert kept.error is None and kept.last_at is not None and kept.next_at > desk.runtime.now()


async def test_a_plan_whose_mail_is_not_allowed_says_so_until_it_is(desk: Desk, smtp: SmtpServer) -> None:
    await _with_reader(desk, smtp.mailer())
    plan = await add_plan(desk.runtime, desk.user, ALL, minute=0, weekday=None, zone="UTC", mail=True)
    desk.harness.runtime = replace(desk.runtime, mailer=None)
    await desk.entry(HERON, title="Heron")
    assert await _next_day(desk, plan.next_at - desk.runtime.now() + MINUTE) == ["Heron"]
    (plan,) = await list_plans(desk.runtime, desk.user.id)
    assert plan.error is not None and "mail" in plan.error.message
    desk.harness.runtime = replace(desk.runtime, mailer=smtp.mailer())
    await desk.entry(BREAD, title="Bread")
    assert await _next_day(desk) == ["Bread"]
    (plan,) = await list_plans(desk.runtime, desk.user.id)
    assert plan.error is None and len(smtp.letters) == 1


async def test_a_starred_entry_is_in_one_book_of_its_plan_alone(desk: Desk) -> None:
    ids = [await desk.entry(text, title=title) for text, title in ((HERON, "Heron"), (BREAD, "Bread"), (STORY, "Old"))]
    await add_plan(desk.runtime, desk.user, BookSource("starred"), minute=0, weekday=None, zone="UTC", mail=False)
    titles: list[list[str]] = []
    for entry_id in ids:
        await change_entry(desk.runtime, desk.user.id, entry_id, StateChange(starred=True))
        titles += [await _next_day(desk), await _next_day(desk)]
    assert titles == [["Heron"], [], ["Bread"], [], ["Old"], []]


async def _next_day(desk: Desk, millis: int = DAY) -> list[str]:
    """The entries in the book of the next day; none without a book."""
    known = {book.id for book in await list_books(desk.runtime, desk.user.id)}
    desk.pass_time(millis)
    await enqueue_due_books(desk.runtime)
    await work_off(desk.runtime)
    new = [book for book in await list_books(desk.runtime, desk.user.id) if book.id not in known]
    assert all(book.status == "ready" for book in new) and len(new) <= 1
    return [title for book in new for title, _ in (await _read(desk, book)).contents[:-1]]


async def test_a_plan_for_digests_has_one_written_where_there_is_none(desk: Desk) -> None:
    await add_plan(desk.runtime, desk.user, BookSource(digests=True), minute=0, weekday=None, zone="UTC", mail=False)
    assert await _next_day(desk) == []
    desk.pass_time(DAY - HOUR)
    await desk.entry(HERON, title="Heron")
    first, *rest = await _next_day(desk, HOUR)
    assert first.startswith("Digest, ") and rest == ["Heron"]
    assert await _next_day(desk) == []


async def test_a_plan_of_a_list_that_is_gone_says_so(desk: Desk) -> None:
    await desk.entry(HERON)
    await add_plan(
        desk.runtime, desk.user, BookSource(feed_id=desk.feed_id), minute=0, weekday=None, zone="UTC", mail=False
    )
    await desk.harness.change("DELETE FROM subscriptions WHERE user_id = :u RETURNING 1", u=desk.user.id)
    assert await _next_day(desk) == []
    (plan,) = await list_plans(desk.runtime, desk.user.id)
    assert plan.error is not None and plan.error.message == "There is nothing in this list."

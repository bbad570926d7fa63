"""Moving in: folders, feeds, read and starred marks come along, and hostile files get nowhere."""

import io
import json
import sqlite3
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from aiohttp import web

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.services.jobs import claim, run
from reedbed.services.transfer.jobs import JOB_KIND, get_import, run_import, start_file, start_miniflux
from reedbed.services.transfer.library import import_file, import_miniflux, read_library
from reedbed.store.entries import lists as entry_lists
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness
from tests.servers import free_port


async def titles(harness: RuntimeHarness, user_id: int, view: Any, **more: Any) -> list[str]:
    async with harness.runtime.db.read() as tx:
        page = await entry_lists.page(tx, user_id, ViewQuery(view, "oldest", **more), None, 50)
    assert page is not None
    return [row.title for row in page.rows]


def freshrss(path: Path, feed_url: str, article: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE feed (id INTEGER PRIMARY KEY, url TEXT, category INTEGER, name TEXT, website TEXT);
            CREATE TABLE entry (id INTEGER PRIMARY KEY, guid TEXT, title TEXT, author TEXT, content TEXT,
                link TEXT, date INTEGER, is_read INTEGER, is_favorite INTEGER, id_feed INTEGER, tags TEXT);
            CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE entrytag (id_tag INTEGER, id_entry INTEGER);
            INSERT INTO category VALUES (1, 'Uncategorized'), (2, 'Birds &amp; bees');
            INSERT INTO tag VALUES (1, 'wings');
            INSERT INTO entrytag VALUES (1, 12);
            """
        )
        connection.execute("INSERT INTO feed VALUES (1, ?, 2, 'Herons &amp; co', '')", (feed_url,))
        entries = [
            (11, "main-1", "One", "", "<p>one</p>", article, 1_600_000_000, 1, 0),
            (
                12,
                "old",
                "Long gone",
                "Ada",
                "<p>kept</p><script>alert(1)</script>",
                "https://x.org/a&amp;b",
                1_500_000_000,
                1,
                1,
            ),
        ]
        connection.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, '')", entries)
        connection.commit()
    return path


async def test_freshrss_brings_folders_reads_and_stars(site: FeedSite, harness: RuntimeHarness, tmp_path: Path) -> None:
    site.publish("One")
    site.publish("Two")
    reader = await harness.person()
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")

    report = await import_file(harness.runtime, reader, path)
    await harness.check()

    assert (report.source, report.imported, report.read, report.starred) == ("FreshRSS", 1, 2, 1)
    assert await harness.column("SELECT name FROM folders") == ["Birds & bees"]
    assert await titles(harness, reader, "unread") == ["Two"], "what was read there arrives as read"
    assert await titles(harness, reader, "starred") == ["Long gone"]
    assert await titles(harness, reader, "all", tag="wings") == ["Long gone"]
    (content,) = await harness.column(
        "SELECT content FROM entry_bodies JOIN entries ON id = entry_id WHERE title = 'Long gone'"
    )
    assert content == "<p>kept</p>"


async def test_an_import_refreshes_the_statistics_of_plans(site: FeedSite, tmp_path: Path, postgres_url: str) -> None:
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")
    async with open_harness(postgres_url) as harness:
        await import_file(harness.runtime, await harness.person(), path)
        assert await harness.column("SELECT reltuples::int FROM pg_class WHERE relname = 'entries'") == [1]


async def test_what_one_brings_nobody_else_sees(site: FeedSite, harness: RuntimeHarness, tmp_path: Path) -> None:
    site.publish("One")
    other = await harness.person()
    feed = await harness.follow(site.feed_url(), user_id=other)
    await harness.check()
    reader = await harness.person()
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")

    await import_file(harness.runtime, reader, path)

    assert await harness.titles(feed) == ["One"]
    assert await titles(harness, other, "unread") == ["One"]
    assert await titles(harness, reader, "unread") == []


async def test_importing_twice_brings_nothing_twice(site: FeedSite, harness: RuntimeHarness, tmp_path: Path) -> None:
    reader = await harness.person()
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")
    await import_file(harness.runtime, reader, path)
    again = await import_file(harness.runtime, reader, path)
    assert (again.imported, again.skipped, again.starred) == (0, 1, 0)
    assert await titles(harness, reader, "starred") == ["Long gone"]


def reedme(path: Path, feed_url: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE groups (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE feeds (id INTEGER PRIMARY KEY, group_id INTEGER, name TEXT, link TEXT);
            CREATE TABLE items (id INTEGER PRIMARY KEY, feed_id INTEGER, guid TEXT, title TEXT, link TEXT,
                content TEXT, pub_date INTEGER, unread INTEGER, created_at INTEGER);
            CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, item_id INTEGER, link TEXT, title TEXT,
                content TEXT, pub_date INTEGER, feed_name TEXT, created_at INTEGER);
            INSERT INTO groups VALUES (1, 'Default'), (2, 'Ponds');
            INSERT INTO items VALUES (1, 1, 'main-1', 'One', 'https://x.org/1', '', 1600000000, 0, 1);
            INSERT INTO bookmarks VALUES (1, NULL, 'https://x.org/kept', 'Kept', '<p>kept</p>', 1600000000,
                'Herons', 1);
            """
        )
        connection.execute("INSERT INTO feeds VALUES (1, 2, 'Herons', ?)", (feed_url,))
        connection.commit()
    return path


async def test_reedme_brings_groups_reads_and_bookmarks(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    site.publish("One", key="main-1")
    reader = await harness.person()

    report = await import_file(harness.runtime, reader, reedme(tmp_path / "fusion.db", site.feed_url()))
    await harness.check()

    assert (report.source, report.imported, report.bookmarked) == ("ReedMe", 1, 1)
    assert await harness.column("SELECT name FROM folders") == ["Ponds"]
    assert await harness.column("SELECT title FROM bookmarks") == ["Kept"]
    assert await titles(harness, reader, "unread") == []


async def test_starred_json_brings_stars_and_follows_nothing(harness: RuntimeHarness, tmp_path: Path) -> None:
    item = {
        "id": "tag:google.com,2005:reader/item/1",
        "title": "Takeout",
        "published": 1_300_000_000,
        "alternate": [{"href": "https://x.org/takeout"}],
        "summary": {"content": "<p>words</p>"},
        "categories": ["user/1/state/com.google/starred", "user/1/label/Reeds"],
        "origin": {"streamId": "feed/https://x.org/feed", "title": "X"},
    }
    feedly = {"id": "f", "title": "Feedly", "canonicalUrl": "https://y.org/1", "published": 1_300_000_000_000}
    path = tmp_path / "starred.json"
    path.write_text(json.dumps({"items": [item, feedly, 7, {"no": "title"}]}))
    reader = await harness.person()

    report = await import_file(harness.runtime, reader, path)

    assert (report.starred, report.imported) == (2, 0)
    assert sorted(await titles(harness, reader, "starred")) == ["Feedly", "Takeout"]
    assert await titles(harness, reader, "all", tag="Reeds") == ["Takeout"]
    assert await harness.column("SELECT DISTINCT published_at FROM entries") == [1_300_000_000_000]
    assert await titles(harness, reader, "unread") == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nothing", b""),
        ("letter", b"Dear reader"),
        ("half", b'{"items": [{"title": "x"'),
        ("other", b'{"name": "package.json"}'),
        ("deep", b"[" * 100_000),
        ("damaged", b"SQLite format 3\0" + b"\xff" * 5_000),
    ],
)
async def test_what_is_no_library_is_refused(
    harness: RuntimeHarness, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Invalid):
        await import_file(harness.runtime, await harness.person(), path)


async def test_a_view_in_the_place_of_a_table_is_not_asked(harness: RuntimeHarness, tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE category (id, name); CREATE TABLE feed (id, url, category, name);"
            "CREATE VIEW entry AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
            " SELECT x AS id FROM n;"
        )
    with pytest.raises(Invalid, match="does not come from"):
        await import_file(harness.runtime, await harness.person(), path)


async def test_a_table_without_its_columns_is_refused_plainly(harness: RuntimeHarness, tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE category (id); CREATE TABLE feed (id); CREATE TABLE entry (id);")
    with pytest.raises(Invalid, match="cannot be read"):
        await import_file(harness.runtime, await harness.person(), path)


def test_labels_without_end_are_read_in_no_time(tmp_path: Path) -> None:
    path = freshrss(tmp_path / "db.sqlite", "https://x.org/feed", "https://x.org/1")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO entrytag VALUES (?, 12)", [(1,)] * 200_000)
        connection.commit()
    started = process_time()
    (kept,) = read_library(path).kept
    assert kept.tags == ("wings",)
    assert process_time() - started < 5


@pytest.fixture
async def miniflux(site: FeedSite) -> AsyncIterator[str]:
    """As much of a Miniflux as is asked."""
    feed = {"id": 5, "title": "Herons", "feed_url": site.feed_url(), "category": {"id": 2, "title": "Ponds"}}
    article = f"{site.url}/main/main-1"
    read = {"id": 1, "feed_id": 5, "title": "One", "url": article, "status": "read"}
    starred = {
        "id": 2,
        "feed_id": 5,
        "title": "Kept",
        "url": "https://x.org/kept",
        "content": "<p>x</p>",
        "published_at": "2026-01-02T03:04:05Z",
    }

    async def feeds(request: web.Request) -> web.Response:
        if request.headers.get("X-Auth-Token") != "sesame":
            return web.json_response({"error_message": "Access Unauthorized"}, status=401)
        return web.json_response([feed])

    async def entries(request: web.Request) -> web.Response:
        found = [starred] if request.query.get("starred") else [read]
        return web.json_response({"total": 1, "entries": found})

    app = web.Application()
    app.router.add_get("/v1/feeds", feeds)
    app.router.add_get("/v1/entries", entries)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield f"http://127.0.0.1:{port}"
    await runner.cleanup()


async def test_miniflux_brings_everything(site: FeedSite, harness: RuntimeHarness, miniflux: str) -> None:
    site.publish("One")
    site.publish("Two")
    reader = await harness.person()

    report = await import_miniflux(harness.runtime, reader, miniflux, "sesame")
    await harness.check()

    assert (report.imported, report.starred) == (1, 1)
    assert await harness.column("SELECT name FROM folders") == ["Ponds"]
    assert await titles(harness, reader, "unread") == ["Two"]
    assert await titles(harness, reader, "starred") == ["Kept"]


async def test_the_key_of_a_miniflux_is_gone_once_it_was_used(
    site: FeedSite, harness: RuntimeHarness, miniflux: str
) -> None:
    site.publish("One")
    reader = await harness.person()
    started = await start_miniflux(harness.runtime, reader, miniflux, "sesame")
    assert (started.status, started.name, started.total) == ("pending", "Miniflux", 0)

    job = await claim(harness.runtime, [JOB_KIND])
    assert job is not None
    await run(harness.runtime, job, run_import)

    done = await get_import(harness.runtime, reader, started.id)
    assert (done.status, done.report.imported, done.report.starred, done.total) == ("done", 1, 1, 3)
    kept = await harness.rows("SELECT payload, report, data FROM jobs JOIN job_pieces ON job_id = id")
    assert len(kept) == 3
    assert "sesame" not in str([tuple(row) for row in kept])


async def test_the_report_that_is_kept_holds_no_password(harness: RuntimeHarness, tmp_path: Path) -> None:
    reader = await harness.person()
    line = '<outline text="Mine" xmlUrl="http://ann:pearl@127.0.0.1:9/feed.xml"/>'
    (tmp_path / "mine.opml").write_text(f"<opml><body>{line}{line}</body></opml>")
    started = await start_file(harness.runtime, reader, "mine.opml", tmp_path / "mine.opml")
    job = await claim(harness.runtime, [JOB_KIND])
    assert job is not None
    await run(harness.runtime, job, run_import)

    assert (await get_import(harness.runtime, reader, started.id)).report.imported == 1
    kept = await harness.rows("SELECT payload, report FROM jobs")
    assert "127.0.0.1:9/feed.xml" in str([tuple(row) for row in kept])
    assert "pearl" not in str([tuple(row) for row in kept])


async def test_miniflux_that_refuses_or_is_not_there_is_told(
    harness: RuntimeHarness, miniflux: str, site: FeedSite
) -> None:
    reader = await harness.person()
    with pytest.raises(Invalid, match="does not know this token"):
        await import_miniflux(harness.runtime, reader, miniflux, "wrong")
    with pytest.raises(Invalid, match="could not be reached"):
        await import_miniflux(harness.runtime, reader, f"http://127.0.0.1:{free_port()}", "sesame")
    with pytest.raises(Invalid):
        await import_miniflux(harness.runtime, reader, "http://10.0.0.1", "sesame")
    with pytest.raises(Invalid):
        await import_miniflux(harness.runtime, reader, "file:///etc/passwd", "sesame")


# ---- archives ----------------------------------------------------------------------------------------


def zipped(path: Path, files: dict[str, bytes | str]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def opml(*outlines: str) -> str:
    return f'<opml version="2.0"><head/><body>{"".join(outlines)}</body></opml>'


def freshrss_item(site: FeedSite, guid: str, title: str, *categories: str, url: str | None = None) -> dict[str, Any]:
    return {
        "id": f"tag:google.com,2005:reader/item/{guid}",
        "guid": guid,
        "title": title,
        "published": 1_600_000_000,
        "alternate": [{"href": url or f"{site.url}/main/{guid}"}],
        "content": {"content": "<p>text</p>"},
        "origin": {"streamId": "feed/1", "title": "Herons", "feedUrl": site.feed_url()},
        "categories": ["user/-/state/com.google/reading-list", *(f"user/-/{one}" for one in categories)],
    }


async def test_a_zip_of_freshrss_brings_feeds_folders_stars_and_reads(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    site.publish("One", key="main-1")
    site.publish("Two", key="main-2")
    starred = [freshrss_item(site, "old", "Long gone", "state/com.google/starred", "label/wings")]
    articles = [
        freshrss_item(site, "main-1", "One", "state/com.google/read"),
        freshrss_item(site, "main-2", "Two", "state/com.google/unread"),
        freshrss_item(site, "old", "Long gone", "state/com.google/starred", "state/com.google/read"),
    ]
    feed = f'<outline text="Herons" type="rss" xmlUrl="{site.feed_url()}"/>'
    path = zipped(
        tmp_path / "export.zip",
        {
            "feeds_2026-01-01.opml.xml": opml(f'<outline text="Ponds">{feed}</outline>'),
            "starred_2026-01-01.json": json.dumps({"id": "user/a/state/org.freshrss/starred", "items": starred}),
            "feed_2026-01-01_2_1.json": json.dumps({"id": "user/a/state/org.freshrss/feed/1", "items": articles}),
        },
    )
    reader = await harness.person()

    report = await import_file(harness.runtime, reader, path)
    await harness.check()

    assert (report.imported, report.starred, report.errors) == (1, 1, ())
    assert await harness.column("SELECT name FROM folders") == ["Ponds"]
    assert await titles(harness, reader, "unread") == ["Two"]
    assert await titles(harness, reader, "starred") == ["Long gone"]
    assert await titles(harness, reader, "all", tag="wings") == ["Long gone"]


async def test_a_zip_of_takeout_is_read_and_other_files_in_it_are_named(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    star = {
        "title": "Kept",
        "alternate": [{"href": "https://x.org/kept"}],
        "categories": ["user/1/state/com.google/starred"],
    }
    like = {
        "title": "Liked",
        "alternate": [{"href": "https://x.org/liked"}],
        "categories": ["user/1/state/com.google/like"],
    }
    path = zipped(
        tmp_path / "takeout.zip",
        {
            "Takeout/archive_browser.html": "<html><body>Takeout</body></html>",
            "Takeout/Reader/subscriptions.xml": opml(f'<outline text="Herons" type="rss" xmlUrl="{site.feed_url()}"/>'),
            "Takeout/Reader/starred.json": json.dumps({"items": [star]}),
            "Takeout/Reader/liked.json": json.dumps({"items": [like]}),
            "Takeout/Reader/picture.png": b"\x89PNG",
            "Takeout/Reader/inner.zip": b"PK\x03\x04 not opened",
        },
    )
    reader = await harness.person()

    report = await import_file(harness.runtime, reader, path)

    assert (report.imported, report.starred, report.errors) == (1, 1, ())
    assert await titles(harness, reader, "starred") == ["Kept"]
    assert [(line.title, line.status) for line in report.lines] == [("liked.json", "skipped"), ("Herons", "added")]


def raw_archive(count: int, name: str = "a.json", *, flag: int = 0) -> bytes:
    """An archive whose directory names one empty file so many times."""
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, flag, 0, 0, 0, 0, 0, 0, len(name), 0) + name.encode()
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, flag, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0)
    directory = (entry + name.encode()) * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), len(local), 0)
    return local + directory + end


def bomb(member: bytes = b"[" + b" " * 20_000_000, count: int = 15) -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for number in range(count):
            archive.writestr(f"{number}.json", member)
    return file.getvalue()


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


HOSTILE = [
    ("empty", lambda: raw_archive(0)[-22:], "holds no file"),
    ("bomb", bomb, "holds too much"),
    ("a million files", lambda: raw_archive(1_000_000), "holds too much"),
    ("more files than it says", lambda: raw_archive(65_536 + 3), "holds too much"),
    ("encrypted", lambda: raw_archive(1, flag=1), "needs a password"),
    ("64 bit", lambda: raw_archive(1)[:-22] + b"PK\x06\x07" + b"\0" * 16 + raw_archive(1)[-22:], "too much"),
    ("cut off", lambda: cut(bomb(b"[]" * 1_000, 3)), "damaged"),
    ("only an archive inside", lambda: bomb(bomb(b"[]", 1), 1), "holds no file"),
    ("path", lambda: raw_archive(1, "../../../etc/cron.d/x.json"), "holds no file"),
    ("wrong place", lambda: b"PK\x03\x04" + b"?" * 32 + raw_archive(1)[36:], "damaged"),
]


@pytest.mark.parametrize(("content", "reason"), [pytest.param(*one, id=name) for name, *one in HOSTILE])
def test_a_hostile_zip_is_refused_in_one_sentence(tmp_path: Path, content: Callable[[], bytes], reason: str) -> None:
    path = tmp_path / "hostile.zip"
    path.write_bytes(content())
    started = process_time()
    with pytest.raises(Invalid, match=reason):
        read_library(path)
    assert process_time() - started < 10


def test_a_zip_writes_nothing_under_the_names_in_it(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    item = json.dumps({"items": [{"title": "Kept"}]})
    path = zipped(inner / "x.zip", {"../outside.json": item, "/tmp/reedbed-absolute.json": item})
    assert [entry.title for entry in read_library(path).kept] == ["Kept"]
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["inner", "x.zip"]
    assert not Path("/tmp/reedbed-absolute.json").exists()


# ---- folders and copies ------------------------------------------------------------------------------


async def test_a_category_of_freshrss_is_a_folder_and_no_tag(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    site.publish("One", key="main-1")
    reader = await harness.person()
    await harness.follow(site.feed_url(), user_id=reader)
    await harness.check()
    item = freshrss_item(site, "main-1", "One", "label/Ponds", "state/com.google/starred", "label/wings")
    path = tmp_path / "starred.json"
    path.write_text(json.dumps({"items": [item]}))

    await import_file(harness.runtime, reader, path)

    assert await harness.column("SELECT name FROM tags") == ["wings"]
    assert await harness.column("SELECT name FROM folders JOIN subscriptions ON folder_id = folders.id") == ["Ponds"]


async def test_a_label_named_like_the_folder_of_its_feed_is_no_tag(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    reader = await harness.person()
    feed = f'<outline text="Herons" xmlUrl="{site.feed_url()}"/>'
    item = freshrss_item(site, "x", "One", "state/com.google/starred", "label/Inner", "label/wings")
    path = zipped(
        tmp_path / "export.zip",
        {
            "feeds.opml": opml(f'<outline text="Outer"><outline text="Inner">{feed}</outline></outline>'),
            "starred.json": json.dumps({"items": [item]}),
        },
    )
    await import_file(harness.runtime, reader, path)
    assert await harness.column("SELECT name FROM tags") == ["wings"]


async def test_stars_brought_before_and_after_the_feeds_are_there_once(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    site.publish("One", key="main-1")
    reader = await harness.person()
    item = freshrss_item(site, "main-1", "One", "state/com.google/starred", "label/wings")
    stars, feeds = tmp_path / "starred.json", tmp_path / "feeds.opml"
    stars.write_text(json.dumps({"items": [item]}))
    feeds.write_text(opml(f'<outline text="Herons" xmlUrl="{site.feed_url()}"/>'))

    await import_file(harness.runtime, reader, stars)
    await import_file(harness.runtime, reader, feeds)
    await harness.check()
    await import_file(harness.runtime, reader, stars)

    assert await titles(harness, reader, "starred") == ["One"]
    assert await titles(harness, reader, "all", tag="wings") == ["One"]
    starred_in = "SELECT feeds.url FROM feeds JOIN entries ON feed_id = feeds.id JOIN starred ON entry_id = entries.id"
    assert await harness.column(starred_in) == [site.feed_url()]


async def test_one_article_from_two_programs_is_starred_once(
    site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    reader = await harness.person()
    item = freshrss_item(site, "old", "Long gone", "state/com.google/starred", url="https://x.org/a&b")
    stars = tmp_path / "starred.json"
    stars.write_text(json.dumps({"items": [item]}))

    await import_file(harness.runtime, reader, stars)
    await import_file(harness.runtime, reader, freshrss(tmp_path / "db.sqlite", site.feed_url(), "https://x.org/1"))

    assert await titles(harness, reader, "starred") == ["Long gone"]

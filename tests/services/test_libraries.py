"""Moving in: folders, feeds, read and starred marks come along, and hostile files get nowhere."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from aiohttp import web

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.services.jobs import claim, run
from reedbed.services.libraries import import_file, import_miniflux, read_library
from reedbed.services.library_jobs import JOB_KIND, get_import, run_import, start_miniflux
from reedbed.store import entry_lists
from tests.crawling import Crawl
from tests.feedsite import FeedSite
from tests.servers import free_port


async def titles(crawl: Crawl, user_id: int, view: Any, **more: Any) -> list[str]:
    async with crawl.runtime.db.read() as tx:
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


async def test_freshrss_brings_folders_reads_and_stars(site: FeedSite, crawl: Crawl, tmp_path: Path) -> None:
    site.publish("One")
    site.publish("Two")
    reader = await crawl.person()
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")

    report = await import_file(crawl.runtime, reader, path)
    await crawl.check()

    assert (report.source, report.imported, report.read, report.starred) == ("FreshRSS", 1, 2, 1)
    assert await crawl.column("SELECT name FROM folders") == ["Birds & bees"]
    assert await titles(crawl, reader, "unread") == ["Two"], "what was read there arrives as read"
    assert await titles(crawl, reader, "starred") == ["Long gone"]
    assert await titles(crawl, reader, "all", tag="wings") == ["Long gone"]
    (content,) = await crawl.column(
        "SELECT content FROM entry_bodies JOIN entries ON id = entry_id WHERE title = 'Long gone'"
    )
    assert content == "<p>kept</p>"


async def test_what_one_brings_nobody_else_sees(site: FeedSite, crawl: Crawl, tmp_path: Path) -> None:
    site.publish("One")
    other = await crawl.person()
    feed = await crawl.follow(site.feed_url(), user_id=other)
    await crawl.check()
    reader = await crawl.person()
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")

    await import_file(crawl.runtime, reader, path)

    assert await crawl.titles(feed) == ["One"]
    assert await titles(crawl, other, "unread") == ["One"]
    assert await titles(crawl, reader, "unread") == []


async def test_importing_twice_brings_nothing_twice(site: FeedSite, crawl: Crawl, tmp_path: Path) -> None:
    reader = await crawl.person()
    path = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1")
    await import_file(crawl.runtime, reader, path)
    again = await import_file(crawl.runtime, reader, path)
    assert (again.imported, again.skipped, again.starred) == (0, 1, 0)
    assert await titles(crawl, reader, "starred") == ["Long gone"]


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


async def test_reedme_brings_groups_reads_and_bookmarks(site: FeedSite, crawl: Crawl, tmp_path: Path) -> None:
    site.publish("One", key="main-1")
    reader = await crawl.person()

    report = await import_file(crawl.runtime, reader, reedme(tmp_path / "fusion.db", site.feed_url()))
    await crawl.check()

    assert (report.source, report.imported, report.bookmarked) == ("ReedMe", 1, 1)
    assert await crawl.column("SELECT name FROM folders") == ["Ponds"]
    assert await crawl.column("SELECT title FROM bookmarks") == ["Kept"]
    assert await titles(crawl, reader, "unread") == []


async def test_starred_json_brings_stars_and_follows_nothing(crawl: Crawl, tmp_path: Path) -> None:
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
    reader = await crawl.person()

    report = await import_file(crawl.runtime, reader, path)

    assert (report.starred, report.imported) == (2, 0)
    assert sorted(await titles(crawl, reader, "starred")) == ["Feedly", "Takeout"]
    assert await titles(crawl, reader, "all", tag="Reeds") == ["Takeout"]
    assert await crawl.column("SELECT DISTINCT published_at FROM entries") == [1_300_000_000_000]
    assert await titles(crawl, reader, "unread") == []


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
async def test_what_is_no_library_is_refused(crawl: Crawl, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Invalid):
        await import_file(crawl.runtime, await crawl.person(), path)


async def test_a_view_in_the_place_of_a_table_is_not_asked(crawl: Crawl, tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE category (id, name); CREATE TABLE feed (id, url, category, name);"
            "CREATE VIEW entry AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
            " SELECT x AS id FROM n;"
        )
    with pytest.raises(Invalid, match="of no reader"):
        await import_file(crawl.runtime, await crawl.person(), path)


async def test_a_table_without_its_columns_is_refused_plainly(crawl: Crawl, tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE category (id); CREATE TABLE feed (id); CREATE TABLE entry (id);"
        )
    with pytest.raises(Invalid, match="cannot be read"):
        await import_file(crawl.runtime, await crawl.person(), path)


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


async def test_miniflux_brings_everything(site: FeedSite, crawl: Crawl, miniflux: str) -> None:
    site.publish("One")
    site.publish("Two")
    reader = await crawl.person()

    report = await import_miniflux(crawl.runtime, reader, miniflux, "sesame")
    await crawl.check()

    assert (report.imported, report.starred) == (1, 1)
    assert await crawl.column("SELECT name FROM folders") == ["Ponds"]
    assert await titles(crawl, reader, "unread") == ["Two"]
    assert await titles(crawl, reader, "starred") == ["Kept"]


async def test_the_key_of_a_miniflux_is_gone_once_it_was_used(
    site: FeedSite, crawl: Crawl, miniflux: str
) -> None:
    site.publish("One")
    reader = await crawl.person()
    begun = await start_miniflux(crawl.runtime, reader, miniflux, "sesame")
    assert (begun.status, begun.name, begun.total) == ("pending", "Miniflux", 0)

    job = await claim(crawl.runtime, [JOB_KIND])
    assert job is not None
    await run(crawl.runtime, job, run_import)

    done = await get_import(crawl.runtime, reader, begun.id)
    assert (done.status, done.report.imported, done.report.starred, done.total) == ("done", 1, 1, 3)
    kept = await crawl.rows("SELECT payload, report, data FROM jobs JOIN job_pieces ON job_id = id")
    assert len(kept) == 3
    assert "sesame" not in str([tuple(row) for row in kept])


async def test_miniflux_that_refuses_or_is_not_there_is_told(
    crawl: Crawl, miniflux: str, site: FeedSite
) -> None:
    reader = await crawl.person()
    with pytest.raises(Invalid, match="does not know this token"):
        await import_miniflux(crawl.runtime, reader, miniflux, "wrong")
    with pytest.raises(Invalid, match="could not be asked"):
        await import_miniflux(crawl.runtime, reader, f"http://127.0.0.1:{free_port()}", "sesame")
    with pytest.raises(Invalid):
        await import_miniflux(crawl.runtime, reader, "http://10.0.0.1", "sesame")
    with pytest.raises(Invalid):
        await import_miniflux(crawl.runtime, reader, "file:///etc/passwd", "sesame")

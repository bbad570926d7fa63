"""The page over 300,000 entries: what a visit weighs, what it costs the server, how quick a key is.

One reader of 1,000 feeds. CPU is that of the server's process over many requests. Chromium loads 10,000
rows by scrolling and scrolls over them again. Then keys are pressed: until the next frame is painted, and
until the article stands there; the clock of a busy machine tells little, so the CPU of the page's thread is
told as well. For scale, the same by the clock with the browser's CPU slowed down four times.
"""

import asyncio
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import CDPSession, Page, sync_playwright
from sqlalchemy import text

from bench.process_cpu import cost_of
from bench.table import record
from reedbed.domain.times import DAY
from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.build import running, system_clock
from reedbed.services.auth import open_session
from reedbed.settings import Settings
from reedbed.store import users
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Command
from reedbed.store.migrations import migrate
from tests import large_library, servers
from tests.processes import reedbed

DESCRIPTION = "the first page over 300,000 entries: bytes, server CPU, and keys in Chromium with 10,000 rows"

SIZE = large_library.LibrarySize(users=1, feeds=1_000, entries=300_000, followed=1_000)
HTML_KB, ASSETS_KB = 40, 60
PAGE_MS, ENTRY_MS, KEY_MS = 15.0, 8.0, 50.0
ROWS = 10_000
KEYS = 40
SLOWED = 4
MANY: dict[str, Any] = {"api_rate_burst": "1000000", "api_rate_per_second": "100000"}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="reedbed-page-") as directory:
        url = f"sqlite:///{Path(directory) / 'bench.db'}"
        token = asyncio.run(_prepare(url))
        with reedbed("web", port=servers.free_port(), cwd=Path(directory), database_url=url, **MANY) as server:
            with httpx.Client(base_url=server.url, cookies={SESSION_COOKIE: token}, timeout=60) as client:
                _weigh(client)
                _cost(client, server.process.pid)
            with _browser(server.url, token) as page:
                _press(page, server.url)


async def _prepare(url: str) -> str:
    """The library, and a session of its reader."""
    await migrate(url)
    db = await open_database(url, pool_size=1)
    await large_library.fill(db, SIZE)
    await _name_feeds(db)
    await large_library.make_unread(db, 1)
    await db.close()
    settings = Settings.model_validate({"database_url": url})
    async with running(settings, may_migrate=False) as runtime:
        async with runtime.db.read() as tx:
            user = await users.get(tx, 1)
        assert user is not None
        return (await open_session(runtime, user, user_agent="bench", ip=None)).token


async def _name_feeds(db: Database) -> None:
    """Titles as people know them, entries of these days with a text, and nothing due."""
    now = system_clock()
    words = "<p>" + "A paragraph of an ordinary article, with a few words more than one line holds. " * 4 + "</p>"
    for sql in (
        "UPDATE feeds SET title = 'The feed number ' || id",
        f"UPDATE entries SET sort_at = sort_at + {now} - {SIZE.entries * 1_000},"
        f" published_at = published_at + {now} - {SIZE.entries * 1_000}",
        f"INSERT INTO entry_bodies (entry_id, content) SELECT id, '{words * 8}' FROM entries"
        f" WHERE id > {SIZE.entries - 20_000}",
        "INSERT INTO feed_fetch_state (feed_id, next_check_at, last_checked_at)"
        f" SELECT id, {now + DAY}, {now} FROM feeds WHERE true ON CONFLICT DO NOTHING",
    ):
        async with db.write() as tx:
            await tx.run(Command(text(sql.replace(":", "\\:"))))


def _weigh(client: httpx.Client) -> None:
    answer = client.get("/unread")
    answer.raise_for_status()
    record("HTML of the first page, as sent", _sent(answer), "KB", compared_to="promised", other=HTML_KB)
    names = sorted({name for name in _links(answer.text) if name.endswith((".js", ".css"))})
    assert {".js", ".css"} <= {name[name.rindex(".") :] for name in names}, names
    weight = sum(_sent(client.get(name)) for name in names)
    record("scripts and styles, as sent", weight, "KB", compared_to="promised", other=ASSETS_KB)


def _links(html: str) -> Iterator[str]:
    for piece in html.split('"'):
        if piece.startswith("/assets/"):
            yield piece.partition("#")[0]


def _sent(answer: httpx.Response) -> float:
    return int(answer.headers["content-length"]) / 1_000


def _cost(client: httpx.Client, pid: int) -> None:
    ids = [name.removeprefix("/unread/entry/") for name in _entries(client.get("/unread").text)]
    turn = iter(range(10**9))
    part = {"HX-Request": "true", "HX-Target": "article"}
    for name, ask, promise in (
        ("the first page", lambda: client.get("/unread"), PAGE_MS),
        ("the next rows", lambda: client.get("/all", headers={**part, "HX-Target": "rows"}), PAGE_MS),
        ("opening an entry", lambda: client.get(f"/unread/entry/{ids[next(turn) % 40]}", headers=part), ENTRY_MS),
    ):
        spent = cost_of(pid, ask).cpu
        record(f"{name}, server CPU", spent * 1_000, "ms", compared_to="promised", other=promise)


def _entries(html: str) -> Iterator[str]:
    return (piece for piece in html.split('"') if piece.startswith("/unread/entry/"))


@contextmanager
def _browser(url: str, token: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=servers.chromium(), args=servers.chromium_options())
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": SESSION_COOKIE, "value": token, "url": url}])
        yield context.new_page()
        browser.close()


def _press(page: Page, url: str) -> None:
    page.set_default_timeout(600_000)
    page.goto(f"{url}/all")
    page.evaluate(LOAD, ROWS)
    page.evaluate(WATCH)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    _scroll(page, session)
    _walk(page, session, "")
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    _walk(page, session, f", CPU slowed {SLOWED} times")


def _walk(page: Page, session: CDPSession, how: str) -> None:
    page.evaluate("() => { painted.length = 0; shown.length = 0; }")
    before = _main_thread(session)
    for key in "j" * KEYS + "k" * (KEYS // 2):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        while not page.evaluate("window.opened && window.opened === window.wanted"):
            page.wait_for_timeout(50)
    spent = (_main_thread(session) - before) / (KEYS + KEYS // 2)
    if not how:  # Slowing down is waiting, and the waiting counts as work.
        record("j and k, CPU of the page", spent * 1_000, "ms", compared_to="promised", other=KEY_MS)
    painted, opened = page.evaluate("[window.painted, window.shown]")
    for name, times in (("until the row is painted", painted), ("until the article stands there", opened)):
        for share, value in (("median", statistics.median(times)), ("95 of 100", _slow(times))):
            record(f"j and k, {name} ({share}){how}", value, "ms", compared_to="promised", other=KEY_MS)


def _slow(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _scroll(page: Page, session: CDPSession) -> None:
    """From the top to the end and back, a window at a time."""
    before = _main_thread(session)
    frames = page.evaluate(SCROLL)
    spent = (_main_thread(session) - before) / len(frames)
    record("scrolling by a window, CPU of the page", spent * 1_000, "ms", compared_to="a key", other=KEY_MS)
    left = page.evaluate("document.querySelectorAll('#rows .row').length")
    record(f"rows in the page, of {ROWS:,}", left, "", compared_to="loaded", other=ROWS)


def _main_thread(session: CDPSession) -> float:
    """Seconds of CPU: on a busy machine the clock tells more about the others."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


LOAD = """async (rows) => {
  const body = document.getElementById("list-body");
  while (document.querySelectorAll("#rows .day-rows").length * 40 < rows) {
    body.scrollTo(0, body.scrollHeight);
    await new Promise((done) => setTimeout(done, 20));
  }
  body.scrollTo(0, 0);
}"""

SCROLL = """async () => {
  const body = document.getElementById("list-body");
  const frames = [];
  for (const way of [1, -1])
    for (let turn = 0; turn < 200; turn++) {
      body.scrollBy(0, way * body.clientHeight);
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      frames.push(body.scrollTop);
    }
  body.scrollTo(0, 0);
  return frames;
}"""

# A key is pressed, the row is marked and the frame painted; the article follows, fetched ahead.
WATCH = """() => {
  window.painted = [];
  window.shown = [];
  let pressed = 0;
  document.addEventListener("keydown", (event) => {
    pressed = performance.now();
    requestAnimationFrame(() => setTimeout(() => window.painted.push(performance.now() - pressed)));
    setTimeout(() => (window.wanted = document.querySelector(".row[data-current]")?.id.slice(1)));
  }, true);
  document.addEventListener("reedbed:article", (event) => {
    window.opened = event.detail.dataset.entry;
    requestAnimationFrame(() => setTimeout(() => window.shown.push(performance.now() - pressed)));
  });
}"""

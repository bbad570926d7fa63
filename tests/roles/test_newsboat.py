"""The real newsboat against a real server: it lists, reads, marks and stars, and the page shows it."""

from pathlib import Path

import httpx
import pytest

from tests.feedsite import FeedSite
from tests.processes import OWNER, reedbed, signed_in, wait_for
from tests.roles.newsboat import Newsboat


@pytest.fixture(params=["freshrss", "feedhq"])
def reader(newsboat_program: str, tmp_path: Path, request: pytest.FixtureRequest) -> Newsboat:
    return Newsboat(newsboat_program, tmp_path, request.param)


def test_newsboat_lists_reads_marks_and_stars(
    reader: Newsboat, threaded_site: FeedSite, free_port: int, tmp_path: Path
) -> None:
    for title in ("Alpha", "Beta", "Gamma"):
        threaded_site.publish(title, content=f"<p>All about {title}.</p>")
    with (
        reedbed(
            "serve", port=free_port, cwd=tmp_path, data_dir=str(tmp_path / "data"), api_rate_burst="10000"
        ) as server,
        signed_in(server.url) as page,
    ):
        page.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("three entries", lambda: len(_entries(page)) == 3)
        made = page.post("/api/v1/users/me/tokens", json={"name": "newsboat", "kind": "app_password"})
        reader.configure(f"{server.url}/api/greader.php", OWNER["REEDBED_OWNER_EMAIL"], made.json()["secret"])
        assert "3 unread" in reader.execute("reload", "print-unread")
        with reader.on_a_terminal() as screen:
            screen.wait_for("Feed main")
            screen.press("\r")
            screen.wait_for("Gamma")
            screen.press("\r")
            screen.wait_for("All about Gamma.")
            screen.press("q")
            wait_for("Gamma is read", lambda: _entries(page)["Gamma"]["read"])
            screen.press("N")
            wait_for("Gamma is unread again", lambda: not _entries(page)["Gamma"]["read"])
            screen.press("\x05")
            screen.wait_for("Flags")
            screen.press("s\r")
            wait_for("an entry is starred", lambda: any(one["starred"] for one in _entries(page).values()))
            screen.press("A")
            wait_for("all are read", lambda: all(one["read"] for one in _entries(page).values()))
        threaded_site.publish("Delta")
        threaded_site.publish("Epsilon")
        page.post("/api/v1/subscriptions/refresh").raise_for_status()
        wait_for("two more entries", lambda: len(_entries(page)) == 5)
        delta = _entries(page)["Delta"]["id"]
        page.patch(f"/api/v1/entries/{delta}", json={"read": True}).raise_for_status()
        assert "1 unread" in reader.execute("reload", "print-unread")


def _entries(page: httpx.Client) -> dict[str, dict]:
    return {item["title"]: item for item in page.get("/api/v1/entries?view=all").json()["items"]}

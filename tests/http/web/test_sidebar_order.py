"""The sidebar in the order of names, or of what is unread."""

import re

from httpx import Response

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def test_what_has_the_most_unread_entries_comes_first_if_wanted(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    folders = [(await reader.post("/api/v1/folders", json={"name": name})).json()["id"] for name in ("Few", "Many")]
    for name, entries, folder in (("a", 1, None), ("b", 3, None), ("c", 1, folders[0]), ("d", 2, folders[1])):
        site.feed(name, title=name.upper())
        for number in range(entries):
            site.publish(f"{name} {number}", feed=name)
        await reader.post("/api/v1/subscriptions", json={"url": site.feed_url(name), "folder_id": folder})
    await harness.check()
    assert names(await reader.get("/unread")) == ["Few", "C", "Many", "D", "A", "B"]
    reader.cookies.set("reedbed_look", "by_unread=1")
    assert names(await reader.get("/unread")) == ["Many", "D", "Few", "C", "B", "A"]


def names(page: Response) -> list[str]:
    tree = page.text.partition("feeds-heading")[2].partition('data-at="end"')[0]
    return re.findall(r"<bdi(?: class=name)?>([^<]+)</bdi>", tree)

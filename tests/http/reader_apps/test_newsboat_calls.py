"""newsboat's own calls, word for word; the real program is in `tests/roles`."""

from urllib.parse import quote

import feedparser
import pytest
from lxml import etree

from tests.http.reader_apps.account import API, KEPT_UNREAD, LONG, READ, STARRED, AppAccount

ATOM = {"a": "http://www.w3.org/2005/Atom", "gr": "http://www.google.com/schemas/reader/atom/"}


async def test_newsboat_reads_each_feed_and_marks_with_unescaped_bodies(account: AppAccount) -> None:
    app = await account.open_app()
    token = (await app.get("token")).text
    name = quote(f"feed/{account.feeds['news']}", safe="")
    answer = await app.client.get(f"{API}/stream/contents/{name}?n=20", headers=app.headers)
    items = answer.json()["items"]
    assert len(items) == 3
    assert all(READ not in item["categories"] for item in items)
    item = items[0]["id"]
    form = {**app.headers, "Content-Type": "application/x-www-form-urlencoded"}
    read = f"i={item}&a={READ}&r={KEPT_UNREAD}&ac=edit&T={token}\n"
    answer = await app.client.post(f"{API}/edit-tag", content=read, headers=form)
    assert answer.content == b"OK"
    assert item.startswith(LONG)
    answer = await app.client.get(f"{API}/stream/contents/{name}?n=20", headers=app.headers)
    assert READ in answer.json()["items"][0]["categories"]
    tracking = "user/-/state/com.google/tracking-kept-unread"
    unread = f"i={item}&r={READ}&a={KEPT_UNREAD}&a={tracking}&ac=edit&T={token}"
    assert (await app.client.post(f"{API}/edit-tag", content=unread, headers=form)).content == b"OK"
    assert len(await account.unread_titles()) == 5
    everything = f"s=feed/{account.feeds['news']}&T={token}"
    answer = await app.client.post(f"{API}/mark-all-as-read", content=everything, headers=form)
    assert answer.content == b"OK"
    assert await account.unread_titles() == {"Four", "Five"}


@pytest.mark.parametrize("base", ["", "/greader", "/api/greader.php"])
async def test_newsboat_reads_each_feed_as_atom_in_its_feedhq_mode(account: AppAccount, base: str) -> None:
    app = await account.open_app()
    rich = await account.publish("A & B", author="Somebody", content="<p>Text &amp; more \x0b</p>")
    await app.post("edit-tag", i=rich, a=READ)
    await app.post("edit-tag", i=await account.id_of("Three"), a="user/-/label/read")
    name = quote(f"feed/{account.feeds['news']}", safe="")
    answer = await app.client.get(f"{base}/reader/atom/{name}?n=2", headers=app.headers)
    assert answer.headers["content-type"] == "application/atom+xml"
    root = etree.fromstring(answer.content)
    assert root.findtext("a:title", namespaces=ATOM) == "Feed news"
    assert root.findtext("gr:continuation", namespaces=ATOM)
    first, second = root.findall("a:entry", ATOM)
    assert first.findtext("a:id", namespaces=ATOM) == f"{LONG}{rich:016x}"
    assert first.findtext("a:title", namespaces=ATOM) == "A & B"
    assert first.findtext("a:author/a:name", namespaces=ATOM) == "Somebody"
    assert first.findtext("a:content", namespaces=ATOM) == "<p>Text &amp; more </p>"
    assert [link.get("href") for link in first.findall("a:link", ATOM)] == [f"{account.site.url}/news/news-4"]
    assert _labels(first) == {"reading-list", "read"}
    assert _labels(second) == {"reading-list", "fresh"}
    entry, other = feedparser.parse(answer.content).entries
    assert (entry.title, entry.author) == ("A & B", "Somebody")
    assert {tag.label for tag in other.tags} == {"reading-list", "News", "read", "fresh"}


async def test_atom_streams_follow_the_rules_of_all_streams(account: AppAccount) -> None:
    app = await account.open_app()
    starred = await account.id_of("Four")
    await app.post("edit-tag", i=starred, a=STARRED)
    for stream, count in ((f"/{STARRED}", 1), ("", 5), (f"/user/-/label/News?xt={READ}", 3)):
        answer = await app.client.get(f"/reader/atom{stream}", headers=app.headers)
        assert len(etree.fromstring(answer.content).findall("a:entry", ATOM)) == count
    assert (await app.client.get("/reader/atom/feed/999999", headers=app.headers)).status_code == 400
    assert (await app.client.get(f"/reader/atom/{STARRED}")).status_code == 401
    assert (await app.client.get("/reader/atomic", headers=app.headers)).status_code == 404


def _labels(entry: etree._Element) -> set[str]:
    marks = entry.findall("a:category[@scheme='http://www.google.com/reader/']", ATOM)
    return {mark.get("label", "") for mark in marks}

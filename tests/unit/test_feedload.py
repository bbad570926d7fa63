"""The load the benchmarks rest on must be the same load every time."""

import aiohttp
import feedparser

from tests.feedload import FeedLoad


async def test_feeds_answer_and_change_only_when_advanced() -> None:
    async with FeedLoad(6, 3) as load, aiohttp.ClientSession() as client:
        before = {url: await _fetch(client, url) for url in load.feed_urls()}
        assert [len(feedparser.parse(before[url][1]).entries) for url in load.feed_urls()[:2]] == [3, 3]
        assert {(await _fetch(client, url, before[url][2]))[0] for url in before} == {304}
        changed = load.advance(0.5)
        answers = [(await _fetch(client, url, before[url][2]))[0] for url in before]
        assert 0 < answers.count(200) == changed < 6


async def test_the_same_numbers_give_the_same_entries() -> None:
    async with FeedLoad(3, 2) as one, FeedLoad(3, 2) as two, aiohttp.ClientSession() as client:
        for first, second in zip(one.feed_urls(), two.feed_urls(), strict=True):
            body = (await _fetch(client, first))[1].replace(one.url.encode(), two.url.encode())
            assert body == (await _fetch(client, second))[1]


async def _fetch(client: aiohttp.ClientSession, url: str, etag: str = "") -> tuple[int, bytes, str]:
    async with client.get(url, headers={"If-None-Match": etag} if etag else {}) as answer:
        return answer.status, await answer.read(), answer.headers["ETag"]

"""Search and saved searches through the API."""

from dataclasses import replace

import pytest

from reedbed.domain.users import Allowance
from reedbed.store.engine.database import counting
from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness
from tests.store.library import Library
from tests.store.searching import SearchedFeed


@pytest.fixture
async def ann(signed_in: SignIn) -> Client:
    return await signed_in("ann@example.org")


@pytest.fixture
async def searched(harness: RuntimeHarness, ann: Client) -> SearchedFeed:
    library = Library(harness.runtime.db)
    feed = await library.feed()
    await library.follow(ann.user_id, feed)
    return SearchedFeed(library, ann.user_id, feed)


async def found(client: Client, **params: str) -> list[str]:
    answer = await client.get("/api/v1/entries", params=params)
    assert answer.status_code == 200, answer.text
    return [item["title"] for item in answer.json()["items"]]


async def save(client: Client, name: str, query: str) -> str:
    answer = await client.post("/api/v1/searches", json={"name": name, "query": query})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def test_lists_can_be_searched_and_say_what_matches(ann: Client, searched: SearchedFeed) -> None:
    await searched.put("A grey heron", "words before, and then the Héron stands still")
    await searched.put("Fish")
    answer = await ann.get("/api/v1/entries", params={"q": "heron"})
    (item,) = answer.json()["items"]
    assert [item["title"][start:end] for start, end in item["matched"]["title"]] == ["heron"]
    excerpt = item["matched"]["excerpt"]
    assert [excerpt["text"][start:end] for start, end in excerpt["spans"]] == ["Héron"]


async def test_a_search_keeps_to_the_list_it_is_made_in(ann: Client, searched: SearchedFeed) -> None:
    other = await searched.library.feed()
    await searched.library.follow(ann.user_id, other)
    read = await searched.put("heron, read")
    await searched.put("heron, unread")
    await searched.put("heron elsewhere", feed=other)
    await searched.library.read(ann.user_id, read)
    assert await found(ann, q="heron", feed_id=str(searched.feed)) == ["heron, unread", "heron, read"]
    assert await found(ann, q="heron", feed_id=str(searched.feed), view="unread") == ["heron, unread"]
    unknown = await ann.get("/api/v1/entries", params={"q": "heron", "feed_id": "999999"})
    assert unknown.status_code == 404


async def test_pages_of_a_search_follow_each_other(ann: Client, searched: SearchedFeed) -> None:
    for number in range(5):
        await searched.put(f"heron {number}")
    for order in ("newest", "oldest", "relevance"):
        titles, cursor = [], None
        for _ in range(3):
            params = {"q": "heron", "limit": "2", "order": order} | ({"cursor": cursor} if cursor else {})
            answer = (await ann.get("/api/v1/entries", params=params)).json()
            titles += [item["title"] for item in answer["items"]]
            cursor = answer["next_cursor"]
        assert cursor is None
        assert sorted(titles) == [f"heron {number}" for number in range(5)]


async def test_relevance_puts_titles_first(ann: Client, searched: SearchedFeed) -> None:
    await searched.put("All about the heron", "heron")
    await searched.put("Ponds", "a heron, in passing")
    assert await found(ann, q="heron", order="relevance") == ["All about the heron", "Ponds"]
    assert await found(ann, q="heron") == ["Ponds", "All about the heron"]


async def test_a_page_of_a_search_takes_few_statements(
    ann: Client, searched: SearchedFeed, harness: RuntimeHarness
) -> None:
    for number in range(60):
        await searched.put(f"heron {number}", "heron")
    await ann.get("/api/v1/entries", params={"q": "heron"})
    with counting() as count:
        await ann.get("/api/v1/entries", params={"q": "heron"})
    # Word forms, matches, what may be seen, rows, tags, bodies, lines; PostgreSQL first asks how common the word is.
    assert count.value <= (7 if harness.runtime.db.engine == "sqlite" else 8)


async def test_bad_dates_and_stale_cursors_are_explained(ann: Client) -> None:
    for params in ({"q": "after:someday"}, {"q": "heron", "cursor": "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}):
        answer = await ann.get("/api/v1/entries", params=params)
        assert answer.status_code == 400, answer.text


async def test_searching_too_often_is_refused(ann: Client, app, runtime) -> None:
    app.state.runtime = replace(runtime, limits=replace(runtime.limits, search=Allowance(2, 0.001)))
    answers = [(await ann.get("/api/v1/entries", params={"q": "heron"})).status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    assert (await ann.get("/api/v1/entries")).status_code == 200


async def test_a_search_can_be_saved_changed_ordered_and_deleted(ann: Client) -> None:
    herons, egrets = await save(ann, "Herons", "heron"), await save(ann, "Egrets", "egret")
    listed = (await ann.get("/api/v1/searches")).json()["items"]
    assert [(item["name"], item["query"]) for item in listed] == [("Herons", "heron"), ("Egrets", "egret")]
    changed = await ann.patch(f"/api/v1/searches/{herons}", json={"query": "heron is:unread"})
    assert (changed.json()["name"], changed.json()["query"]) == ("Herons", "heron is:unread")
    assert (await ann.post("/api/v1/searches/reorder", json={"ids": [egrets, herons]})).status_code == 204
    assert (await ann.delete(f"/api/v1/searches/{herons}")).status_code == 204
    assert (await ann.get(f"/api/v1/searches/{herons}")).status_code == 404
    assert [item["id"] for item in (await ann.get("/api/v1/searches")).json()["items"]] == [egrets]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "", "query": "heron"}, 400),
        ({"name": "x" * 101, "query": "heron"}, 400),
        ({"name": "Empty", "query": " - "}, 400),
        ({"name": "Dates", "query": "after:someday"}, 400),
        ({"name": "Herons", "query": "heron"}, 409),
    ],
)
async def test_a_search_that_cannot_be_saved_says_why(ann: Client, body: dict[str, str], status: int) -> None:
    await save(ann, "Herons", "heron")
    answer = await ann.post("/api/v1/searches", json=body)
    assert answer.status_code == status, answer.text


async def test_a_name_that_is_taken_stays_taken(ann: Client) -> None:
    await save(ann, "Herons", "heron")
    egrets = await save(ann, "Egrets", "egret")
    assert (await ann.patch(f"/api/v1/searches/{egrets}", json={"name": "Herons"})).status_code == 409
    assert (await ann.patch(f"/api/v1/searches/{egrets}", json={"name": "Egrets"})).status_code == 200


async def test_a_saved_search_is_a_list_with_a_count(ann: Client, searched: SearchedFeed) -> None:
    search = await save(ann, "Herons", "heron")
    read = await searched.put("heron, read")
    await searched.put("heron, unread")
    await searched.put("egret")
    await searched.library.read(ann.user_id, read)
    items = (await ann.get(f"/api/v1/searches/{search}/entries")).json()["items"]
    assert [item["title"] for item in items] == ["heron, unread", "heron, read"]
    counts = (await ann.get("/api/v1/searches/counts")).json()["items"]
    assert counts == [{"id": search, "unread": 1, "more": False}]


async def test_saved_searches_belong_to_their_owner(ann: Client, searched: SearchedFeed, signed_in: SignIn) -> None:
    search = await save(ann, "Herons", "heron")
    await searched.put("heron")
    ben = await signed_in("ben@example.org")
    path = f"/api/v1/searches/{search}"
    assert (await ben.get(path)).status_code == 404
    assert (await ben.get(f"{path}/entries")).status_code == 404
    assert (await ben.patch(path, json={"name": "Mine"})).status_code == 404
    assert (await ben.delete(path)).status_code == 404
    assert (await ben.post("/api/v1/searches/reorder", json={"ids": [search]})).status_code == 400
    assert (await ben.get("/api/v1/searches/counts")).json()["items"] == []
    assert await found(ben, q="heron") == []
    assert await save(ben, "Herons", "heron")


async def test_suggestions_name_feeds_and_count_what_is_found(
    ann: Client, searched: SearchedFeed, signed_in: SignIn
) -> None:
    await searched.put("A grey heron")
    await searched.put("A grey wagtail")
    await ann.patch(f"/api/v1/subscriptions/{await _subscription(ann)}", json={"title": "Marsh News"})
    answer = await ann.get("/api/v1/searches/suggest", params={"q": "heron feed:mar"})
    assert answer.status_code == 200, answer.text
    (item,) = answer.json()["items"]
    assert item == {
        "kind": "feed",
        "text": "Marsh News",
        "query": 'heron feed:"Marsh News"',
        "id": str(searched.feed),
        "entries": 1,
        "more": False,
    }
    assert await found(ann, q=item["query"]) == ["A grey heron"]
    ben = await signed_in("ben@example.org")
    assert (await ben.get("/api/v1/searches/suggest", params={"q": "heron feed:mar"})).json()["items"] == []


async def _subscription(client: Client) -> str:
    return (await client.get("/api/v1/subscriptions")).json()["items"][0]["id"]

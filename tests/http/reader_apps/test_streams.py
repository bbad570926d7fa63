"""Streams: which entries, in which order, page after page."""

import pytest

from tests.http.reader_apps.account import KEPT_UNREAD, READ, READING_LIST, STARRED, AppAccount

STATE = "user/-/state/com.google/"


async def test_a_stream_is_newest_first_by_arrival_or_oldest_first(account: AppAccount) -> None:
    app = await account.open_app()
    ids = await app.ids()
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 5
    assert await app.ids(r="o") == sorted(ids)
    for newest_first in ("n", "d", ""):
        assert await app.ids(r=newest_first) == ids


@pytest.mark.parametrize("order", ["n", "o"])
async def test_pages_are_filled_and_end_without_a_continuation(account: AppAccount, order: str) -> None:
    app = await account.open_app()
    seen: list[str] = []
    more: dict[str, str] = {}
    for size in (2, 2, 1):
        page = await app.read("stream/items/ids", s=READING_LIST, n=2, r=order, **more)
        assert len(page["itemRefs"]) == size
        seen += [ref["id"] for ref in page["itemRefs"]]
        more = {"c": page["continuation"]} if "continuation" in page else {}
        assert all(isinstance(token, str) and token.isalnum() for token in more.values())
    assert not more
    assert [int(id) for id in seen] == await app.ids(r=order)


async def test_a_page_misses_nothing_when_states_change_meanwhile(account: AppAccount) -> None:
    app = await account.open_app()
    first = await app.read("stream/items/ids", s=READING_LIST, xt=READ, n=2)
    read = [ref["id"] for ref in first["itemRefs"]]
    await app.post("edit-tag", i=read, a=READ)
    rest = await app.ids(xt=READ, c=first["continuation"])
    assert len(rest) == 3
    assert not set(map(str, rest)) & set(read)


async def test_a_continuation_nobody_gave_is_refused(account: AppAccount) -> None:
    app = await account.open_app()
    for wrong in ("abc", "n", "12x", "nn5", "-4"):
        assert (await app.get("stream/items/ids", s=READING_LIST, c=wrong)).status_code == 400


async def test_read_unread_and_starred_are_what_they_say(account: AppAccount) -> None:
    app = await account.open_app()
    one, two = await account.id_of("One"), await account.id_of("Two")
    assert await app.ids(s=READ) == []
    await app.post("edit-tag", i=one, a=READ)
    await app.post("edit-tag", i=two, a=STARRED)
    assert await app.ids(s=READ) == [one]
    assert one not in await app.ids(s=f"{STATE}unread")
    assert await app.ids(s=STARRED) == [two]
    assert await app.ids(xt=READ) == await app.ids(it=f"{STATE}unread") == await app.ids(s=f"{STATE}unread")
    assert await app.ids(it=STARRED) == [two]
    assert await app.ids(it=READ) == [one]
    assert await app.ids(it=[READ, STARRED]) == []
    assert set(await app.ids(xt=[READ, STARRED])) == set(await app.ids()) - {one, two}
    assert await app.ids(s=STARRED, xt=READ) == [two]


@pytest.mark.parametrize(
    "name", ["kept-unread", "tracking-kept-unread", "broadcast", "broadcast-friends", "like", "created"]
)
async def test_states_of_old_are_empty(account: AppAccount, name: str) -> None:
    app = await account.open_app()
    assert await app.ids(s=f"{STATE}{name}") == []
    assert await app.ids(it=f"{STATE}{name}") == []
    assert len(await app.ids(xt=f"{STATE}{name}")) == 5


async def test_a_feed_is_named_by_number_by_address_and_doubly(account: AppAccount) -> None:
    app = await account.open_app()
    number, address = account.feeds["news"], account.site.feed_url("news")
    for name in (f"feed/{number}", f"feed/{address}", f"feed/feed/{number}", f"feed/feed/{address}"):
        assert len(await app.ids(s=name)) == 3
        assert len((await app.read(f"stream/contents/{name}/"))["items"]) == 3
    assert len((await app.read("stream/contents/user/-/label/News/"))["items"]) == 3
    assert len(await app.ids(s=f"feed/{number}", xt=READ)) == 3
    assert len(await app.ids(xt=f"feed/{number}")) == 2
    assert len(await app.ids(it=f"feed/{number}")) == 3
    assert len(await app.ids(s=[f"feed/{number}", f"feed/{account.feeds['tech']}"])) == 5


async def test_a_label_is_a_folder_a_tag_or_both(account: AppAccount) -> None:
    app = await account.open_app()
    one, four = await account.id_of("One"), await account.id_of("Four")
    assert len(await app.ids(s="user/-/label/News")) == 3
    assert len(await app.ids(s="user/1005921515/label/News")) == 3
    await app.post("edit-tag", i=one, a="user/-/label/Keep")
    assert await app.ids(s="user/-/label/Keep") == [one]
    await app.post("edit-tag", i=four, a="user/-/label/News")
    assert four in await app.ids(s="user/-/label/News")
    assert len(await app.ids(s="user/-/label/News")) == 4
    assert len(await app.ids(xt="user/-/label/News")) == 1
    assert len(await app.ids(xt=["user/-/label/Keep", "user/-/label/Tech"])) == 2


async def test_labels_narrow_each_other_and_never_widen(account: AppAccount) -> None:
    app = await account.open_app()
    one, two, four = [await account.id_of(title) for title in ("One", "Two", "Four")]
    await app.post("edit-tag", i=[one, four], a="user/-/label/Keep")
    await app.post("edit-tag", i=[two, four], a=["user/-/label/Later", "user/-/label/News"])
    keep, later, news = (f"user/-/label/{name}" for name in ("Keep", "Later", "News"))
    assert await app.ids(s=keep, it=later) == await app.ids(it=[keep, later, keep]) == [four]
    assert await app.ids(s=keep, it=news, r="o") == [one, four]
    tech = f"feed/{account.feeds['tech']}"
    assert await app.ids(s=news, it=tech) == await app.ids(s=tech, it=news) == [four]
    assert await app.ids(s=news, it=[tech, f"feed/{account.feeds['news']}"]) == []


async def test_streams_asked_for_together_add_up(account: AppAccount) -> None:
    app = await account.open_app()
    one, two, four = [await account.id_of(title) for title in ("One", "Two", "Four")]
    await app.post("edit-tag", i=one, a="user/-/label/Keep")
    await app.post("edit-tag", i=two, a=["user/-/label/Later", STARRED])
    keep, later = "user/-/label/Keep", "user/-/label/Later"
    tech, old = f"feed/{account.feeds['tech']}", f"{STATE}broadcast"
    assert await app.ids(s=[keep, later], r="o") == [one, two]
    assert await app.ids(s=[tech, keep], r="o") == [one, four, await account.id_of("Five")]
    assert await app.ids(s=[STARRED, old]) == [two]
    assert await app.ids(s=[old, f"{STATE}like"]) == []
    assert len(await app.ids(s=[tech, READING_LIST])) == 5
    mixed = await app.get("stream/items/ids", s=[STARRED, tech])
    assert (mixed.status_code, mixed.text) == (400, "Only feeds and labels can be asked for together.")


@pytest.mark.parametrize(
    "name",
    [
        "user/-/label/Nobody",
        "user/-/state/com.google/nonsense",
        "user/-/state/com.google/",
        "user/-/state/org.other/read",
        "feed/999999",
        "feed/99999999999999999999999",
        "feed/https://elsewhere.example/feed",
        "feed/",
        "nonsense",
        "",
    ],
)
async def test_an_unknown_stream_is_refused_and_never_wider(account: AppAccount, name: str) -> None:
    app = await account.open_app()
    assert (await app.get("stream/items/ids", s=name, n=100)).status_code == 400
    if name:
        assert (await app.get(f"stream/contents/{name}", n=100)).status_code in (400, 404)
        assert await app.ids(it=name) == []
    assert (await app.post("mark-all-as-read", s=name)).status_code == 400
    assert len(await account.unread_titles()) == 5


async def test_time_filters_go_by_arrival_not_by_publication(account: AppAccount) -> None:
    app = await account.open_app()
    four = await account.id_of("Four")
    arrived = (await account.fetched_at(four)) / 1_000
    assert len(await app.ids(ot=f"{arrived:.3f}")) == 2
    assert len(await app.ids(ot=f"{arrived + 0.001:.3f}")) == 0
    assert len(await app.ids(nt=f"{arrived - 0.001:.3f}")) == 3
    assert len(await app.ids(nt=int(arrived))) == 5
    assert len(await app.ids(nt=int(arrived) - 1)) == 3
    assert len(await app.ids(ot="0", nt="")) == 5
    assert (await app.get("stream/items/ids", s=READING_LIST, ot="yesterday")).status_code == 400


async def test_an_entry_that_changed_comes_again(account: AppAccount) -> None:
    app = await account.open_app()
    account.site.publish("Six", key="six", feed="news")
    await account.publish("Seven", feed="news")
    six = await account.id_of("Six")
    account.harness.clock.ahead += 5_000
    later = account.harness.runtime.now() / 1_000
    assert await app.ids(ot=later) == []
    account.site.publish("Six", key="six", feed="news", content="<p>Quite other words</p>")
    await account.harness.check_anyway(account.feeds["news"])
    assert await app.ids(ot=later) == [six]


async def test_a_page_has_20_by_default_and_large_wishes_are_capped(account: AppAccount) -> None:
    for number in range(25):
        account.site.publish(f"More {number}", feed="news")
    await account.harness.check_anyway(account.feeds["news"])
    app = await account.open_app()
    for wish in ({}, {"n": ""}, {"n": "many"}, {"n": "0"}, {"n": "-1"}):
        assert len((await app.read("stream/items/ids", s=READING_LIST, **wish))["itemRefs"]) == 20
        assert len((await app.read("stream/contents", **wish))["items"]) == 20
    assert len((await app.read("stream/items/ids", s=READING_LIST, n=200_000))["itemRefs"]) == 30
    assert len((await app.read("stream/contents", n=200_000))["items"]) == 30


async def test_a_capped_page_has_a_continuation_to_the_rest(account: AppAccount) -> None:
    """Five entries, six times multiplied by themselves, are more than a call may give."""
    await account.harness.change(
        "INSERT INTO entries (feed_id, change_hash, title, fetched_at, sort_at)"
        " SELECT :feed, 'h', 'Many', a.fetched_at, a.sort_at"
        " FROM entries a, entries b, entries c, entries d, entries e, entries f",
        feed=account.feeds["news"],
    )
    app = await account.open_app()
    for wish in (10_000, 200_000):
        first = await app.read("stream/items/ids", s=READING_LIST, n=wish)
        rest = await app.read("stream/items/ids", s=READING_LIST, n=wish, c=first["continuation"])
        ids = [ref["id"] for ref in first["itemRefs"] + rest["itemRefs"]]
        assert (len(first["itemRefs"]), len(set(ids)), len(ids)) == (10_000, 15_630, 15_630)
        assert "continuation" not in rest
    items = await app.read("stream/contents", n=200_000)
    assert (len(items["items"]), "continuation" in items) == (1_000, True)


async def test_labels_with_odd_signs_come_in_paths_and_queries(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    for name in ("Art/Music", "R&D", "C++", "Ünï 🌾", "50% off", "a?b#c"):
        assert (await app.post("edit-tag", i=one, a=f"user/-/label/{name}")).text == "OK"
        assert await app.ids(s=f"user/-/label/{name}") == [one]
        for times in (1, 2):
            escaped = f"user/-/label/{name}"
            for _ in range(times):
                escaped = "".join(f"%{byte:02X}" for byte in escaped.encode())
            assert len((await app.read(f"stream/contents/{escaped}"))["items"]) == 1


async def test_the_ids_say_their_feed_and_moment_as_text(account: AppAccount) -> None:
    app = await account.open_app()
    (ref, *_) = (await app.read("stream/items/ids", s="user/-/label/Tech"))["itemRefs"]
    arrived = await account.fetched_at(int(ref["id"]))
    assert ref == {
        "id": str(int(ref["id"])),
        "directStreamIds": [f"feed/{account.feeds['tech']}"],
        "timestampUsec": f"{arrived}000",
    }


async def test_the_length_of_a_stream_is_told_in_plain_text(account: AppAccount) -> None:
    app = await account.open_app()
    await app.post("edit-tag", i=await account.id_of("One"), a=READ)
    for params, length in (({"s": READING_LIST}, "5"), ({"s": READING_LIST, "xt": READ}, "4")):
        assert (await app.get("stream/items/count", **params)).text == length
    assert (await app.get("stream/items/count", s=KEPT_UNREAD)).text == "0"
    dated = (await app.get("stream/items/count", s=READ, a="true")).text
    assert dated.startswith("1#")
    assert dated[-4:].isdigit()
    assert (await app.get("stream/items/count", s="user/-/label/Nobody")).status_code == 400


async def test_news_plus_is_spared_an_empty_list(account: AppAccount) -> None:
    app = await account.open_app()
    answer = await app.read("stream/items/ids", s=STARRED, client="newsplus")
    assert [ref["id"] for ref in answer["itemRefs"]] == ["0"]
    assert await app.read("stream/items/ids", s=KEPT_UNREAD) == {"itemRefs": []}

"""A model judges doubtful pairs of entries, and what a user sets apart holds for what is like it later."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from reedbed.domain.ai import BreakerPolicy, Budget
from reedbed.domain.times import DAY
from reedbed.services import ai
from reedbed.services.runtime import AiPolicy
from reedbed.services.stories import StoryGrouper, decide_pairs, delete_old_stories, get_story, split_entry
from reedbed.store.stories import grouping
from tests.harness import open_harness
from tests.modelserver import ModelServer, Reply
from tests.services.test_stories import LONELY, Press

VOTE = (
    "Council votes to close the Marrowby swing bridge to cars",
    "The Marrowby council voted on Tuesday to close the swing bridge to cars while its bearings are replaced.",
)
DETOURS = (
    "Detours ahead for drivers",
    "The old swing bridge is shut until its bearings are replaced, says Pelham Weston.",
)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def press(database_url: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Press]:
    """Feeds with a user who lets a model read them."""
    monkeypatch.setattr(ai, "TRY_AGAIN_SECONDS", 0.01)
    async with open_harness(database_url) as harness:
        user_id = await harness.person()
        feeds = [await harness.follow(f"http://127.0.0.1:9/{n}.xml", user_id=user_id) for n in range(3)]
        press = Press(harness, user_id, feeds)
        await agree(press, user_id)
        use(press, server)
        yield press
        model = press.runtime.ai.model
        if model is not None:
            await model.close()


def use(press: Press, server: ModelServer, **policy: Any) -> None:
    given = {"model": server.model(timeout=0.5), "breaker": BreakerPolicy(min_interval=0), **policy}
    press.harness.runtime = replace(press.runtime, ai=AiPolicy(**given))


async def agree(press: Press, user_id: int, *, remote_ai: bool = True) -> None:
    await press.harness.change(
        "UPDATE users SET preferences = :said WHERE id = :id",
        said=orjson.dumps({"remote_ai": remote_ai}).decode(),
        id=user_id,
    )


async def print_doubtful(press: Press) -> list[int]:
    """Two reports on one event in other words, among what stands alone."""
    for place, title in enumerate(LONELY):
        await press.print(title, place % 3)
    ids = [await press.print(VOTE[0], 0, lead=VOTE[1]), await press.print(DETOURS[0], 1, lead=DETOURS[1])]
    await press.group()
    assert await press.lines() == []
    return ids


async def statuses(press: Press) -> list[str]:
    return await press.harness.column("SELECT status FROM story_pairs ORDER BY entry_id")


def verdicts(**said: Any) -> Reply:
    return Reply(text=orjson.dumps({name.removeprefix("pair_"): value for name, value in said.items()}).decode())


# --- Doubtful pairs


async def test_a_pair_that_the_model_finds_to_be_the_same_is_one_story(press: Press, server: ModelServer) -> None:
    ids = await print_doubtful(press)
    server.say(verdicts(pair_1="same"))
    assert await decide_pairs(press.runtime) == 1
    assert await press.group() == 1
    assert [one.entry_id for one in (await press.only_story()).sources] == ids
    assert await statuses(press) == ["joined"]
    assert await press.group() == 0
    # What arrives later joins the whole story.
    await press.print("Marrowby swing bridge closes to cars after council vote", 2, lead=VOTE[1])
    await press.group()
    assert (await press.only_story()).entries == 3


async def test_only_doubtful_pairs_are_sent_with_titles_and_leads_in_a_fence(press: Press, server: ModelServer) -> None:
    await print_doubtful(press)
    server.say(verdicts(pair_1="unsure"))
    await decide_pairs(press.runtime)
    (question,) = server.questions
    instructions, material = (message["content"] for message in question["messages"][:2])
    assert all(text in material for text in (*VOTE, *DETOURS))
    assert not any(title in material for title in LONELY)
    fence = material.splitlines()[0]
    assert fence.startswith("=== ") and fence in instructions and material.endswith(fence)


@pytest.mark.parametrize("verdict", ["different", "unsure", "perhaps", "", 1, None, ["same"]])
async def test_any_other_verdict_leaves_them_apart_and_is_not_asked_again(
    press: Press, server: ModelServer, verdict: Any
) -> None:
    await print_doubtful(press)
    server.say(verdicts(pair_1=verdict))
    assert await decide_pairs(press.runtime) == 1
    assert await statuses(press) == ["different" if verdict == "different" else "unsure"]
    assert await decide_pairs(press.runtime) == 0
    assert await press.group() == 0 and await press.lines() == []
    assert server.calls == 1


@pytest.mark.parametrize("text", ["same", "[1]", '{"7": "same"}', '{"1": "same"'])
async def test_nonsense_changes_nothing(press: Press, server: ModelServer, text: str) -> None:
    await print_doubtful(press)
    server.say(Reply(text=text), Reply(text=text))
    await decide_pairs(press.runtime)
    assert await press.group() == 0 and await press.lines() == []
    assert await decide_pairs(press.runtime) == 0
    assert await statuses(press) == ["unsure"]


async def test_a_model_that_does_not_answer_is_asked_another_time(press: Press, server: ModelServer) -> None:
    await print_doubtful(press)
    server.say(Reply(wait=2), Reply(status=500))
    assert await decide_pairs(press.runtime) == 0
    server.say(Reply(text=""), Reply(text=""))
    assert await decide_pairs(press.runtime) == 0
    assert await statuses(press) == ["waiting"]
    server.say(verdicts(pair_1="same"))
    assert await decide_pairs(press.runtime) == 1


async def test_nothing_is_asked_over_budget_or_when_paused(press: Press, server: ModelServer) -> None:
    await print_doubtful(press)
    use(press, server, budget=Budget(daily_tokens=100))
    assert await decide_pairs(press.runtime) == 0
    use(press, server)
    await ai.set_paused(press.runtime, paused=True)
    assert await decide_pairs(press.runtime) == 0
    assert server.calls == 0 and await statuses(press) == ["waiting"]
    await ai.set_paused(press.runtime, paused=False)
    press.harness.clock.ahead += 2 * DAY
    assert await decide_pairs(press.runtime) == 0, "it has waited for too long"


async def test_the_instance_pays(press: Press, server: ModelServer) -> None:
    await print_doubtful(press)
    server.say(verdicts(pair_1="same"))
    await decide_pairs(press.runtime)
    status = await ai.ai_status(press.runtime)
    assert (status.today.calls, status.today.tokens) == (1, 120)


async def test_without_a_model_no_pair_is_kept(press: Press, server: ModelServer) -> None:
    assert press.runtime.ai.model is not None
    await press.runtime.ai.model.close()
    press.harness.runtime = replace(press.runtime, ai=AiPolicy())
    await print_doubtful(press)
    assert await statuses(press) == []
    assert await decide_pairs(press.runtime) == 0 and server.calls == 0


@pytest.mark.parametrize("place", [0, 1])
async def test_texts_of_private_feeds_are_never_sent(press: Press, server: ModelServer, place: int) -> None:
    await print_doubtful(press)
    await press.harness.change(
        "UPDATE feeds SET owner_id = :user WHERE id = :id", user=press.user_id, id=press.feeds[place]
    )
    assert await decide_pairs(press.runtime) == 0 and server.calls == 0


async def test_an_entry_of_a_private_feed_is_in_no_doubtful_pair(press: Press, server: ModelServer) -> None:
    await press.harness.change(
        "UPDATE feeds SET owner_id = :user WHERE id = :id", user=press.user_id, id=press.feeds[1]
    )
    await print_doubtful(press)
    assert await statuses(press) == []


async def test_texts_are_sent_only_where_a_follower_agreed(press: Press, server: ModelServer) -> None:
    await agree(press, press.user_id, remote_ai=False)
    await print_doubtful(press)
    assert await decide_pairs(press.runtime) == 0 and server.calls == 0
    assert await statuses(press) == ["unsure"]


@pytest.mark.parametrize("place", [0, 1])
async def test_a_feed_that_one_follower_keeps_here_is_not_sent(press: Press, server: ModelServer, place: int) -> None:
    await print_doubtful(press)
    other = await press.harness.person()
    await press.harness.follow(f"http://127.0.0.1:9/{place}.xml", user_id=other)
    await press.harness.change("UPDATE subscriptions SET local_only = :yes WHERE user_id = :id", yes=True, id=other)
    assert await decide_pairs(press.runtime) == 0 and server.calls == 0


async def test_twenty_pairs_go_in_one_request_and_the_newest_are_kept(press: Press, server: ModelServer) -> None:
    first, *rest = [await press.print(f"Report {number}", number % 3) for number in range(26)]
    async with press.runtime.db.write() as tx:
        await grouping.add_pairs(tx, [(id_, first) for id_ in rest], press.runtime.now(), limit=23)
    server.say(verdicts(**{f"pair_{number}": "different" for number in range(1, 21)}))
    assert await decide_pairs(press.runtime) == 20
    server.say(verdicts(pair_1="different", pair_3="same"))
    assert await decide_pairs(press.runtime) == 3
    assert server.calls == 2
    assert await statuses(press) == ["same", "unsure", *["different"] * 21]


async def test_a_verdict_holds_after_a_restart_and_for_stories_merged_since(press: Press, server: ModelServer) -> None:
    ids = await print_doubtful(press)
    await press.print("Marrowby swing bridge closes to cars after council vote", 2, lead=VOTE[1])
    await press.group()
    server.say(verdicts(pair_1="same"))
    await decide_pairs(press.runtime)
    press.grouper = StoryGrouper()
    assert await press.group() == 1
    line = await press.only_story()
    assert line.entries == 3 and ids[1] in [one.entry_id for one in line.sources]


async def test_old_pairs_are_deleted(press: Press) -> None:
    await print_doubtful(press)
    press.harness.clock.ahead += 8 * DAY
    await delete_old_stories(press.runtime)
    assert await statuses(press) == []


# --- What a user sets apart

BRIDGE = (
    ("Council votes to close the Marrowby swing bridge to cars", VOTE[1]),
    (
        "Marrowby swing bridge closes to cars after council vote",
        "Cars must leave the Marrowby swing bridge for repairs.",
    ),
)
FERRY = (
    ("Marrowby council vote on swing bridge: ferry fares rise", "The ferry of Marrowby costs more after the vote."),
    (
        "Ferry fares rise after Marrowby swing bridge vote by council",
        "The ferry costs more, the Marrowby council said.",
    ),
)
LATER = (
    "After the vote, cars leave the Marrowby swing bridge",
    "The council of Marrowby closes the swing bridge to cars.",
)


async def print_one_story(press: Press) -> list[int]:
    texts = (*BRIDGE, FERRY[0])
    ids = [await press.print(title, feed, lead=lead) for feed, (title, lead) in enumerate(texts)]
    await press.group()
    assert (await press.only_story()).entries == 3
    return ids


async def test_what_is_like_an_entry_set_apart_comes_apart_for_that_user(press: Press) -> None:
    other = await press.harness.person()
    for number in range(3):
        await press.harness.follow(f"http://127.0.0.1:9/{number}.xml", user_id=other)
    ids = await print_one_story(press)
    story_id = (await press.only_story()).id
    await split_entry(press.runtime, press.user_id, story_id, ids[2])
    ferry = await press.print(FERRY[1][0], 0, lead=FERRY[1][1])
    bridge = await press.print(LATER[0], 1, lead=LATER[1])
    await press.group()
    mine = await get_story(press.runtime, press.user_id, story_id)
    assert [one.row.id for one in mine.outlets] == [*ids[:2], bridge]
    assert [one.row.id for one in mine.apart] == [ids[2], ferry]
    theirs = await get_story(press.runtime, other, story_id)
    assert [one.row.id for one in theirs.outlets] == [*ids, ferry, bridge] and not theirs.apart


async def test_putting_an_entry_back_brings_what_followed_it(press: Press) -> None:
    ids = await print_one_story(press)
    story_id = (await press.only_story()).id
    await split_entry(press.runtime, press.user_id, story_id, ids[2])
    first = await press.print(FERRY[1][0], 0, lead=FERRY[1][1])
    await press.group()
    second = await press.print(FERRY[1][0], 1, lead=FERRY[0][1])
    await press.group()
    story = await get_story(press.runtime, press.user_id, story_id)
    assert [one.row.id for one in story.apart] == [ids[2], first, second]
    await split_entry(press.runtime, press.user_id, story_id, first, apart=False)
    story = await get_story(press.runtime, press.user_id, story_id)
    assert [one.row.id for one in story.apart] == [ids[2], second]
    await split_entry(press.runtime, press.user_id, story_id, ids[2], apart=False)
    story = await get_story(press.runtime, press.user_id, story_id)
    assert not story.apart and len(story.outlets) == 5


async def test_an_entry_that_the_model_brings_to_a_story_is_set_apart_as_well(
    press: Press, server: ModelServer
) -> None:
    ids = await print_doubtful(press)
    third = await press.print("Marrowby swing bridge closes to cars after council vote", 2, lead=VOTE[1])
    again = await press.print(
        "Marrowby: detours for drivers after the council vote on the swing bridge", 1, lead=VOTE[1]
    )
    await press.group()
    story_id = (await press.only_story()).id
    await split_entry(press.runtime, press.user_id, story_id, again)
    server.say(verdicts(pair_1="same"))
    await decide_pairs(press.runtime)
    assert await press.group() == 1
    story = await get_story(press.runtime, press.user_id, story_id)
    assert [one.row.id for one in story.outlets] == [ids[0], third]
    assert [one.row.id for one in story.apart] == [ids[1], again]

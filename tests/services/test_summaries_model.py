"""Summaries by a model: the rules of retrying, breaker, pace and budget, against a server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from reedbed.domain.ai import BreakerPolicy, Budget, Price
from reedbed.domain.failures import Failure, FailureCode, failure_sentence, load_failure
from reedbed.domain.summaries import EXTRACT, LEASE
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND
from reedbed.services.ai_worker import NothingDue, Task, give_back, next_task, write_task
from reedbed.services.instance import queue_state
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import one_lines
from tests.fault_injection import Stumbling
from tests.harness import open_harness
from tests.modelserver import ModelServer, Reply, summary
from tests.services.writing import STORY, Desk, new_desk


@pytest.fixture
async def desk(database_url: str, server: ModelServer) -> AsyncIterator[Desk]:
    async with open_harness(database_url) as harness:
        desk = await new_desk(harness)
        desk.use(server)
        await desk.opt_in()
        yield desk
        for model in (desk.runtime.ai.model, desk.runtime.ai.fallback):
            if model is not None:
                await model.close()


async def test_the_model_writes_what_is_kept(desk: Desk, server: ModelServer) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.write()
    state = await desk.ask(entry)
    assert state.summary is not None
    assert (state.summary.text, state.summary.model) == ("An article called The bridge.", "scripted")
    question = server.questions[0]
    assert server.keys == ["Bearer a-key"]
    assert question["response_format"]["type"] == "json_schema"
    assert STORY in question["messages"][1]["content"] and STORY not in question["messages"][0]["content"]


async def test_nothing_is_sent_for_a_user_who_has_not_opted_in(desk: Desk, server: ModelServer) -> None:
    other = await new_desk(desk.harness)
    entry = await other.entry()
    await other.ask(entry)
    await other.write()
    state = await other.ask(entry)
    assert state.summary is not None and state.summary.model == EXTRACT
    assert server.calls == 0


async def test_nothing_is_sent_after_the_asker_changed_their_mind(desk: Desk, server: ModelServer) -> None:
    await desk.ask(await desk.entry())
    await desk.harness.change("UPDATE users SET preferences = '{}' WHERE id = :id RETURNING 1", id=desk.user.id)
    assert await desk.write() == 0
    assert server.calls == 0 and await desk.value("SELECT count(*) FROM summary_queue") == 0


async def test_equal_texts_cost_one_call(desk: Desk, server: ModelServer) -> None:
    other_feed = await desk.harness.follow("http://127.0.0.1:9/other.xml", user_id=desk.user.id)
    for entry in (await desk.entry(), await desk.entry(feed_id=other_feed)):
        await desk.ask(entry)
        await desk.write()
    assert server.calls == 1


async def test_the_language_is_part_of_the_question_and_of_the_key(desk: Desk, server: ModelServer) -> None:
    entry = await desk.entry()
    for language in ("pt-BR", "de"):
        desk.harness.runtime = replace(desk.runtime, ai=replace(desk.runtime.ai, language=language))
        await desk.ask(entry)
        await desk.write()
    assert "Brazilian Portuguese" in server.questions[0]["messages"][0]["content"]
    assert "German" in server.questions[1]["messages"][0]["content"]


TEMPORARY = [Reply(500), Reply(503), Reply(401), Reply(302, headers={"Location": "http://127.0.0.1:9/"})]


@pytest.mark.parametrize("reply", TEMPORARY, ids=lambda reply: str(reply.status))
async def test_five_temporary_failures_rest_for_a_day_and_begin_again(
    desk: Desk, server: ModelServer, reply: Reply
) -> None:
    server.say(*[reply] * 5)
    entry = await desk.entry()
    await desk.ask(entry)
    assert await desk.write() == 5
    state = await desk.ask(entry)
    assert state.summary is not None and state.summary.model == EXTRACT
    assert (state.status, state.fallback) == ("ready", True) and "HTTP" in failure_sentence(state.error)
    assert await _row(desk) == (0, "temporary")
    desk.pass_time(23 * HOUR)
    assert await desk.write() == 0
    desk.pass_time(HOUR + MINUTE)
    assert await desk.write() == 1
    assert await _writer(desk, entry) == "scripted"


async def test_a_silent_model_is_a_temporary_failure(desk: Desk, server: ModelServer) -> None:
    desk.use(server, model=server.model(timeout=0.1))
    server.say(Reply(wait=0.6))
    entry = await desk.entry()
    await desk.ask(entry)
    assert await desk.write(most=1) == 1
    assert await _row(desk) == (1, "temporary")
    assert (await desk.ask(entry)).fallback


NONSENSE = [
    Reply(text="I am a teapot."),
    Reply(text='{"one_line": "Half'),
    Reply(text='{"one_line": 1, "summary": []}'),
    Reply(text='{"summary": "<b></b>", "one_line": ""}'),
    Reply(raw=b"\xff\xfe not json"),
    Reply(raw=b'{"choices": []}'),
    Reply(raw=b"[]"),
]


async def test_five_permanent_failures_end_it_until_somebody_asks_again(desk: Desk, server: ModelServer) -> None:
    server.say(*[Reply(422, text="no")] * 5)
    entry = await desk.entry()
    await desk.ask(entry)
    assert await desk.write() == 5
    assert (await desk.ask(entry)).fallback
    assert await desk.value("SELECT count(*) FROM summary_failures") == 1
    assert (await queue_state(desk.runtime)).breaker == "CLOSED"
    assert await desk.write() == 0
    assert (await desk.ask(entry, again=True)).status == "pending"
    await desk.write()
    assert await _writer(desk, entry) == "scripted"
    assert await desk.value("SELECT count(*) FROM summary_failures") == 0


@pytest.mark.parametrize("reply", NONSENSE, ids=range(len(NONSENSE)))
async def test_unreadable_answers_pause_and_end_after_five(desk: Desk, server: ModelServer, reply: Reply) -> None:
    server.say(*[reply] * 5)
    entry = await desk.entry()
    await desk.ask(entry)
    for pause in (1, 2, 4, 8):
        assert await desk.write() == 1
        state = await desk.ask(entry)
        assert state.fallback and state.summary is not None and state.summary.model == EXTRACT
        desk.pass_time(pause * MINUTE - SECOND)
        assert await desk.write() == 0
        desk.pass_time(2 * SECOND)
    assert await desk.write() == 1
    assert load_failure(await desk.value("SELECT last_error FROM summary_failures")) == state.error
    assert (await queue_state(desk.runtime)).breaker == "OPEN"
    desk.pass_time(HOUR)
    assert await desk.write() == 0
    assert (await desk.ask(entry)).fallback
    assert (await desk.ask(entry, again=True)).status == "pending"
    await desk.write()
    assert await _writer(desk, entry) == "scripted"
    assert await desk.value("SELECT count(*) FROM summary_failures") == 0


async def test_a_model_that_answers_nonsense_is_left_alone_soon(desk: Desk, server: ModelServer) -> None:
    server.behave = lambda question: Reply(text="I am a teapot.", usage=(1_000, 90))
    entries = [await desk.entry(f"{STORY} Number {number} of them.") for number in range(9)]
    for entry in entries:
        await desk.ask(entry)
    await desk.write()
    assert server.calls == 5
    assert await desk.value("SELECT tokens_in + tokens_out FROM ai_usage") == 5 * 1_090
    assert (await queue_state(desk.runtime)).breaker == "OPEN"
    states = [await desk.ask(entry) for entry in entries]
    assert all(state.fallback and state.summary is not None for state in states)
    lines = await one_lines(desk.runtime, desk.user, entries)
    assert sorted(lines) == sorted(entries), "also those that were never tried"


async def test_three_empty_answers_in_a_row_are_permanent(desk: Desk, server: ModelServer) -> None:
    server.say(*[Reply(text="  ")] * 5)
    await desk.ask(await desk.entry())
    kinds: list[str] = []
    for _ in range(4):
        assert await desk.write() == 1
        kinds.append((await _row(desk))[1])
        desk.pass_time(10 * MINUTE)
    assert kinds == ["temporary", "temporary", "permanent", "permanent"]
    await desk.write()
    stored = await desk.value("SELECT last_error FROM summary_failures")
    assert load_failure(stored) == Failure(FailureCode.MODEL_EMPTY_ANSWER)


async def test_a_server_without_schemas_is_asked_for_plain_json(desk: Desk, server: ModelServer) -> None:
    server.say(Reply(400, raw=b'{"error": "unknown response_format json_schema"}'), Reply(text=summary()))
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.write()
    assert [one["response_format"]["type"] for one in server.questions] == ["json_schema", "json_object"]
    assert (await desk.ask(entry)).status == "ready"


async def test_the_breaker_opens_rests_and_closes_as_it_should(desk: Desk, server: ModelServer) -> None:
    server.say(*[Reply(500)] * 5)
    entries = [await desk.entry(f"{STORY} Number {number} of them.") for number in range(5)]
    for entry in entries:
        await desk.ask(entry)
    assert await desk.write() == 5
    assert (await queue_state(desk.runtime)).breaker == "OPEN"
    desk.pass_time(299 * SECOND)
    assert await desk.write() == 0
    desk.pass_time(2 * SECOND)
    assert (await queue_state(desk.runtime)).breaker == "HALF"
    await desk.write(most=2)
    assert await desk.value("SELECT state FROM ai_models") == "HALF"
    await desk.write(most=1)
    assert (await queue_state(desk.runtime)).breaker == "CLOSED"


async def test_one_failure_while_half_open_opens_it_again(desk: Desk, server: ModelServer) -> None:
    server.say(*[Reply(500)] * 5, Reply(text=summary()), Reply(500))
    for number in range(4):
        await desk.ask(await desk.entry(f"{STORY} Number {number} of them."))
    await desk.write()
    desk.pass_time(301 * SECOND)
    assert await desk.write() == 2
    assert await desk.value("SELECT state FROM ai_models") == "OPEN"


async def test_the_second_model_writes_while_the_first_is_left_alone(desk: Desk, server: ModelServer) -> None:
    desk.use(server, fallback=server.model("second"))
    server.say(*[Reply(500)] * 5)
    await desk.ask(await desk.entry(f"{STORY} The first tries in vain."))
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.write()
    state = await desk.ask(entry)
    assert state.summary is not None and state.summary.model == "second"
    assert server.questions[-1]["model"] == "second"


async def test_too_many_requests_rests_a_minute_and_opens_nothing(desk: Desk, server: ModelServer) -> None:
    server.say(*[Reply(429)] * 4)
    await desk.ask(await desk.entry())
    for _ in range(4):
        assert await desk.write() == 1
        desk.pass_time(59 * SECOND)
        assert await desk.write() == 0
        desk.pass_time(2 * SECOND)
    assert await desk.value("SELECT failures FROM ai_models") == 0
    assert await desk.write() == 1
    assert server.calls == 5


async def test_a_longer_rest_that_the_model_asks_for_is_heeded(desk: Desk, server: ModelServer) -> None:
    server.say(Reply(429, headers={"Retry-After": "600"}))
    await desk.ask(await desk.entry())
    await desk.write()
    desk.pass_time(599 * SECOND)
    assert await desk.write() == 0
    desk.pass_time(2 * SECOND)
    assert await desk.write() == 1


async def test_calls_keep_their_distance_even_when_they_fail(desk: Desk, server: ModelServer) -> None:
    desk.use(server, breaker=BreakerPolicy(min_interval=3 * SECOND))
    server.say(Reply(500))
    for number in range(3):
        await desk.ask(await desk.entry(f"{STORY} Number {number} of them."))
    assert await desk.write() == 1
    assert await desk.write() == 0
    desk.pass_time(3 * SECOND)
    assert await desk.write() == 1


async def test_a_call_is_reserved_before_and_settled_after(desk: Desk, server: ModelServer) -> None:
    desk.use(server, price=Price(input=2.0, output=10.0))
    await desk.ask(await desk.entry())
    task = await next_task(desk.runtime)
    assert isinstance(task, Task) and task.permit is not None
    reserved = task.permit.reserved
    assert await _usage(desk) == (1, reserved.tokens_in, reserved.tokens_out, reserved.cost)
    assert reserved.tokens_in > 100 and reserved.tokens_out == 500
    await write_task(desk.runtime, task)
    assert await _usage(desk) == (1, 100, 20, 400)
    assert await desk.value("SELECT cost FROM ai_user_usage WHERE user_id = :id", id=desk.user.id) == 400


BUDGETS = [
    Budget(daily_tokens=1_500),
    Budget(daily_cost=15_000),
    Budget(user_daily_tokens=1_500),
    Budget(user_daily_cost=15_000),
    Budget(monthly_tokens=1_500),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=range(len(BUDGETS)))
async def test_no_budget_is_ever_broken(desk: Desk, server: ModelServer, budget: Budget) -> None:
    desk.use(server, budget=budget, price=Price(input=10.0, output=10.0))
    server.say(*[Reply(text=summary(), usage=(800, 100))] * 9)
    entries = [await desk.entry(f"{STORY} Number {number} of them.") for number in range(3)]
    for entry in entries:
        await desk.ask(entry)
    assert await desk.write() == 1
    tokens = await desk.value("SELECT tokens_in + tokens_out FROM ai_usage")
    assert tokens <= 1_500
    states = [(await desk.ask(entry)) for entry in entries]
    assert [(state.status, state.fallback) for state in states] == [("ready", False), ("ready", True), ("ready", True)]
    assert "budget" in failure_sentence(states[1].error)


async def test_a_new_day_has_a_new_budget(desk: Desk, server: ModelServer) -> None:
    desk.use(server, budget=Budget(daily_tokens=1_500))
    server.say(*[Reply(text=summary(), usage=(800, 100))] * 2)
    for number in range(2):
        await desk.ask(await desk.entry(f"{STORY} Number {number} of them."))
    assert await desk.write() == 1
    desk.pass_time(DAY)
    assert await desk.write() == 1


async def test_two_workers_share_pace_and_work(desk: Desk, server: ModelServer) -> None:
    entries = [await desk.entry(f"{STORY} Number {number} of them.") for number in range(12)]
    for entry in entries:
        await desk.ask(entry)
    # The first call takes long enough for the other worker to call as well, however busy the machine is.
    server.behave = lambda question: Reply(text=summary(), wait=0.02 if server.most_in_flight > 1 else 3)
    second = replace(desk.runtime, name="that worker")
    await asyncio.gather(*(_drain(runtime) for runtime in (desk.runtime, second)))
    assert server.calls == 12
    assert server.most_in_flight >= 2
    assert [(await desk.ask(entry)).status for entry in entries] == ["ready"] * 12


async def test_two_workers_do_not_hurry_a_paced_model(desk: Desk, server: ModelServer) -> None:
    desk.use(server, breaker=BreakerPolicy(min_interval=HOUR))
    for number in range(6):
        await desk.ask(await desk.entry(f"{STORY} Number {number} of them."))
    second = replace(desk.runtime, name="that worker")
    found = await asyncio.gather(*(next_task(runtime) for runtime in (desk.runtime, second) * 5))
    assert len([one for one in found if isinstance(one, Task)]) == 1


async def test_a_worker_that_dies_in_a_call_costs_one_repeated_call(desk: Desk, server: ModelServer) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    task = await next_task(desk.runtime)
    assert isinstance(task, Task) and task.permit is not None and task.work.prompt is not None
    await task.permit.model.ask(task.work.prompt)  # and here the worker is killed
    second = replace(desk.runtime, name="that worker")
    assert isinstance(await next_task(second), NothingDue)
    desk.pass_time(LEASE + SECOND)
    await _drain(second)
    assert server.calls == 2
    assert (await desk.ask(entry)).status == "ready"
    calls, tokens_in, tokens_out, _ = await _usage(desk)
    assert (calls, tokens_in, tokens_out) == (2, task.permit.reserved.tokens_in + 100, 500 + 20)


async def test_a_slow_model_is_given_the_time_that_is_set(desk: Desk, server: ModelServer) -> None:
    await desk.ask(await desk.entry())
    desk.harness.runtime = replace(desk.runtime, ai=replace(desk.runtime.ai, lease=2 * LEASE))
    second = replace(desk.runtime, name="that worker")
    assert isinstance(await next_task(desk.runtime), Task)
    desk.pass_time(LEASE + SECOND)
    assert isinstance(await next_task(second), NothingDue)
    desk.pass_time(LEASE)
    assert isinstance(await next_task(second), Task)


async def test_an_answer_that_comes_after_its_lease_spoils_nothing(desk: Desk, server: ModelServer) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    late = await next_task(desk.runtime)
    assert isinstance(late, Task)
    desk.pass_time(LEASE + SECOND)
    second = replace(desk.runtime, name="that worker")
    current = await next_task(second)
    assert isinstance(current, Task)
    server.say(Reply(500))
    await write_task(desk.runtime, late)
    assert await desk.value("SELECT lease_holder FROM summary_queue") == "that worker"
    await write_task(second, current)
    assert (await desk.ask(entry)).status == "ready"


async def test_an_answer_outlives_a_database_that_is_busy(desk: Desk, server: ModelServer) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    task = await next_task(desk.runtime)
    assert isinstance(task, Task)
    await write_task(replace(desk.runtime, db=Stumbling(desk.runtime.db)), task)
    assert (await desk.ask(entry)).status == "ready"
    assert server.calls == 1


async def test_a_worker_that_stops_gives_its_work_back(desk: Desk, server: ModelServer) -> None:
    await desk.ask(await desk.entry())
    task = await next_task(desk.runtime)
    assert isinstance(task, Task)
    await give_back(desk.runtime, task)
    assert await desk.write() == 1


async def test_an_article_that_kills_its_worker_rests_in_the_end(desk: Desk) -> None:
    await desk.ask(await desk.entry())
    taken = 0
    for _ in range(8):
        taken += isinstance(await next_task(desk.runtime), Task)
        desk.pass_time(LEASE + SECOND)
    assert taken == 5
    assert await desk.value("SELECT cooldown_until FROM summary_queue") is not None


async def test_state_outlives_a_restart(desk: Desk, server: ModelServer, database_url: str) -> None:
    server.say(*[Reply(500)] * 5)
    await desk.ask(await desk.entry())
    await desk.ask(await desk.entry(f"{STORY} Another one."))
    await desk.write()
    before = await _usage(desk)
    async with open_harness(database_url) as harness:
        harness.runtime = replace(harness.runtime, ai=desk.runtime.ai)
        harness.clock.ahead = desk.harness.clock.ahead
        assert (await queue_state(harness.runtime)).breaker == "OPEN"
        assert (await queue_state(harness.runtime)).size == 2
        assert await _usage(Desk(harness, desk.user, desk.feed_id)) == before


async def _drain(runtime: Runtime) -> None:
    idle = 0
    while idle < 3:
        found = await next_task(runtime)
        if isinstance(found, Task):
            await write_task(runtime, found)
        elif isinstance(found, NothingDue):
            idle += 1
            await asyncio.sleep(0.01)


async def _writer(desk: Desk, entry: int) -> str:
    state = await desk.ask(entry)
    assert state.status == "ready" and state.summary is not None
    return state.summary.model


async def _row(desk: Desk) -> Any:
    rows = await desk.harness.rows("SELECT attempts, error_type FROM summary_queue")
    return (rows[0][0], rows[0][1])


async def _usage(desk: Desk) -> tuple[int, ...]:
    rows = await desk.harness.rows("SELECT sum(calls), sum(tokens_in), sum(tokens_out), sum(cost) FROM ai_usage")
    return tuple(int(value) for value in rows[0])

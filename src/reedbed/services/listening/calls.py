"""Calls of a speech endpoint: pause, budget and breaker as for the model. A program of this machine needs none."""

from dataclasses import replace

from reedbed.ai.speech import Sound, Speaker, SpeechFailed
from reedbed.domain.ai import MILLIONTHS, Breaker, Usage, failed, refusal, succeeded
from reedbed.domain.errors import Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.services.ai import ModelUnavailable, admit_call, book
from reedbed.services.runtime import Runtime
from reedbed.store import ai as ai_state

_UNIT = 1_000
"""Characters that the price is for."""


def usage_of(runtime: Runtime, characters: int) -> Usage:
    """Its characters have a limit of their own, so only the money counts."""
    return Usage(calls=1, cost=round(characters * runtime.speech.price * MILLIONTHS / _UNIT))


async def check_budget(runtime: Runtime, user_id: int, characters: int) -> None:
    """Before the first part is paid for: whether there is money for all of them."""
    speaker = runtime.speech.speaker
    if speaker is None or not speaker.is_remote:
        return
    async with runtime.db.read() as tx:
        spent = await ai_state.spent_today(tx, user_id, runtime.now())
    exceeded = refusal(runtime.ai.budget, spent, usage_of(runtime, characters))
    if exceeded is not None:
        raise SpeechFailed(Failure(FailureCode.BUDGET_EXCEEDED, cause=Failure(exceeded)))


async def speak(runtime: Runtime, speaker: Speaker, user_id: int, text: str, language: str, voice: str) -> Sound:
    if not speaker.is_remote:
        return await speaker.speak(text, language, voice)
    usage, at = usage_of(runtime, len(text)), runtime.now()
    await _enter(runtime, speaker.name, user_id, usage)
    try:
        sound = await speaker.speak(text, language, voice)
    except Unavailable:
        await _record_result(runtime, speaker.name, worked=False)
        async with runtime.db.write() as tx:
            await ai_state.add_usage(tx, Usage(cost=-usage.cost), user_id, at)
        raise
    await _record_result(runtime, speaker.name, worked=True)
    return sound


async def _enter(runtime: Runtime, name: str, user_id: int, usage: Usage) -> None:
    now = runtime.now()
    policy = replace(runtime.ai.breaker, min_interval=0)  # the parts of a text follow each other
    async with runtime.db.write() as tx:
        admitted = await admit_call(tx, runtime, [_row_of(name)], policy, now)
        if not isinstance(admitted, ModelUnavailable):
            refused = await book(tx, runtime, _row_of(name), admitted[1], usage, user_id, now)
        else:
            refused = admitted
    if refused is None:
        return
    if refused.why.code in (FailureCode.BUDGET_EXCEEDED, FailureCode.BUDGET_SPENT):
        raise SpeechFailed(refused.why)
    raise Unavailable(refused.why)


async def _record_result(runtime: Runtime, name: str, *, worked: bool) -> None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        before: Breaker = (await ai_state.lock_breakers(tx, [_row_of(name)]))[_row_of(name)]
        change = succeeded if worked else failed
        after = change(before, runtime.ai.breaker, now)
        if after != before:
            await ai_state.save_breaker(tx, _row_of(name), after)


def _row_of(name: str) -> str:
    """Its breaker is not that of a model with the same name."""
    return f"speech:{name}"

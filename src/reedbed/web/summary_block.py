"""The summary above an article, as the page shows it."""

from datetime import tzinfo

from fastapi import Request

from reedbed.domain.accounts import Caller
from reedbed.domain.entries import Entry
from reedbed.domain.summaries import EXTRACT, SummaryState, Wait
from reedbed.domain.times import Instant
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import one_lines_for, shown_summary
from reedbed.services.writers import variant_for_feed
from reedbed.store.database import Tx
from reedbed.web.moments import coming_moment
from reedbed.web.sentences import retell
from reedbed.web.speech import translate
from reedbed.web.views.reading import Summary

LEAST_WORDS = 120
"""A shorter entry is read as quickly as its summary."""
SECONDS = 4
SECONDS_BUILT_IN = 1


async def summary_above(request: Request, runtime: Runtime, tx: Tx, entry: Entry) -> Summary | None:
    """What is there; where nobody has asked yet, the block asks by itself once it is shown."""
    caller = _caller(request)
    if caller is None or (entry.row.words < LEAST_WORDS and not entry.full_content):
        return None
    variant = await variant_for_feed(tx, runtime, caller.user, entry.row.feed_id)
    state = await shown_summary(tx, entry, variant)
    if state is None:
        return summary_view(SummaryState("pending", model=variant.model), asked=False)
    return summary_view(state)


async def lines_for(request: Request, runtime: Runtime, tx: Tx, ids: list[int]) -> dict[int, str]:
    caller = _caller(request)
    return {} if caller is None else await one_lines_for(tx, runtime, caller.user, ids)


def summary_view(state: SummaryState, *, asked: bool = True, why: str = "") -> Summary:
    built_in = state.model == EXTRACT
    if state.status == "ready" and state.summary is not None:
        by = translate("Built-in extract") if built_in else state.model
        instead = (why or retell(state.error or "")) if state.fallback else ""
        return Summary("ready", text=state.summary.text, by=by, language=state.summary.language, why=instead)
    if state.status == "failed" or (why and not state.fallback):
        return Summary("unavailable", why=why or retell(state.error or ""))
    return Summary("pending", asked=asked, seconds=SECONDS_BUILT_IN if built_in else SECONDS)


def waiting_told(wait: Wait | None, now: Instant, zone: tzinfo) -> str:
    match wait:
        case None:
            return ""
        case Wait("paused"):
            return translate("Summaries are paused by the operator. Reading is not affected.")
        case Wait("silence", since, until) if since is not None and until is not None:
            return translate(
                "Summaries are paused. The model stopped answering at %(since)s. "
                "Reading is not affected; the next try is at %(until)s.",
                since=coming_moment(since, now, zone),
                until=coming_moment(until, now, zone),
            )
        case _:
            return translate("Summaries wait: the budget for the model is used up. Reading is not affected.")


def _caller(request: Request) -> Caller | None:
    return getattr(request.state, "caller", None)

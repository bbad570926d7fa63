"""Write what several checks found in one transaction, then tell the bus."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reedbed.domain.checks import FetchState
from reedbed.domain.hints import Hint
from reedbed.services.arrival import NewRows, decide_on_arrival
from reedbed.services.feed_moves import adopt_address
from reedbed.services.findings import Finding, Stored
from reedbed.services.framing_jobs import ask_if_wanted
from reedbed.services.pushes import leave_news
from reedbed.services.rule_arrival import Forecast, foresee
from reedbed.services.runtime import Runtime
from reedbed.services.search_upkeep import reindex
from reedbed.services.webhook_calls import leave_entries
from reedbed.store import (
    entry_writes,
    feed_history,
    feeds,
    fetch_state,
    full_articles,
    removed,
    search,
    websub,
)
from reedbed.store.database import Tx
from reedbed.store.entry_writes import EntryRow


async def write_findings(runtime: Runtime, findings: Sequence[Finding]) -> list[Stored]:
    """All or nothing; one `Stored` each. What lost its lease meanwhile is left to its new holder."""
    forecast = await foresee(runtime, findings)
    async with runtime.db.write() as tx:
        kept = await _still_ours(tx, runtime.name, findings)
        stored = await _write(tx, runtime, kept, forecast)
    for each in stored.values():
        await _announce(runtime, each)
    return [stored.get(finding.due.id, Stored(feed_id=finding.due.id)) for finding in findings]


async def _still_ours(tx: Tx, holder: str, findings: Sequence[Finding]) -> list[Finding]:
    loud = [finding.due.id for finding in findings if not finding.quiet]
    if not loud:
        return list(findings)
    held = await fetch_state.held(tx, loud, holder)
    return [finding for finding in findings if finding.quiet or finding.due.id in held]


async def _write(
    tx: Tx, runtime: Runtime, findings: Sequence[Finding], forecast: Forecast
) -> dict[int, Stored]:
    new = await _insert(tx, findings)
    changed = await _rewrite(tx, findings)
    await feeds.describe(tx, [(each.due.id, each.about) for each in findings if each.about])
    await _write_states(tx, runtime, findings, new)
    await feed_history.add(tx, [each.tally for each in findings])
    listed = [
        (each.due.id, each.removed) for each in findings if each.removed is not None and not each.pushed
    ]
    await removed.note_listed(tx, listed, runtime.now())
    # What a feed held before anybody here followed it is no news to be told of.
    first = {each.due.id for each in findings if each.due.first_fetch}
    reached = await decide_on_arrival(tx, new, runtime.now(), forecast)
    news = {id_: [entry_id for entry_id, _ in rows] for id_, rows in new.items() if id_ not in first}
    await leave_news(tx, news, reached, runtime.now())
    await leave_entries(tx, news, runtime.now())
    stored = {
        each.due.id: Stored(
            [id_ for id_, _ in new.get(each.due.id, ())], changed.get(each.due.id, ()), each.due.id
        )
        for each in findings
    }
    for each in findings:
        if each.moved_to:
            move = await adopt_address(tx, each.due, each.moved_to, runtime.now())
            stored[each.due.id] = replace(stored[each.due.id], feed_id=move.feed_id, moved=move.users)
    touched = [told.feed_id for told in stored.values() if told.new or told.changed]
    await ask_if_wanted(tx, touched, runtime.now())
    return stored


async def _write_states(tx: Tx, runtime: Runtime, findings: Sequence[Finding], new: NewRows) -> None:
    states = [(each, _state(each, new.get(each.due.id, ()))) for each in findings]
    await fetch_state.write(tx, runtime.name, [(each.due, to) for each, to in states if not each.pushed])
    pushed = [(each.due.id, to) for each, to in states if each.pushed]
    if pushed:
        await fetch_state.write_pushed(tx, runtime.name, pushed)
    for each in findings:
        checked = each.due.state.last_checked_at
        if each.due.id in new and not each.pushed and each.due.hub_was_watched and checked is not None:
            await websub.note_missed(tx, each.due.id, len(new[each.due.id]), checked, runtime.now())


async def _insert(tx: Tx, findings: Iterable[Finding]) -> NewRows:
    rows = [row for finding in findings for row in finding.news]
    if not rows:
        return {}
    new: dict[int, list[tuple[int, EntryRow]]] = {}
    stored = await entry_writes.insert_new(tx, rows)
    await search.index(tx, [(id_, row.text.search) for id_, row in stored])
    for id_, row in stored:
        new.setdefault(row.feed_id, []).append((id_, row))
    return new


async def _rewrite(tx: Tx, findings: Iterable[Finding]) -> Mapping[int, Sequence[int]]:
    rewrites = {each.entry_id: each for finding in findings for each in finding.rewrites}
    if not rewrites:
        return {}
    changed: dict[int, list[int]] = {}
    ids = await entry_writes.rewrite(tx, list(rewrites.values()))
    whole = await full_articles.read_whole(tx, ids)
    await search.index(tx, [(id_, rewrites[id_].text.search) for id_ in ids if id_ not in whole])
    if whole:
        await reindex(tx, list(whole))
    for id_ in ids:
        changed.setdefault(rewrites[id_].feed_id, []).append(id_)
    return changed


def _state(finding: Finding, new: Sequence[tuple[int, EntryRow]]) -> FetchState:
    listed = [*finding.listed, *(id_ for id_, _ in new)]
    if not listed:
        return finding.state
    return replace(
        finding.state,
        oldest_listed_id=min(listed),
        newest_entry_id=max(finding.state.newest_entry_id, max(listed)),
    )


async def _announce(runtime: Runtime, stored: Stored) -> None:
    for user_id in stored.moved:
        await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    if stored.moved:
        # Not everybody who follows the feed sees the entries that came along.
        return
    if stored.new:
        await runtime.bus.publish(_hint("new_entry", stored.feed_id, stored.new))
    if stored.changed:
        await runtime.bus.publish(_hint("entry_updated", stored.feed_id, stored.changed))


def _hint(topic: str, feed_id: int, ids: Sequence[int]) -> Hint:
    return Hint(topic, feed_id=feed_id, data={"feed_id": str(feed_id), "ids": [str(id_) for id_ in ids]})

"""What is kept, and for how long: the decisions."""

from datetime import UTC, datetime

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.instance import moment_of, name_of, newest_of, surplus
from reedbed.domain.refresh.dedupe import (
    ExistingEntry,
    FilteredEntries,
    Seen,
    Traits,
    change_hash,
    filter_entries,
    plan_rest,
)
from reedbed.domain.retention import (
    RetentionLimits,
    RetentionOverride,
    check_retention_override,
    cut_short,
    effective_limits,
    in_use,
    is_due,
    keys_of,
    removed_keys,
    shorter_ages,
    with_removed,
)
from reedbed.domain.times import DAY, HOUR, from_datetime
from reedbed.domain.urls import normalize_url

SERVER = RetentionLimits(entries=500, age=365 * DAY, unread_age=90 * DAY)


def test_whoever_wants_most_of_a_feed_has_it() -> None:
    both = effective_limits(
        SERVER, [RetentionOverride(entries=10, days=400), RetentionOverride(entries=50, unread_days=7)]
    )
    assert both == RetentionLimits(entries=50, age=400 * DAY, unread_age=90 * DAY)


def test_a_follower_without_a_wish_has_the_servers_limits() -> None:
    assert effective_limits(SERVER, [RetentionOverride(days=1), RetentionOverride()]) == SERVER


def test_zero_is_without_limit() -> None:
    assert effective_limits(SERVER, [RetentionOverride(days=0), RetentionOverride(days=5)]).age is None
    assert effective_limits(SERVER, [RetentionOverride(entries=0, unread_days=0)]) == RetentionLimits(
        None, 365 * DAY, None
    )


@pytest.mark.parametrize(
    "wish", [RetentionOverride(entries=-1), RetentionOverride(days=-1), RetentionOverride(unread_days=10**9)]
)
def test_an_impossible_wish_is_refused(wish: RetentionOverride) -> None:
    with pytest.raises(Invalid):
        check_retention_override(wish)


def test_a_database_that_is_too_large_overrules_wishes() -> None:
    assert cut_short(RetentionLimits(age=None), 60 * DAY).age == 60 * DAY
    assert cut_short(RetentionLimits(age=30 * DAY), 60 * DAY).age == 30 * DAY


def test_ages_shorten_by_a_month_down_to_one() -> None:
    ages = [age // DAY for age in shorter_ages(365 * DAY, oldest=1_000 * DAY)]
    assert ages == [335, 305, 275, 245, 215, 185, 155, 125, 95, 65, 35, 30]
    assert list(shorter_ages(30 * DAY, oldest=1_000 * DAY)) == []


def test_without_a_limit_the_oldest_entry_is_where_to_begin() -> None:
    assert [age // DAY for age in shorter_ages(None, oldest=100 * DAY)] == [70, 40, 30]


def at(hour: int, day: int = 2) -> datetime:
    return datetime(2026, 1, day, hour, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("last", "now", "due"),
    [
        (at(3, day=1), at(2), False),
        (at(3, day=1), at(3), True),
        (at(3, day=1), at(20), True),
        (at(3), at(4), False),
        (None, at(3), True),
        (None, at(12), False),
    ],
)
def test_a_cleanup_is_due_once_a_night(last: datetime | None, now: datetime, *, due: bool) -> None:
    before = None if last is None else from_datetime(last)
    assert is_due(before, from_datetime(now), now, hour=3) is due


def test_freed_space_does_not_count_as_in_use() -> None:
    used, leanest = in_use(1_000_000, entries=1_000, leanest=None)
    assert used == 1_000_000
    assert in_use(1_000_000, entries=100, leanest=leanest) == (100_000, leanest)


def entry(guid: str | None, url: str | None, title: str = "t") -> ParsedEntry:
    return ParsedEntry(guid, url, title, "c")


@pytest.mark.parametrize(
    ("gone", "again"),
    [
        (entry("g", "https://x.org/a"), entry("g", "https://x.org/a", "changed")),
        (entry("g", "https://x.org/a"), entry("other", "https://x.org/a?utm_source=x")),
        (entry(None, None, "words"), entry(None, None, "words")),
    ],
)
def test_a_removed_entry_is_known_again(gone: ParsedEntry, again: ParsedEntry) -> None:
    url = normalize_url(gone.url) if gone.url else None
    keys = set(removed_keys(gone.guid, url, change_hash(gone.title, gone.content)))
    assert keys & set(keys_of(again))
    sifted = filter_entries([again, entry("new", "https://x.org/new")], {}, Traits())
    plan = plan_rest(sifted, with_removed(sifted, ExistingEntry(), keys), Traits(), HOUR)
    assert list(plan.forgotten) == [again]
    assert [new.guid for new in plan.new] == ["new"]


def test_what_is_there_goes_before_what_was_removed() -> None:
    there = Seen(7, "https://x.org/a", "h")
    sifted: FilteredEntries = filter_entries([entry("g", "https://x.org/a")], {}, Traits())
    keys = set(removed_keys("g", None, ""))
    assert with_removed(sifted, ExistingEntry(by_guid={"g": there}), keys).by_guid["g"] is there


def test_only_our_own_copies_are_surplus() -> None:
    names = [name_of(day * DAY) for day in range(20_000, 20_004)]
    assert surplus([*names, "mine.db", "daily-99999999-999999.db"], 2, 20_003 * DAY) == names[1::-1]
    assert moment_of(names[0]) == 20_000 * DAY
    assert moment_of("daily-20260101-000000.db.part") is None


def test_copies_that_a_wrong_clock_named_are_neither_the_newest_nor_kept_for_ever() -> None:
    right = [name_of(day * DAY) for day in range(20_000, 20_003)]
    ahead = [name_of(day * DAY) for day in range(24_000, 24_003)]
    now = 20_002 * DAY
    assert newest_of([*ahead, *right], now) == now
    assert newest_of(ahead, now) is None
    assert surplus([*ahead, *right], 4, now) == ahead[1::-1]

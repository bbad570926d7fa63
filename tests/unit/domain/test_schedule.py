import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.feeds import CheckSchedule
from reedbed.domain.refresh import schedule
from reedbed.domain.refresh.outcomes import CacheHeaders
from reedbed.domain.refresh.schedule import Bounds, IntervalRule, NextCheck, PublishPattern
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis

NOW: Instant = 1_800_000_000_000
NONE = CacheHeaders()
UNKNOWN = PublishPattern()
MIDDLE = 0.5


def every(gap: Millis, *, newest: Instant = NOW - MINUTE, count: int = 12) -> PublishPattern:
    return PublishPattern(times=[newest - gap * i for i in range(count)])


def succeed(publish_pattern: PublishPattern = UNKNOWN, hints: CacheHeaders = NONE, jitter: float = MIDDLE) -> NextCheck:
    return schedule.next_check_after_success(NOW, publish_pattern, hints, jitter=jitter)


def fail(
    failures: int, publish_pattern: PublishPattern = UNKNOWN, hints: CacheHeaders = NONE, jitter: float = MIDDLE
) -> NextCheck:
    return schedule.next_check_after_failure(NOW, publish_pattern, hints, failures=failures, jitter=jitter)


def test_a_feed_without_history_is_checked_at_the_base_interval() -> None:
    assert succeed() == NextCheck(at=NOW + 30 * MINUTE, rule=IntervalRule.BASE, delay=30 * MINUTE)
    assert succeed(PublishPattern(times=[NOW, NOW, NOW - HOUR])).rule == IntervalRule.BASE


@pytest.mark.parametrize(
    ("publish_pattern", "delay", "rule"),
    [
        (every(90 * MINUTE), 45 * MINUTE, IntervalRule.RHYTHM),
        (every(MINUTE), 15 * MINUTE, IntervalRule.BUSY),
        (every(30 * DAY), 24 * HOUR, IntervalRule.SLOW),
        (every(HOUR, newest=NOW - 10 * DAY), 12 * HOUR, IntervalRule.QUIET),
        (every(HOUR, newest=NOW - 3000 * DAY), 24 * HOUR, IntervalRule.SLOW),
        (PublishPattern(subscriber_interval=MINUTE), 15 * MINUTE, IntervalRule.SUBSCRIBER),
        (PublishPattern(subscriber_interval=3 * DAY), 24 * HOUR, IntervalRule.SUBSCRIBER),
        (PublishPattern(subscriber_interval=HOUR, operator=5 * MINUTE), 5 * MINUTE, IntervalRule.OPERATOR),
        (PublishPattern(operator=30 * HOUR), 30 * HOUR, IntervalRule.OPERATOR),
        (PublishPattern(operator=SECOND), MINUTE, IntervalRule.OPERATOR),
        (PublishPattern(rhythm=CheckSchedule(interval=2 * HOUR)), 2 * HOUR, IntervalRule.HINT),
        (PublishPattern(rhythm=CheckSchedule(interval=5 * MINUTE)), 30 * MINUTE, IntervalRule.BASE),
        (PublishPattern(rhythm=CheckSchedule(interval=30 * DAY)), 24 * HOUR, IntervalRule.HINT),
    ],
)
def test_the_interval_comes_from_the_feed_its_people_and_its_operator(
    publish_pattern: PublishPattern, delay: Millis, rule: IntervalRule
) -> None:
    check = succeed(publish_pattern)
    assert (check.delay, check.rule) == (delay, rule)
    assert abs(check.at - NOW - delay) <= delay // 20


def test_entries_dated_in_the_future_say_nothing() -> None:
    times = [NOW + DAY * i for i in range(1, 9)]
    assert succeed(PublishPattern(times=times)).rule == IntervalRule.BASE


def test_one_long_holiday_does_not_change_the_rhythm() -> None:
    usual = every(2 * HOUR).times
    older = [moment - 60 * DAY for moment in usual[4:]]
    assert succeed(PublishPattern(times=[*usual[:8], *older])).delay == HOUR


@pytest.mark.parametrize(
    ("hints", "delay", "rule"),
    [
        (CacheHeaders(retry_after=NOW + 2 * HOUR), 2 * HOUR, IntervalRule.RETRY_AFTER),
        (CacheHeaders(retry_after=NOW - HOUR), 30 * MINUTE, IntervalRule.BASE),
        (CacheHeaders(cache_control="max-age=7200"), 2 * HOUR, IntervalRule.FRESHNESS),
        (CacheHeaders(cache_control="max-age=60"), 30 * MINUTE, IntervalRule.BASE),
        (CacheHeaders(expires=NOW + 3 * HOUR), 3 * HOUR, IntervalRule.FRESHNESS),
        (CacheHeaders(retry_after=NOW + 90 * DAY), 48 * HOUR, IntervalRule.CAP),
    ],
)
def test_the_server_may_lengthen_the_wait_up_to_the_cap(hints: CacheHeaders, delay: Millis, rule: IntervalRule) -> None:
    check = succeed(hints=hints)
    assert (check.delay, check.rule) == (delay, rule)


@pytest.mark.parametrize("jitter", [0.0, 0.3, 1.0])
def test_jitter_never_brings_us_back_before_the_server_said(jitter: float) -> None:
    assert succeed(hints=CacheHeaders(retry_after=NOW + 2 * HOUR), jitter=jitter).at >= NOW + 2 * HOUR
    assert succeed(hints=CacheHeaders(cache_control="max-age=7200"), jitter=jitter).at >= NOW + 2 * HOUR
    assert fail(1, hints=CacheHeaders(retry_after=NOW + 2 * HOUR), jitter=jitter).at >= NOW + 2 * HOUR


def test_jitter_spreads_a_tenth_either_way() -> None:
    assert succeed(jitter=0).at == NOW + 27 * MINUTE
    assert succeed(jitter=1).at == NOW + 33 * MINUTE
    assert succeed(jitter=1).delay == 30 * MINUTE


@pytest.mark.parametrize("jitter", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize(
    "publish_pattern",
    [
        every(MINUTE),
        every(33 * MINUTE),
        every(30 * DAY),
        every(47 * HOUR),
        PublishPattern(pushed=True),
        PublishPattern(subscriber_interval=MINUTE),
    ],
)
def test_jitter_stays_between_a_quarter_of_an_hour_and_a_day(publish_pattern: PublishPattern, jitter: float) -> None:
    assert NOW + 15 * MINUTE <= succeed(publish_pattern, jitter=jitter).at <= NOW + 24 * HOUR


def test_jitter_also_spreads_feeds_at_the_bounds() -> None:
    for publish_pattern in (every(MINUTE), every(30 * DAY)):
        assert len({succeed(publish_pattern, jitter=step / 10).at for step in range(11)}) == 11


@pytest.mark.parametrize("days", [3, 8, 100, 100_000])
def test_an_answer_that_stays_fresh_for_long_waits_for_the_cap(days: int) -> None:
    for hints in (CacheHeaders(cache_control=f"max-age={days * 86_400}"), CacheHeaders(expires=NOW + days * DAY)):
        check = succeed(hints=hints)
        assert (check.at, check.rule) == (NOW + 48 * HOUR, IntervalRule.CAP)


@pytest.mark.parametrize(
    ("header", "expires", "span"),
    [
        ("public, max-age=3600", None, HOUR),
        ('Max-Age="3600"', None, HOUR),
        ("s-maxage=10, max-age=600", NOW + DAY, 10 * MINUTE),
        ("s-maxage=3600", None, None),
        ("no-cache, max-age=3600", NOW + HOUR, None),
        ("no-store", NOW + HOUR, None),
        ("max-age=0", NOW + HOUR, None),
        ("max-age=59", None, None),
        ("max-age=8640000", None, 100 * DAY),
        ("max-age=-1", NOW + HOUR, HOUR),
        (None, NOW + HOUR, HOUR),
        (None, NOW - HOUR, None),
        (None, None, None),
        ("max-age=" + "9" * 500, None, (10**12 - 1) * SECOND),
    ],
)
def test_freshness_is_read_from_the_headers(header: str | None, expires: Instant | None, span: Millis | None) -> None:
    assert schedule.freshness(header, expires, NOW) == span


@pytest.mark.parametrize(("failures", "minutes"), [(1, 54.0), (2, 97.2), (3, 174.96), (8, 2880), (5000, 2880)])
def test_failures_back_off_by_1_8_up_to_the_cap(failures: int, minutes: float) -> None:
    check = fail(failures)
    assert check.delay == int(minutes * MINUTE)
    assert check.rule == IntervalRule.BACKOFF


def test_after_a_failure_the_longest_of_the_three_counts() -> None:
    assert fail(1, every(20 * HOUR)).delay == 10 * HOUR
    assert fail(1, hints=CacheHeaders(retry_after=NOW + 5 * HOUR)).rule == IntervalRule.RETRY_AFTER
    assert fail(1, hints=CacheHeaders(cache_control="max-age=86400")).delay == 54 * MINUTE


def test_skipped_hours_and_days_push_the_check_on() -> None:
    midnight = NOW // DAY * DAY
    night = PublishPattern(rhythm=CheckSchedule(skip_hours=frozenset(range(6))))
    check = schedule.next_check_after_success(midnight, night, NONE, jitter=MIDDLE)
    assert (check.at, check.rule) == (midnight + 6 * HOUR, IntervalRule.SKIP)
    never = PublishPattern(rhythm=CheckSchedule(skip_hours=frozenset(range(24))))
    assert schedule.next_check_after_success(midnight, never, NONE, jitter=MIDDLE).rule == IntervalRule.BASE
    asked = PublishPattern(rhythm=night.rhythm, subscriber_interval=30 * MINUTE)
    assert schedule.next_check_after_success(midnight, asked, NONE, jitter=MIDDLE).rule == IntervalRule.SUBSCRIBER


SPANS = st.integers(-DAY, 400 * DAY)


@given(
    times=st.lists(st.integers(NOW - 900 * DAY, NOW + 900 * DAY), max_size=40),
    operator=st.none() | SPANS,
    subscriber_interval=st.none() | SPANS,
    hint=st.none() | SPANS,
    hours=st.frozensets(st.integers(0, 23)),
    days=st.frozensets(st.integers(0, 6)),
    retry=st.none() | SPANS,
    age=st.none() | st.integers(0, 10**9),
    failures=st.integers(1, 10**6),
    jitter=st.floats(0, 1),
    base=st.integers(1, 9 * DAY),
    cap=st.integers(1, 9 * DAY),
)
def test_every_next_check_lies_between_a_minute_and_the_cap(
    times: list[Instant],
    operator: Millis | None,
    subscriber_interval: Millis | None,
    hint: Millis | None,
    hours: frozenset[int],
    days: frozenset[int],
    retry: Millis | None,
    age: int | None,
    failures: int,
    jitter: float,
    base: Millis,
    cap: Millis,
) -> None:
    publish_pattern = PublishPattern(times, CheckSchedule(hint, hours, days), operator, subscriber_interval)
    hints = CacheHeaders(
        retry_after=None if retry is None else NOW + retry, cache_control=None if age is None else f"max-age={age}"
    )
    bounds = Bounds(base=base, cap=cap)
    good = schedule.next_check_after_success(NOW, publish_pattern, hints, jitter=jitter, bounds=bounds)
    bad = schedule.next_check_after_failure(
        NOW, publish_pattern, hints, failures=failures, jitter=jitter, bounds=bounds
    )
    for check in (good, bad):
        assert NOW + MINUTE <= check.at <= NOW + max(cap, MINUTE)
        assert schedule.explain(check.rule, check.delay).endswith(".")


def test_the_rule_can_be_told_to_people() -> None:
    assert (
        schedule.explain("rhythm", 45 * MINUTE)
        == "Checked every 45 minutes, because the feed publishes about every 90 minutes."
    )
    assert (
        schedule.explain("quiet", 12 * HOUR)
        == "Checked every 12 hours, because nothing has been published for 10 days."
    )
    assert schedule.explain("retry_after", HOUR) == "Checked again after 60 minutes, because the server asked to wait."
    assert schedule.explain("cap", MINUTE).startswith("Checked again after a minute, because")
    assert schedule.explain("from an older version", DAY) == "Checked every 24 hours."


@pytest.mark.parametrize(
    ("span", "words"), [(30 * SECOND, "30 seconds"), (MINUTE, "minute"), (2 * HOUR, "2 hours"), (2 * DAY, "2 days")]
)
def test_spans_are_spelled(span: Millis, words: str) -> None:
    assert schedule.format_duration(span) == words

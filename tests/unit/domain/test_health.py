from dataclasses import replace

import pytest

from reedbed.domain.instance import MIN_FREE, SILENT_AFTER, STUCK_AFTER, Measured, problems

WELL = Measured(
    free_bytes=MIN_FREE,
    too_large=False,
    backup_failed=False,
    workers=1,
    oldest_in_queue=STUCK_AFTER,
    oldest_job=STUCK_AFTER,
    breaker_open_for=STUCK_AFTER,
    overdue=SILENT_AFTER,
    last_check=SILENT_AFTER,
    checks=100,
    failures=99,
)


def test_at_every_limit_all_is_still_well():
    assert problems(WELL) == ()
    assert problems(replace(WELL, free_bytes=None)) == ()


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"free_bytes": MIN_FREE - 1}, "disk"),
        ({"too_large": True}, "size"),
        ({"backup_failed": True}, "backup"),
        ({"workers": 0}, "workers"),
        ({"overdue": SILENT_AFTER + 1, "last_check": SILENT_AFTER + 1}, "fetching"),
        ({"overdue": SILENT_AFTER + 1, "last_check": None}, "fetching"),
        ({"failures": 100}, "network"),
        ({"oldest_in_queue": STUCK_AFTER + 1}, "queue"),
        ({"oldest_job": STUCK_AFTER + 1}, "jobs"),
        ({"breaker_open_for": STUCK_AFTER + 1}, "breaker"),
    ],
)
def test_beyond_a_limit_one_problem_is_told_with_its_remedy(change, check):
    (problem,) = problems(replace(WELL, **change))
    assert problem.check == check
    assert problem.text.count(". ") >= 1 or ", " in problem.text


def test_a_slow_crawl_is_no_standstill():
    assert problems(replace(WELL, overdue=10 * SILENT_AFTER, last_check=1)) == ()


def test_a_few_failures_are_those_of_the_sites():
    assert problems(replace(WELL, checks=19, failures=19)) == ()

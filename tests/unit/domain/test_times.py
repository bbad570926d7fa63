"""Moments as text: the same as the standard library says it, over all the years there are."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from reedbed.domain.times import EARLIEST, LATEST, from_datetime, rfc3339, to_datetime


@given(some.integers(EARLIEST // 1000, LATEST // 1000))
def test_whole_seconds_read_as_the_standard_library_writes_them(seconds: int) -> None:
    moment = seconds * 1000
    assert rfc3339(moment) == to_datetime(moment).isoformat().replace("+00:00", "Z")


@given(some.integers(0, 4_000_000_000_000))
def test_a_moment_read_again_is_the_same(moment: int) -> None:
    assert abs(from_datetime(datetime.fromisoformat(rfc3339(moment))) - moment) <= 1


def test_the_edges_of_time() -> None:
    assert rfc3339(EARLIEST) == "0001-01-01T00:00:00Z"
    assert rfc3339(LATEST) == "9999-12-31T23:59:59.999Z"
    assert rfc3339(-1) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize("written", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+00:01"])
def test_no_offset_leads_out_of_the_years_there_are(written: str) -> None:
    with pytest.raises(ValueError, match="9999"):
        from_datetime(datetime.fromisoformat(written))

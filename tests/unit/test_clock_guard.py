from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND
from reedbed.services.runtime import ClockGuard


class Uptime:
    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> float:
        return self.ms / SECOND


def test_a_clock_that_goes_is_trusted() -> None:
    uptime = Uptime()
    steady = ClockGuard(uptime)
    for minute in range(600):
        uptime.ms = minute * MINUTE
        assert steady.is_trusted(1_000 * DAY + minute * MINUTE + minute % 7 * SECOND)


def test_a_clock_that_jumped_is_trusted_again_after_an_hour() -> None:
    for jump in (3650 * DAY, -3650 * DAY, 2 * HOUR):
        uptime = Uptime()
        steady = ClockGuard(uptime)
        steady.note(5_000 * DAY)
        uptime.ms += MINUTE
        assert not steady.is_trusted(5_000 * DAY + MINUTE + jump)
        uptime.ms += 59 * MINUTE
        assert not steady.is_trusted(5_000 * DAY + HOUR + jump)
        uptime.ms += 2 * MINUTE
        assert steady.is_trusted(5_000 * DAY + HOUR + 2 * MINUTE + jump)

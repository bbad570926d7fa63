"""Format times and durations for people, in the user's time zone."""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from fastapi import Request

from reedbed.domain.refresh.schedule import round_duration
from reedbed.domain.times import DAY, HOUR, MINUTE, Instant, Millis, from_datetime, rfc3339, to_datetime
from reedbed.domain.users import Caller
from reedbed.services.users import preferences_of
from reedbed.web.i18n import current_conventions, decimal, grouped, ngettext, translate
from reedbed.web.views.layout import TimeView

ZONE_COOKIE = "reedbed_zone"


def zone_of(request: Request) -> tzinfo:
    """The user's chosen time zone, else the browser's (from a cookie)."""
    caller: Caller | None = getattr(request.state, "caller", None)
    chosen = preferences_of(caller.user).time_zone if caller else ""
    return _zone(chosen or request.cookies.get(ZONE_COOKIE, "")[:64])


def short_time(moment: Instant, now: Instant, zone: tzinfo) -> TimeView:
    """For a row: the time for today and yesterday, else the date."""
    local, today = _local(moment, zone), _local(now, zone)
    if (today.date() - local.date()).days <= 1:
        return TimeView(rfc3339(moment), _clock(local))
    return TimeView(rfc3339(moment), _date(local, with_year=local.year != today.year))


def seen(time: TimeView) -> TimeView:
    """For an entry without a date: when it was seen first."""
    return TimeView(time.iso, translate("seen %(time)s", time=time.words))


def dated_time(moment: Instant, now: Instant, zone: tzinfo) -> TimeView:
    """For a row without a day heading: the time for today only, else the date."""
    local, today = _local(moment, zone), _local(now, zone)
    text = _clock(local) if local.date() == today.date() else _date(local, with_year=local.year != today.year)
    return TimeView(rfc3339(moment), text)


def full_time(moment: Instant, now: Instant, zone: tzinfo) -> TimeView:
    """For an article: `Wed 14 May, 08:12`."""
    local, today = _local(moment, zone), _local(now, zone)
    ways = current_conventions()
    day = ways.weekday_date(local, with_year=local.year != today.year)
    return TimeView(rfc3339(moment), ways.date_time.format(date=day, time=ways.clock(local)))


def format_future_time(moment: Instant, now: Instant, zone: tzinfo) -> str:
    """For a time in the future: `08:50`, `tomorrow 04:00`, `14 May`."""
    local, today = _local(moment, zone), _local(now, zone)
    days = (local.date() - today.date()).days
    if days == 0:
        return _clock(local)
    if days == 1:
        return translate("tomorrow %(time)s", time=_clock(local))
    return _date(local, with_year=local.year != today.year)


def day_of(moment: Instant, now: Instant, zone: tzinfo) -> tuple[str, str]:
    """A key and a label for the day: today, yesterday, or its date."""
    local, today = _local(moment, zone).date(), _local(now, zone).date()
    if local == today:
        return local.isoformat(), translate("Today")
    if local == today - timedelta(days=1):
        return local.isoformat(), translate("Yesterday")
    return local.isoformat(), current_conventions().weekday_date(local, with_year=local.year != today.year)


def start_of_day(now: Instant, zone: tzinfo) -> Instant:
    return from_datetime(_local(now, zone).replace(hour=0, minute=0, second=0, microsecond=0))


def ago(moment: Instant, now: Instant) -> str:
    """`2 min ago`."""
    span = max(0, now - moment)
    if span < MINUTE:
        return translate("just now")
    if span < HOUR:
        return ngettext("%(num)s min ago", "%(num)s min ago", span // MINUTE)
    if span < DAY:
        return ngettext("%(num)s hour ago", "%(num)s hours ago", span // HOUR)
    return ngettext("%(num)s day ago", "%(num)s days ago", span // DAY)


MEGABYTE = 1_000_000


def format_size(size: int) -> str:
    if size < MEGABYTE:
        return translate("%(size)s KB", size=grouped(round(size / 1024)))
    return translate("%(size)s MB", size=decimal(size / MEGABYTE, 1))


def format_interval(span: Millis) -> str:
    """Text to follow `every`: `45 minutes`, `hour`."""
    number, unit = round_duration(span)
    match unit:
        case "second":
            return ngettext("second", "%(num)s seconds", number)
        case "minute":
            return ngettext("minute", "%(num)s minutes", number)
        case "hour":
            return ngettext("hour", "%(num)s hours", number)
        case "day":
            return ngettext("day", "%(num)s days", number)


def _date(local: datetime, *, with_year: bool) -> str:
    return current_conventions().short_date(local, with_year=with_year)


def _clock(local: datetime) -> str:
    return current_conventions().clock(local)


def _local(moment: Instant, zone: tzinfo) -> datetime:
    return to_datetime(moment).astimezone(zone)


@lru_cache(maxsize=100)
def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC

"""How much of a feed a reader wants kept, as choices of its form."""

from collections.abc import Callable, Sequence

from reedbed.domain.errors import Invalid
from reedbed.domain.retention import Wish
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Choice
from reedbed.web.views.managing import KeepChoices

DAYS = (30, 90, 180, 365, 1_095)
UNREAD_DAYS = (7, 30, 90, 365)
ENTRIES = (50, 100, 500, 1_000, 5_000)


def keep_choices(wish: Wish) -> KeepChoices:
    return KeepChoices(
        days=_choices(wish.days, DAYS, _days, translate("For ever")),
        unread_days=_choices(wish.unread_days, UNREAD_DAYS, _days, translate("For ever")),
        entries=_choices(wish.entries, ENTRIES, _newest, translate("All")),
    )


def chosen_number(text: str, field: str) -> int | None:
    """Nothing chosen is the server's own limit."""
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Invalid(f"{field} must be a number", field=field)
    return int(text)


def _choices(
    chosen: int | None, usual: Sequence[int], say: Callable[[int], str], without: str
) -> tuple[Choice, ...]:
    numbers = sorted({*usual, *((chosen,) if chosen else ())})
    return (
        Choice("", translate("As the server does"), chosen is None),
        *(Choice(str(number), say(number), number == chosen) for number in numbers),
        Choice("0", without, chosen == 0),
    )


def _days(count: int) -> str:
    return ngettext("%(num)s day", "%(num)s days", count)


def _newest(count: int) -> str:
    return ngettext("The newest %(num)s", "The newest %(num)s", count)

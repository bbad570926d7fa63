"""Which new entries of a feed or folder are summarised by themselves, as choices of its form."""

from reedbed.domain.auto_summaries import NEVER
from reedbed.domain.errors import Invalid
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Choice

WORDS = (200, 500, 1_000)


def summary_choices(chosen: int | None, otherwise: str) -> tuple[Choice, ...]:
    numbers = sorted({*WORDS, *((chosen,) if chosen and chosen > 0 else ())})
    return (
        Choice("", otherwise, chosen is None),
        Choice(str(NEVER), translate("Never"), chosen == NEVER),
        Choice("0", translate("All of them"), chosen == 0),
        *(Choice(str(number), _longer(number), number == chosen) for number in numbers),
    )


def chosen_words(text: str) -> int | None:
    """Nothing chosen is what is around it."""
    if not text:
        return None
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise Invalid("summary_words must be a whole number.", field="summary_words")
    return int(text)


def _longer(words: int) -> str:
    return ngettext("From %(num)s word on", "From %(num)s words on", words)

"""What of a page is the article, and what is not, where a feed's operator has said so in CSS."""

from collections.abc import Sequence

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.texts import storable

MOST = 20
LONGEST = 200


@record
class ArticleSelectors:
    keep: tuple[str, ...] = ()
    """Together they are the article; where none of them fits, it is looked for as on any page."""
    drop: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keep or self.drop)


def tidy_selectors(lines: Sequence[str], field: str) -> tuple[str, ...]:
    """Without empty lines and repetitions; whether each is CSS is for the one who reads CSS to say."""
    tidy = tuple(dict.fromkeys(words for line in lines if (words := " ".join(storable(line).split()))))
    if len(tidy) > MOST:
        raise Invalid(f"There can be at most {MOST} selectors.", field=field)
    for one in tidy:
        if len(one) > LONGEST:
            raise Invalid(f"“{one[:40]}…” is longer than {LONGEST} characters.", field=field)
    return tidy

"""What a tag may be called."""

from collections.abc import Iterable

from reedbed.domain.errors import Invalid
from reedbed.domain.texts import shown_line

LONGEST = 100
MOST_ON_AN_ENTRY = 50
MOST_TAGS = 2_000


def tag_name(text: str) -> str:
    """Spaces around and within are made single; the rest is the user's own."""
    name = shown_line(text)
    if not name:
        raise Invalid("A tag needs a name.", field="name")
    if len(name) > LONGEST:
        raise Invalid(f"A tag's name may have at most {LONGEST} characters.", field="name")
    return name


def tag_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order given."""
    names = tuple(dict.fromkeys(tag_name(text) for text in texts))
    if len(names) > MOST_ON_AN_ENTRY:
        raise Invalid(f"An entry may have at most {MOST_ON_AN_ENTRY} tags.", field="tags")
    return names

"""When a reader wants the whole article instead of what the feed gives of it."""

SHORT_TEXT = 200
"""Characters; a feed that gives less only points to its articles."""
AUTOMATIC_AT_ONCE = 10
"""Articles fetched unasked when a feed brings many short entries: the newest of them."""


def wants_whole(mode: str, text: str) -> bool:
    """`text` is the plain beginning of what the feed gives."""
    return mode == "always" or (mode == "auto" and len(text) < SHORT_TEXT)

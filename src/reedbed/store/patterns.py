"""Patterns for `LIKE`."""


def containing(text: str) -> str:
    """Matches, in `lower(column) LIKE … ESCAPE '\\'`, what holds this text anywhere."""
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"

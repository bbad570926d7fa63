"""Ids at the border: JSON strings of positive integers that fit in 53 bits."""

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from reedbed.domain.errors import NotFound

MOST = 2**53 - 1
_SCHEMA = WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]{0,15}$", "examples": ["42"]})


def _id(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST:
        raise ValueError("must be an id: a string of digits")
    return value


def path_id(value: Any) -> int:
    """An impossible id in a path is answered as an unknown one: there is nothing there."""
    try:
        return _id(value)
    except ValueError:
        raise NotFound("There is nothing with this id.") from None


JsonId = Annotated[int, BeforeValidator(_id), _SCHEMA]
IdPath = Annotated[int, BeforeValidator(path_id), _SCHEMA]

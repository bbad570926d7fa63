"""Helpers for HTML forms: text and checkbox fields, and moving a list item one step up or down."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form
from starlette.datastructures import FormData

from reedbed.domain.errors import NotFound
from reedbed.domain.unset import UNSET, Unset

Text = Annotated[str, Form()]
FormFlag = Annotated[bool, Form()]


def form_text(form: FormData, name: str) -> str | None:
    """The last value of the field: a ticked checkbox follows a hidden field of the same name."""
    values = form.getlist(name)
    return values[-1] if values and isinstance(values[-1], str) else None


def form_flag(form: FormData, name: str) -> bool | Unset:
    value = form_text(form, name)
    return UNSET if value is None else value == "true"


def stepped(ids: Sequence[int], item_id: int, direction: str) -> list[int]:
    """The ids with this one moved one step up or down, if possible."""
    if item_id not in ids:
        raise NotFound("There is nothing with this id.")
    reordered, index = list(ids), ids.index(item_id)
    target = max(0, min(len(reordered) - 1, index + (-1 if direction == "up" else 1)))
    reordered.insert(target, reordered.pop(index))
    return reordered

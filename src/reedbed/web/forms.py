"""Lines of a list put in order one step at a time, for those who do not drag."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form
from starlette.datastructures import FormData

from reedbed.domain.errors import NotFound
from reedbed.domain.unset import UNSET, Unset

Text = Annotated[str, Form()]
Ticked = Annotated[bool, Form()]


def text_in(form: FormData, name: str) -> str | None:
    """The last one: a box that is ticked comes after its hidden twin."""
    values = form.getlist(name)
    return values[-1] if values and isinstance(values[-1], str) else None


def flag_in(form: FormData, name: str) -> bool | Unset:
    value = text_in(form, name)
    return UNSET if value is None else value == "true"


def stepped(ids: Sequence[int], one: int, way: str) -> list[int]:
    """All of them, with this one a place further up or down, where there is one."""
    if one not in ids:
        raise NotFound("There is nothing with this id.")
    moved, place = list(ids), ids.index(one)
    wanted = max(0, min(len(moved) - 1, place + (-1 if way == "up" else 1)))
    moved.insert(wanted, moved.pop(place))
    return moved

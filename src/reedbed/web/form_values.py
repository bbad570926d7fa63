"""What a form holds."""

from typing import Annotated

from fastapi import Form
from starlette.datastructures import FormData

from reedbed.domain.same import SAME, Same

Text = Annotated[str, Form()]
Ticked = Annotated[bool, Form()]


def text_in(form: FormData, name: str) -> str | None:
    """The last one: a box that is ticked comes after its hidden twin."""
    values = form.getlist(name)
    return values[-1] if values and isinstance(values[-1], str) else None


def flag_in(form: FormData, name: str) -> bool | Same:
    value = text_in(form, name)
    return SAME if value is None else value == "true"

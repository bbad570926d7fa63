"""Helpers for HTML forms: fields of text, numbers and flags, folders to choose from, and moving a list item."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form
from starlette.datastructures import FormData

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.folders import FolderNode, FolderRow, build_tree
from reedbed.domain.records import UNSET, Unset
from reedbed.web.i18n import name_key, translate
from reedbed.web.views.layout import SelectOption

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


def parse_optional_number(text: str, field: str) -> int | None:
    """None means the server's default limit."""
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Invalid("%(name)s must be a number", field=field, name=field)
    return int(text)


def folder_options(rows: list[FolderRow], chosen: int | None) -> tuple[SelectOption, ...]:
    """Every folder with its full path; the first option is no folder."""
    return (
        SelectOption("", translate("No folder"), chosen is None),
        *(
            SelectOption(str(id_), name, id_ == chosen)
            for node in build_tree(rows, name_key)
            for id_, name in _folder_paths(node, "")
        ),
    )


def _folder_paths(node: FolderNode, prefix: str) -> list[tuple[int, str]]:
    name = f"{prefix}{node.name}"
    children = [path for child in node.children for path in _folder_paths(child, f"{name} / ")]
    return [(node.id, name), *children]

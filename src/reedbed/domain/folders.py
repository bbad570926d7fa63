"""A user's folders: rows become a tree, and a change that would break the tree is refused."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.records import record
from reedbed.domain.text import shown_line

MAX_DEPTH = 8
MAX_FOLDER_NAME = 255


@record
class FolderRow:
    id: int
    parent_id: int | None
    name: str
    position: int = 0
    summary_words: int | None = None
    """Of new entries that are summarised by themselves: see `auto_summaries`."""


@record
class FolderNode:
    id: int
    name: str
    depth: int
    """1 at the top."""
    children: tuple["FolderNode", ...] = ()


def folder_name(name: str) -> str:
    tidy = shown_line(name)
    if not tidy:
        raise Invalid("Folder name is required", field="name")
    if len(tidy) > MAX_FOLDER_NAME:
        raise Invalid("Folder name must be less than 255 characters", field="name")
    return tidy


def build_tree(rows: Iterable[FolderRow]) -> tuple[FolderNode, ...]:
    """Children by position, then name. A row without its parent, or in a circle, stands at the top."""
    known = {row.id: row for row in rows}
    children: defaultdict[int | None, list[FolderRow]] = defaultdict(list)
    for row in known.values():
        children[row.parent_id if _is_anchored(row, known) else None].append(row)
    return _branch(None, children, depth=1)


def ancestors(rows: Iterable[FolderRow], folder_id: int) -> tuple[int, ...]:
    """The folder and those around it, from the inside out."""
    known = {row.id: row for row in rows}
    line: list[int] = []
    current = known.get(folder_id)
    while current is not None and current.id not in line:
        line.append(current.id)
        current = known.get(current.parent_id) if current.parent_id is not None else None
    return tuple(line)


def descendants(rows: Iterable[FolderRow], folder_id: int) -> frozenset[int]:
    """The folder and all within it: what a folder's view shows."""
    inside: defaultdict[int | None, list[int]] = defaultdict(list)
    for row in rows:
        inside[row.parent_id].append(row.id)
    found, waiting = set[int](), [folder_id]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(inside[current])
    return frozenset(found)


def check_place(rows: Sequence[FolderRow], parent_id: int | None, moving_id: int | None = None) -> None:
    """Whether a folder, new or moved, may lie in `parent_id`."""
    if parent_id is None:
        return
    if all(row.id != parent_id for row in rows):
        raise NotFound("There is no such folder")
    around = ancestors(rows, parent_id)
    if moving_id is not None and moving_id in around:
        raise Invalid("A folder cannot lie inside itself", field="parent_id")
    height = 1 if moving_id is None else _height(rows, moving_id)
    if len(around) + height > MAX_DEPTH:
        raise Invalid(f"Folders can be nested at most {MAX_DEPTH} deep", field="parent_id")


def reordered(rows: Iterable[FolderRow], parent_id: int | None, wanted: Sequence[int]) -> dict[int, int]:
    """Folder id to its new position; `wanted` must name every folder of this level once."""
    siblings = {row.id for row in rows if row.parent_id == parent_id}
    if len(wanted) != len(siblings) or set(wanted) != siblings:
        raise Invalid("The order must name every folder of this level once", field="ids")
    return {id: position for position, id in enumerate(wanted)}


def _is_anchored(row: FolderRow, known: dict[int, FolderRow]) -> bool:
    """Whether its parent is there, and the way up does not come back to the row itself."""
    if row.parent_id not in known:
        return False
    seen = set[int]()
    above = row.parent_id
    while above is not None and above not in seen:
        seen.add(above)
        above = known[above].parent_id if above in known else None
    return row.id not in seen


def _branch(
    parent_id: int | None, children: dict[int | None, list[FolderRow]], depth: int
) -> tuple[FolderNode, ...]:
    level = sorted(children.get(parent_id, ()), key=lambda row: (row.position, row.name.casefold(), row.id))
    return tuple(FolderNode(row.id, row.name, depth, _branch(row.id, children, depth + 1)) for row in level)


def _height(rows: Sequence[FolderRow], folder_id: int) -> int:
    inside = descendants(rows, folder_id)
    depth_of_folder = len(ancestors(rows, folder_id))
    return max(len(ancestors(rows, id)) for id in inside) - depth_of_folder + 1

"""Folders: building the tree from rows, and rejecting changes that would break it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from reedbed.domain.collation import CollationKey, collation_key
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.records import record
from reedbed.domain.text import clean_line

MAX_DEPTH = 8
MAX_FOLDER_NAME = 255


@record
class FolderRow:
    id: int
    parent_id: int | None
    name: str
    position: int = 0
    summary_words: int | None = None
    """Minimum words for automatic summaries: see `auto_summaries`."""
    in_unread: bool = True
    """Whether the list of everything unread shows its feeds."""


@record
class FolderNode:
    id: int
    name: str
    depth: int
    """1 at the top."""
    children: tuple["FolderNode", ...] = ()


def folder_name(name: str) -> str:
    clean_name = clean_line(name)
    if not clean_name:
        raise Invalid("Folder name is required", field="name")
    if len(clean_name) > MAX_FOLDER_NAME:
        raise Invalid("Folder name must be less than 255 characters", field="name")
    return clean_name


def build_tree(
    rows: Iterable[FolderRow], name_key: Callable[[str], CollationKey] = collation_key
) -> tuple[FolderNode, ...]:
    """Children are sorted by position, then name. A row without its parent or in a cycle moves to the top."""
    rows_by_id = {row.id: row for row in rows}
    children: defaultdict[int | None, list[FolderRow]] = defaultdict(list)
    for row in rows_by_id.values():
        children[row.parent_id if _is_anchored(row, rows_by_id) else None].append(row)
    return _branch(None, children, name_key, depth=1)


def ancestors(rows: Iterable[FolderRow], folder_id: int) -> tuple[int, ...]:
    """The folder and its ancestors, innermost first."""
    rows_by_id = {row.id: row for row in rows}
    path: list[int] = []
    current = rows_by_id.get(folder_id)
    while current is not None and current.id not in path:
        path.append(current.id)
        current = rows_by_id.get(current.parent_id) if current.parent_id is not None else None
    return tuple(path)


def descendants(rows: Iterable[FolderRow], folder_id: int) -> frozenset[int]:
    """The folder and all its subfolders."""
    children: defaultdict[int | None, list[int]] = defaultdict(list)
    for row in rows:
        children[row.parent_id].append(row.id)
    result, pending = set[int](), [folder_id]
    while pending:
        current = pending.pop()
        if current not in result:
            result.add(current)
            pending.extend(children[current])
    return frozenset(result)


def kept_out(rows: Sequence[FolderRow]) -> frozenset[int]:
    """The folders whose feeds the list of everything unread leaves out, with all their subfolders."""
    return frozenset[int]().union(*(descendants(rows, row.id) for row in rows if not row.in_unread))


def check_place(rows: Sequence[FolderRow], parent_id: int | None, moving_id: int | None = None) -> None:
    """Raise unless a new or moved folder may be placed in `parent_id`."""
    if parent_id is None:
        return
    if all(row.id != parent_id for row in rows):
        raise NotFound("There is no such folder")
    parents = ancestors(rows, parent_id)
    if moving_id is not None and moving_id in parents:
        raise Invalid("A folder cannot lie inside itself", field="parent_id")
    height = 1 if moving_id is None else _height(rows, moving_id)
    if len(parents) + height > MAX_DEPTH:
        raise Invalid("Folders can be nested at most %(limit)s deep", field="parent_id", limit=MAX_DEPTH)


def reordered(rows: Iterable[FolderRow], parent_id: int | None, ordered_ids: Sequence[int]) -> dict[int, int]:
    """Folder id to its new position; `ordered_ids` must contain every folder of this level once."""
    siblings = {row.id for row in rows if row.parent_id == parent_id}
    if len(ordered_ids) != len(siblings) or set(ordered_ids) != siblings:
        raise Invalid("The order must name every folder of this level once", field="ids")
    return {folder_id: position for position, folder_id in enumerate(ordered_ids)}


def _is_anchored(row: FolderRow, rows_by_id: dict[int, FolderRow]) -> bool:
    """Whether its parent exists and its ancestors do not include the row itself."""
    if row.parent_id not in rows_by_id:
        return False
    seen = set[int]()
    ancestor_id = row.parent_id
    while ancestor_id is not None and ancestor_id not in seen:
        seen.add(ancestor_id)
        ancestor_id = rows_by_id[ancestor_id].parent_id if ancestor_id in rows_by_id else None
    return row.id not in seen


def _branch(
    parent_id: int | None,
    children: dict[int | None, list[FolderRow]],
    name_key: Callable[[str], CollationKey],
    depth: int,
) -> tuple[FolderNode, ...]:
    level = sorted(children.get(parent_id, ()), key=lambda row: (row.position, name_key(row.name), row.id))
    return tuple(FolderNode(row.id, row.name, depth, _branch(row.id, children, name_key, depth + 1)) for row in level)


def _height(rows: Sequence[FolderRow], folder_id: int) -> int:
    subtree = descendants(rows, folder_id)
    depth_of_folder = len(ancestors(rows, folder_id))
    return max(len(ancestors(rows, subfolder_id)) for subfolder_id in subtree) - depth_of_folder + 1

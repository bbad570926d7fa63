"""Labels of reader apps: they know one flat list, we have nested folders, and tags beside them.

A nested folder is called by its path, `Technology/Linux`. Apps may also name it by its last part alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from reedbed.domain.folders import FolderRow
from reedbed.domain.records import record


@record
class Labels:
    """What a user's labels mean."""

    folders: Mapping[int, str] = field(default_factory=dict[int, str])
    """Folder id to its label."""
    names: Mapping[int, str] = field(default_factory=dict[int, str])
    """Folder id to its own name."""
    tags: frozenset[str] = frozenset()

    def folder_ids(self, label: str) -> list[int]:
        by_path = [id for id, path in self.folders.items() if path == label]
        return by_path or [id for id, name in self.names.items() if name == label]

    def tag(self, label: str) -> str | None:
        """The tag of this name; tags have single spaces only."""
        name = " ".join(label.split())
        return name if name in self.tags else None


def labels_of(rows: Sequence[FolderRow], tags: Iterable[str] = ()) -> Labels:
    known = {row.id: row for row in rows}
    return Labels(
        folders={row.id: "/".join(_path(row, known)) for row in rows},
        names={row.id: row.name for row in rows},
        tags=frozenset(tags),
    )


def _path(row: FolderRow, known: Mapping[int, FolderRow]) -> list[str]:
    """Names from the top down; a circle of folders ends."""
    path, seen = [row.name], {row.id}
    above = row.parent_id
    while above is not None and above in known and above not in seen:
        seen.add(above)
        path.append(known[above].name)
        above = known[above].parent_id
    return path[::-1]

"""Lines of a list put in order one step at a time, for those who do not drag."""

from collections.abc import Sequence

from reedbed.domain.errors import NotFound


def stepped(ids: Sequence[int], one: int, way: str) -> list[int]:
    """All of them, with this one a place further up or down, where there is one."""
    if one not in ids:
        raise NotFound("There is nothing with this id.")
    moved, place = list(ids), ids.index(one)
    wanted = max(0, min(len(moved) - 1, place + (-1 if way == "up" else 1)))
    moved.insert(wanted, moved.pop(place))
    return moved

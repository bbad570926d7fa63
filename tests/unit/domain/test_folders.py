import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.folders import (
    MAX_DEPTH,
    FolderNode,
    FolderRow,
    ancestors,
    build_tree,
    check_place,
    descendants,
    folder_name,
    reordered,
)
from reedbed.domain.transfer import OpmlDocument, OpmlOutline, feeds_of

ROWS = [
    FolderRow(1, None, "News", 1),
    FolderRow(2, None, "Birds", 0),
    FolderRow(3, 1, "World", 0),
    FolderRow(4, 1, "local", 0),
    FolderRow(5, 4, "Village", 0),
]


def names(nodes: tuple[FolderNode, ...]) -> list[object]:
    return [[node.name, *names(node.children)] for node in nodes]


def test_rows_become_a_tree_in_their_order() -> None:
    assert names(build_tree(ROWS)) == [["Birds"], ["News", ["local", ["Village"]], ["World"]]]
    assert [node.depth for node in build_tree(ROWS)] == [1, 1]


def test_lost_and_circling_folders_stand_at_the_top() -> None:
    rows = [
        FolderRow(1, 2, "a"),
        FolderRow(2, 1, "b"),
        FolderRow(3, 1, "c"),
        FolderRow(4, 99, "d"),
        FolderRow(5, 5, "e"),
    ]
    assert names(build_tree(rows)) == [["a", ["c"]], ["b"], ["d"], ["e"]]


def _size(nodes: tuple[FolderNode, ...]) -> int:
    return sum(1 + _size(node.children) for node in nodes)


@given(st.dictionaries(st.integers(1, 12), st.none() | st.integers(1, 15), max_size=12))
def test_no_folder_is_ever_lost(parents: dict[int, int | None]) -> None:
    rows = [FolderRow(id, parent, str(id)) for id, parent in parents.items()]
    assert _size(build_tree(rows)) == len(rows)
    for row in rows:
        assert row.id in descendants(rows, row.id)
        assert ancestors(rows, row.id)[0] == row.id


def test_a_folder_knows_what_is_around_and_within() -> None:
    assert ancestors(ROWS, 5) == (5, 4, 1)
    assert descendants(ROWS, 1) == {1, 3, 4, 5}


def test_a_folder_never_lies_in_itself() -> None:
    for parent in (1, 3, 5):
        with pytest.raises(Invalid, match="inside itself"):
            check_place(ROWS, parent, moving_id=1)
    check_place(ROWS, 2, moving_id=1)
    check_place(ROWS, None, moving_id=4)


def test_a_folder_needs_a_place_that_exists() -> None:
    with pytest.raises(NotFound):
        check_place(ROWS, 99)


def test_nesting_has_an_end() -> None:
    deep = [FolderRow(id, id - 1 or None, str(id)) for id in range(1, MAX_DEPTH + 1)]
    check_place(deep, MAX_DEPTH - 1)
    with pytest.raises(Invalid, match="8 deep"):
        check_place(deep, MAX_DEPTH)
    with pytest.raises(Invalid, match="8 deep"):
        check_place([*deep, *(FolderRow(id + 100, row and row + 100, "x") for id, row in ((1, None), (2, 1)))], 7, 101)


def test_an_order_names_every_folder_of_the_level_once() -> None:
    assert reordered(ROWS, 1, [4, 3]) == {4: 0, 3: 1}
    for wanted in ([4], [4, 4], [4, 3, 5], [1, 2]):
        with pytest.raises(Invalid):
            reordered(ROWS, 1, wanted)


def test_folder_names_are_checked() -> None:
    assert folder_name(" Birds ") == "Birds"
    assert folder_name("Bi\x00rds\ud800") == "Birds"
    for name in (" ", "\x00", "x" * 256):
        with pytest.raises(Invalid):
            folder_name(name)


def test_an_outline_gives_its_feeds_with_their_folders() -> None:
    feed = OpmlOutline("Pond", "http://pond/feed")
    inner = OpmlOutline("Inner", children=(feed,))
    document = OpmlDocument("Mine", (OpmlOutline("Outer", children=(inner, feed)), feed))
    assert [found.path for found in feeds_of(document)] == [("Outer", "Inner"), ("Outer",), ()]
    assert [found.path for found in feeds_of(document, max_depth=1)] == [("Outer",), ("Outer",), ()]

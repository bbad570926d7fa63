"""Values made by `@record` behave like frozen dataclasses, less the check at run time."""

import pickle
from dataclasses import asdict, field, fields, replace

from reedbed.domain.records import record


@record
class Point:
    x: int
    y: int = 0
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)


@record
class Nothing:
    pass


@record
class Loud:
    name: str

    def __repr__(self) -> str:
        return self.name.upper()


def test_values_are_compared_by_what_they_hold() -> None:
    assert Point(1) == Point(1, 0, "another note")
    assert Point(1) != Point(2) and Point(1) != (1, 0)
    assert len({Point(1), Point(1), Point(1, 2)}) == 2
    assert Nothing() == Nothing() and hash(Nothing()) == hash(Nothing())


def test_a_value_shows_its_fields_but_no_secret() -> None:
    assert repr(Point(1, secret="hidden")) == "Point(x=1, y=0, note='')"
    assert repr(Loud("ann")) == "ANN"


def test_a_value_holds_nothing_but_its_fields() -> None:
    assert not hasattr(Point(1), "__dict__")
    assert [one.name for one in fields(Point(1))] == ["x", "y", "note", "secret"]


def test_values_are_copied_changed_and_sent_as_dataclasses_are() -> None:
    point = Point(1, 2, "n", "s")
    assert replace(point, y=3) == Point(1, 3, secret="s")
    assert asdict(point) == {"x": 1, "y": 2, "note": "n", "secret": "s"}
    assert pickle.loads(pickle.dumps(point)) == point

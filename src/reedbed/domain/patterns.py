"""Regular expressions that cannot hang.

Rules come from users and run over hostile text, and Python's `re` takes exponential time on patterns like
`(a+)+$`, holding the interpreter lock all the while. This matcher walks every alternative at once and keeps
the sets it has met, so its time grows with the length of the text alone; a bound on its work ends the rest.

It answers whether a pattern occurs in a text, without regard to case. It knows literals, `.`, classes,
`\\d \\w \\s`, groups, `|`, `* + ? {m,n}`, `^ $ \\b`; not look-around and back-references.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record

MAX_REPEAT = 100
_MAX_DEPTH = 30

Test = Callable[[str], bool]


class Assertion(Enum):
    START = auto()
    END = auto()
    WORD_EDGE = auto()
    NO_WORD_EDGE = auto()


@record
class CharacterSet:
    test: Test
    literal: str | None = None
    """Set: only this one sign passes."""


@record
class Edge:
    kind: Assertion


@record
class Sequence:
    parts: tuple["Node", ...]


@record
class Alternatives:
    parts: tuple["Node", ...]


@record
class Repeat:
    part: "Node"
    least: int
    most: int | None


Node = CharacterSet | Edge | Sequence | Alternatives | Repeat


def read_pattern(pattern: str) -> Node:
    return _PatternReader(pattern).read()


def must_contain(node: Node) -> tuple[str, ...]:
    """Texts in lower case of which every match holds at least one; none where nothing is certain."""
    match node:
        case CharacterSet(literal=str(sign)):
            return (sign,)
        case Sequence(parts):
            return max(_runs(parts), key=_shortest, default=())
        case Alternatives(parts):
            each = [must_contain(part) for part in parts]
            return tuple(text for found in each for text in found) if all(each) else ()
        case Repeat(part, least, _) if least > 0:
            return must_contain(part)
        case _:
            return ()


def _runs(parts: Iterable[Node]) -> Iterator[tuple[str, ...]]:
    """The literal runs of a sequence, and what its other parts are certain of."""
    run = ""
    for part in parts:
        match part:
            case CharacterSet(literal=str(sign)):
                run += sign
            case Edge():
                pass
            case _:
                yield (run,) if run else ()
                yield must_contain(part)
                run = ""
    yield (run,) if run else ()


def _shortest(texts: tuple[str, ...]) -> int:
    return min(map(len, texts), default=0)


def is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def refusal(reason: str) -> Invalid:
    return Invalid(f"This pattern cannot be used: {reason}.", field="value")


_CLASSES: dict[str, Test] = {
    "d": str.isdecimal,
    "D": lambda sign: not sign.isdecimal(),
    "w": is_word,
    "W": lambda sign: not is_word(sign),
    "s": str.isspace,
    "S": lambda sign: not sign.isspace(),
}
_EDGES = {"b": Assertion.WORD_EDGE, "B": Assertion.NO_WORD_EDGE, "A": Assertion.START, "Z": Assertion.END}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_COUNTS = re.compile(r"\{(\d{1,4})?(,)?(\d{1,4})?\}")


class _PatternReader:
    """From the text of a pattern to its tree."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern.removeprefix("(?i)")
        self.place = 0
        self.depth = 0

    def read(self) -> Node:
        tree = self._choice()
        if self.place < len(self.text):
            raise refusal("a bracket ) has no beginning")
        return tree

    def _choice(self) -> Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            parts.append(self._repeated(self._atom()))
        return Sequence(tuple(parts))

    def _repeated(self, node: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        if isinstance(node, Edge):
            raise refusal("an edge cannot be repeated")
        # Lazy or greedy is one to a matcher that only says whether; possessive is not.
        self._take("?")
        if self._take("+") or self._bounds() is not None:
            raise refusal("one repetition follows another")
        return Repeat(node, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        counts = _COUNTS.match(self.text, self.place)
        if counts is None or not (counts[1] or counts[3]):
            return None
        self.place = counts.end()
        least = int(counts[1] or 0)
        most = int(counts[3]) if counts[3] else None if counts[2] else least
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise refusal(f"a number of repetitions must go up and not over {MAX_REPEAT}")
        return least, most

    def _atom(self) -> Node:
        sign = self._next()
        match sign:
            case "(":
                return self._group()
            case "[":
                return CharacterSet(self._class())
            case ".":
                return CharacterSet(lambda other: other != "\n")
            case "^":
                return Edge(Assertion.START)
            case "$":
                return Edge(Assertion.END)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise refusal(f"there is nothing before {sign} to repeat")
            case _:
                return _literal_sign(sign)

    def _group(self) -> Node:
        if self._take("?") and not self._take(":"):
            raise refusal("groups that begin with (? are not supported, except (?: and (?i) at the start")
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise refusal("its brackets are nested too deeply")
        inner = self._choice()
        if not self._take(")"):
            raise refusal("a bracket ( has no end")
        self.depth -= 1
        return inner

    def _escape(self) -> Node:
        sign = self._next()
        if sign in _EDGES:
            return Edge(_EDGES[sign])
        if sign in _CLASSES:
            return CharacterSet(_CLASSES[sign])
        return _literal_sign(self._literal(sign))

    def _literal(self, sign: str) -> str:
        if sign.isascii() and sign.isdigit():
            raise refusal("back-references are not supported")
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign.isascii() and sign.isalpha():
            raise refusal(f"\\{sign} is not known")
        return sign

    def _class(self) -> Test:
        negated = self._take("^")
        tests: list[Test] = []
        signs, ranges = set[str](), list[tuple[str, str]]()
        first = True
        while first or not self._take("]"):
            low = self._class_sign(tests)
            first = False
            if low is None:
                continue
            if self._peek() == "-" and self._peek(1) not in ("]", ""):
                self.place += 1
                high = self._class_sign(tests)
                if high is None or high < low:
                    raise refusal("a range in [ ] must go up")
                ranges.append((low, high))
            else:
                signs.add(low)
        tests.append(_one_of(signs))
        tests.extend(_between(low, high) for low, high in ranges)
        return _any_of(tests, negated=negated)

    def _class_sign(self, tests: list[Test]) -> str | None:
        """One sign of a class; a class within it, like `\\d`, goes to `tests` and answers None."""
        sign = self._next()
        if sign != "\\":
            return sign
        sign = self._next()
        if sign in _CLASSES:
            tests.append(_CLASSES[sign])
            return None
        return self._literal(sign)

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.place + ahead : self.place + ahead + 1]

    def _next(self) -> str:
        if self.place >= len(self.text):
            raise refusal("it breaks off in the middle")
        self.place += 1
        return self.text[self.place - 1]

    def _take(self, sign: str) -> bool:
        if self._peek() != sign:
            return False
        self.place += 1
        return True


def _literal_sign(sign: str) -> CharacterSet:
    lower = sign.lower()
    return CharacterSet(_one_of({sign}), lower if len(lower) == 1 else None)


def _one_of(signs: Iterable[str]) -> Test:
    # The text is lower case already; a sign may have lower forms of two letters, which never meet one.
    return frozenset(sign.lower() for sign in signs).__contains__


def _between(low: str, high: str) -> Test:
    return lambda sign: low <= sign <= high or (len(upper := sign.upper()) == 1 and low <= upper <= high)


def _any_of(tests: list[Test], *, negated: bool) -> Test:
    return lambda sign: any(test(sign) for test in tests) != negated


MAX_PATTERN = 500
MAX_STATES = 1_000
MAX_WORK = 400_000
"""States looked at in one text: about a quarter of a second."""

_MAX_SETS = 100
_MAX_SIGNS = 1_000

_Set = tuple[frozenset[int], bool | None]
"""The states reached, and whether the sign before was part of a word (None at the start of the text)."""


@lru_cache(maxsize=128)
def compile_pattern(pattern: str) -> "Pattern":
    """Raises `Invalid` with the reason in plain words."""
    if len(pattern) > MAX_PATTERN:
        raise Invalid(f"A pattern may have at most {MAX_PATTERN} characters.", field="value")
    tree = read_pattern(pattern)
    return Pattern(_Compiler(tree).states, must_contain(tree))


@dataclass(slots=True)
class _State:
    """A place in the pattern: reads a sign by `test`, or goes on by itself where `edge` allows."""

    test: Test | None = None
    edge: Assertion | None = None
    onward: list[int] = field(default_factory=list[int])


class Pattern:
    """A compiled pattern. State 0 is the start, state 1 the match."""

    def __init__(self, states: list[_State], needed: tuple[str, ...] = ()) -> None:
        self._states = states
        self._needed = needed
        self._start: _Set = (frozenset({0}), None)
        self._memory: dict[_Set, dict[str, _Set | None]] = {}
        self._work = 0

    def occurs_in(self, text: str) -> bool:
        """A text that would take too much work does not match."""
        lower = text.lower()
        if self._needed and not any(needed in lower for needed in self._needed):
            return False
        self._work = MAX_WORK
        current, steps = self._start, self._steps(self._start)
        for sign in lower:
            following = steps[sign] if sign in steps else self._remember(current, sign)
            if following is None:
                return True
            if following is not current:
                current, steps = following, self._steps(following)
            if self._work <= 0:
                return False
        return 1 in self._closure(current, None)

    def _steps(self, current: _Set) -> dict[str, _Set | None]:
        steps = self._memory.get(current)
        if steps is None:
            if len(self._memory) >= _MAX_SETS:
                self._memory.clear()
            steps = self._memory[current] = {}
        return steps

    def _remember(self, current: _Set, sign: str) -> _Set | None:
        steps = self._steps(current)
        if len(steps) >= _MAX_SIGNS:
            steps.clear()
        following = steps[sign] = self._advance(current, sign)
        return following

    def _advance(self, current: _Set, sign: str) -> _Set | None:
        """The set after one more sign; None once the pattern has occurred."""
        here = self._closure(current, sign)
        if 1 in here:
            return None
        reached = {0}
        for number in here:
            state = self._states[number]
            if state.test is not None and state.test(sign):
                reached.update(state.onward)
        return frozenset(reached), is_word(sign)

    def _closure(self, current: _Set, sign: str | None) -> set[int]:
        """All states reached without reading; `sign` is what stands ahead, None at the end of the text."""
        numbers, before = current
        reached, waiting = set[int](), list(numbers)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            if state.test is None and _allows(state.edge, before, sign):
                waiting.extend(state.onward)
        self._work -= len(reached)
        return reached


def _allows(edge: Assertion | None, before: bool | None, sign: str | None) -> bool:
    match edge:
        case None:
            return True
        case Assertion.START:
            return before is None
        case Assertion.END:
            return sign is None
        case Assertion.WORD_EDGE:
            return bool(before) != (sign is not None and is_word(sign))
        case Assertion.NO_WORD_EDGE:
            return bool(before) == (sign is not None and is_word(sign))


class _Compiler:
    """From the tree to states. Repetitions are written out, so their number is bounded."""

    def __init__(self, tree: Node) -> None:
        self.states = [_State(), _State()]
        self._link(self._add(tree, 0), 1)

    def _add(self, node: Node, start: int) -> int:
        """Hang `node` behind `start`; answer the state where it ends."""
        match node:
            case CharacterSet(test=test):
                return self._step(start, _State(test=test))
            case Edge(kind):
                return self._step(start, _State(edge=kind))
            case Sequence(parts):
                for part in parts:
                    start = self._add(part, start)
                return start
            case Alternatives(parts):
                end = self._new(_State())
                for part in parts:
                    self._link(self._add(part, self._branch(start)), end)
                return end
            case Repeat(part, least, most):
                return self._repeat(part, least, most, start)

    def _repeat(self, part: Node, least: int, most: int | None, start: int) -> int:
        for _ in range(least):
            start = self._add(part, start)
        if most is None:
            loop, end = self._branch(start), self._new(_State())
            self._link(self._add(part, loop), loop)
            self._link(loop, end)
            return end
        end = self._new(_State())
        for _ in range(most - least):
            self._link(start, end)
            start = self._add(part, self._branch(start))
        self._link(start, end)
        return end

    def _step(self, start: int, state: _State) -> int:
        """Through `state` to a fresh one."""
        through, end = self._new(state), self._new(_State())
        self._link(start, through)
        self._link(through, end)
        return end

    def _branch(self, start: int) -> int:
        fresh = self._new(_State())
        self._link(start, fresh)
        return fresh

    def _link(self, start: int, end: int) -> None:
        self.states[start].onward.append(end)

    def _new(self, state: _State) -> int:
        if len(self.states) >= MAX_STATES:
            raise refusal("it repeats too much")
        self.states.append(state)
        return len(self.states) - 1

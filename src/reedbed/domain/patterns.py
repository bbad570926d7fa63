"""Regular expressions that cannot hang.

Rules come from users and run over hostile text, and Python's `re` takes exponential time on patterns like
`(a+)+$`, holding the interpreter lock all the while. This matcher simulates an NFA: it follows all
alternatives at once and caches the state sets, so its time is linear in the length of the text. A limit on
the number of visited states bounds the remaining cases.

It reports whether a pattern occurs in a text, ignoring case. It supports literals, `.`, classes,
`\\d \\w \\s`, groups, `|`, `* + ? {m,n}`, `^ $ \\b`, but not look-around or back-references.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record

# --- Parsing

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
    """Set when only this character matches."""


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


def parse_pattern(pattern: str) -> Node:
    return _PatternParser(pattern).read()


def required_literals(node: Node) -> tuple[str, ...]:
    """Lower-case texts; every match contains at least one of them. Empty if none is certain."""
    match node:
        case CharacterSet(literal=str(char)):
            return (char,)
        case Sequence(parts):
            return max(_runs(parts), key=_min_length, default=())
        case Alternatives(parts):
            required = [required_literals(part) for part in parts]
            return tuple(text for texts in required for text in texts) if all(required) else ()
        case Repeat(part, minimum, _) if minimum > 0:
            return required_literals(part)
        case _:
            return ()


def _runs(parts: Iterable[Node]) -> Iterator[tuple[str, ...]]:
    """The literal runs of a sequence, and the required texts of its other parts."""
    run = ""
    for part in parts:
        match part:
            case CharacterSet(literal=str(char)):
                run += char
            case Edge():
                pass
            case _:
                yield (run,) if run else ()
                yield required_literals(part)
                run = ""
    yield (run,) if run else ()


def _min_length(texts: tuple[str, ...]) -> int:
    return min(map(len, texts), default=0)


def is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def refusal(reason: str) -> Invalid:
    return Invalid("This pattern cannot be used: %(reason)s.", field="value", reason=reason)


_CLASSES: dict[str, Test] = {
    "d": str.isdecimal,
    "D": lambda char: not char.isdecimal(),
    "w": is_word,
    "W": lambda char: not is_word(char),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
}
_EDGES = {"b": Assertion.WORD_EDGE, "B": Assertion.NO_WORD_EDGE, "A": Assertion.START, "Z": Assertion.END}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_COUNTS = re.compile(r"\{(\d{1,4})?(,)?(\d{1,4})?\}")


class _PatternParser:
    """Parse the text of a pattern into a tree."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern.removeprefix("(?i)")
        self.index = 0
        self.depth = 0

    def read(self) -> Node:
        tree = self._alternatives()
        if self.index < len(self.text):
            raise refusal("a bracket ) has no beginning")
        return tree

    def _alternatives(self) -> Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.index < len(self.text) and self.text[self.index] not in "|)":
            parts.append(self._repeated(self._atom()))
        return Sequence(tuple(parts))

    def _repeated(self, node: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        if isinstance(node, Edge):
            raise refusal("an edge cannot be repeated")
        # Lazy and greedy are the same if only a yes or no is needed; possessive is not.
        self._take("?")
        if self._take("+") or self._bounds() is not None:
            raise refusal("one repetition follows another")
        return Repeat(node, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for char, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(char):
                return bounds
        counts = _COUNTS.match(self.text, self.index)
        if counts is None or not (counts[1] or counts[3]):
            return None
        self.index = counts.end()
        minimum = int(counts[1] or 0)
        maximum = int(counts[3]) if counts[3] else None if counts[2] else minimum
        if max(minimum, maximum or 0) > MAX_REPEAT or (maximum is not None and maximum < minimum):
            raise refusal(f"a number of repetitions must go up and not over {MAX_REPEAT}")
        return minimum, maximum

    def _atom(self) -> Node:
        char = self._next()
        match char:
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
                raise refusal(f"there is nothing before {char} to repeat")
            case _:
                return _literal_char(char)

    def _group(self) -> Node:
        if self._take("?") and not self._take(":"):
            raise refusal("groups that begin with (? are not supported, except (?: and (?i) at the start")
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise refusal("its brackets are nested too deeply")
        inner = self._alternatives()
        if not self._take(")"):
            raise refusal("a bracket ( has no end")
        self.depth -= 1
        return inner

    def _escape(self) -> Node:
        char = self._next()
        if char in _EDGES:
            return Edge(_EDGES[char])
        if char in _CLASSES:
            return CharacterSet(_CLASSES[char])
        return _literal_char(self._literal(char))

    def _literal(self, char: str) -> str:
        if char.isascii() and char.isdigit():
            raise refusal("back-references are not supported")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isascii() and char.isalpha():
            raise refusal(f"\\{char} is not known")
        return char

    def _class(self) -> Test:
        negated = self._take("^")
        tests: list[Test] = []
        chars, ranges = set[str](), list[tuple[str, str]]()
        first = True
        while first or not self._take("]"):
            low = self._class_char(tests)
            first = False
            if low is None:
                continue
            if self._peek() == "-" and self._peek(1) not in ("]", ""):
                self.index += 1
                high = self._class_char(tests)
                if high is None or high < low:
                    raise refusal("a range in [ ] must go up")
                ranges.append((low, high))
            else:
                chars.add(low)
        tests.append(_char_in(chars))
        tests.extend(_between(low, high) for low, high in ranges)
        return _any_of(tests, negated=negated)

    def _class_char(self, tests: list[Test]) -> str | None:
        """One character of a class. A nested class such as `\\d` is added to `tests` and returns None."""
        char = self._next()
        if char != "\\":
            return char
        char = self._next()
        if char in _CLASSES:
            tests.append(_CLASSES[char])
            return None
        return self._literal(char)

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.index + ahead : self.index + ahead + 1]

    def _next(self) -> str:
        if self.index >= len(self.text):
            raise refusal("it breaks off in the middle")
        self.index += 1
        return self.text[self.index - 1]

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self.index += 1
        return True


def _literal_char(char: str) -> CharacterSet:
    lower = char.lower()
    return CharacterSet(_char_in({char}), lower if len(lower) == 1 else None)


def _char_in(chars: Iterable[str]) -> Test:
    # The text is already lower case. A character whose lower form has two letters never matches one.
    return frozenset(char.lower() for char in chars).__contains__


def _between(low: str, high: str) -> Test:
    return lambda char: low <= char <= high or (len(upper := char.upper()) == 1 and low <= upper <= high)


def _any_of(tests: list[Test], *, negated: bool) -> Test:
    return lambda char: any(test(char) for test in tests) != negated


# --- Compiling and matching

MAX_PATTERN = 500
MAX_STATES = 1_000
MAX_WORK = 400_000
"""States visited per text: about a quarter of a second."""

_MAX_SETS = 100
_MAX_CHARS = 1_000

_StateSet = tuple[frozenset[int], bool | None]
"""The reached states, and whether the previous character is part of a word (None at the start)."""


@lru_cache(maxsize=128)
def compile_pattern(pattern: str) -> "Pattern":
    """Raises `Invalid` with a reason for the user."""
    if len(pattern) > MAX_PATTERN:
        raise Invalid("A pattern may have at most %(limit)s characters.", field="value", limit=MAX_PATTERN)
    tree = parse_pattern(pattern)
    return Pattern(_Compiler(tree).states, required_literals(tree))


@dataclass(slots=True)
class _State:
    """An NFA state: consumes a character that passes `test`, or moves on without one if `edge` allows."""

    test: Test | None = None
    edge: Assertion | None = None
    onward: list[int] = field(default_factory=list[int])


class Pattern:
    """A compiled pattern. State 0 is the start, state 1 is the match."""

    def __init__(self, states: list[_State], needed: tuple[str, ...] = ()) -> None:
        self._states = states
        self._needed = needed
        self._start: _StateSet = (frozenset({0}), None)
        self._cache: dict[_StateSet, dict[str, _StateSet | None]] = {}
        self._work = 0

    def occurs_in(self, text: str) -> bool:
        """A text that exceeds `MAX_WORK` does not match."""
        lower = text.lower()
        if self._needed and not any(literal in lower for literal in self._needed):
            return False
        self._work = MAX_WORK
        current, steps = self._start, self._steps(self._start)
        for char in lower:
            next_set = steps[char] if char in steps else self._compute_step(current, char)
            if next_set is None:
                return True
            if next_set is not current:
                current, steps = next_set, self._steps(next_set)
            if self._work <= 0:
                return False
        return 1 in self._closure(current, None)

    def _steps(self, current: _StateSet) -> dict[str, _StateSet | None]:
        steps = self._cache.get(current)
        if steps is None:
            if len(self._cache) >= _MAX_SETS:
                self._cache.clear()
            steps = self._cache[current] = {}
        return steps

    def _compute_step(self, current: _StateSet, char: str) -> _StateSet | None:
        steps = self._steps(current)
        if len(steps) >= _MAX_CHARS:
            steps.clear()
        next_set = steps[char] = self._advance(current, char)
        return next_set

    def _advance(self, current: _StateSet, char: str) -> _StateSet | None:
        """The state set after one more character; None once the pattern has matched."""
        here = self._closure(current, char)
        if 1 in here:
            return None
        reached = {0}
        for number in here:
            state = self._states[number]
            if state.test is not None and state.test(char):
                reached.update(state.onward)
        return frozenset(reached), is_word(char)

    def _closure(self, current: _StateSet, char: str | None) -> set[int]:
        """All states reachable without consuming input; `char` is the next character, None at the end."""
        numbers, before = current
        reached, pending = set[int](), list(numbers)
        while pending:
            number = pending.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            if state.test is None and _allows(state.edge, before, char):
                pending.extend(state.onward)
        self._work -= len(reached)
        return reached


def _allows(edge: Assertion | None, before: bool | None, char: str | None) -> bool:
    match edge:
        case None:
            return True
        case Assertion.START:
            return before is None
        case Assertion.END:
            return char is None
        case Assertion.WORD_EDGE:
            return bool(before) != (char is not None and is_word(char))
        case Assertion.NO_WORD_EDGE:
            return bool(before) == (char is not None and is_word(char))


class _Compiler:
    """Compile the tree into states. Repetitions are expanded, so their number is limited."""

    def __init__(self, tree: Node) -> None:
        self.states = [_State(), _State()]
        self._link(self._add(tree, 0), 1)

    def _add(self, node: Node, start: int) -> int:
        """Append `node` after `start` and return its end state."""
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
            case Repeat(part, minimum, maximum):
                return self._repeat(part, minimum, maximum, start)

    def _repeat(self, part: Node, minimum: int, maximum: int | None, start: int) -> int:
        for _ in range(minimum):
            start = self._add(part, start)
        if maximum is None:
            loop, end = self._branch(start), self._new(_State())
            self._link(self._add(part, loop), loop)
            self._link(loop, end)
            return end
        end = self._new(_State())
        for _ in range(maximum - minimum):
            self._link(start, end)
            start = self._add(part, self._branch(start))
        self._link(start, end)
        return end

    def _step(self, start: int, state: _State) -> int:
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

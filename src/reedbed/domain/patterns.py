"""Regular expressions that cannot hang.

Rules come from users and run over hostile text, and Python's `re` takes exponential time on patterns like
`(a+)+$`, holding the interpreter lock all the while. This matcher walks every alternative at once and keeps
the sets it has met, so its time grows with the length of the text alone; a bound on its work ends the rest.

It answers whether a pattern occurs in a text, without regard to case. It knows literals, `.`, classes,
`\\d \\w \\s`, groups, `|`, `* + ? {m,n}`, `^ $ \\b`; not look-around and back-references.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from reedbed.domain.errors import Invalid
from reedbed.domain.pattern_syntax import (
    Assertion,
    Choice,
    Edge,
    Node,
    Repeat,
    Sequence,
    Sign,
    Test,
    is_word,
    must_contain,
    read_pattern,
    refusal,
)

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
            case Sign(test=test):
                return self._step(start, _State(test=test))
            case Edge(kind):
                return self._step(start, _State(edge=kind))
            case Sequence(parts):
                for part in parts:
                    start = self._add(part, start)
                return start
            case Choice(parts):
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

"""Stretches of work with a name, for an operator's tracing. Without a tracer they cost next to nothing.

What is noted leaves the machine: ids, kinds and outcomes of our own making, never an address, a header,
a text or anything else that somebody sent.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Fact = str | int


class Span(Protocol):
    def rename(self, name: str) -> None: ...

    def note(self, **facts: Fact) -> None: ...


class Tracer(Protocol):
    def span(self, name: str, **facts: Fact) -> AbstractContextManager[Span]: ...


class _NoSpan:
    def rename(self, name: str) -> None: ...

    def note(self, **facts: Fact) -> None: ...


class NoTracer:
    _nothing = nullcontext[Span](_NoSpan())

    def span(self, name: str, **facts: Fact) -> AbstractContextManager[Span]:
        return self._nothing


NO_TRACER = NoTracer()

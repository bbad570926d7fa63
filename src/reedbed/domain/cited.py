"""Texts told from entries, as digests and answers are: every sentence with the entries that say it."""

from collections.abc import Iterable
from typing import Literal, Protocol

from reedbed.domain.records import record
from reedbed.domain.times import Instant

Status = Literal["pending", "ready", "failed"]


@record
class Scope:
    """The entries a text is told from; nothing set: everything."""

    folder_id: int | None = None
    tag: str | None = None
    q: str | None = None


@record
class Sentence:
    text: str
    entry_ids: tuple[int, ...]
    language: str = ""


@record
class Source:
    entry_id: int
    title: str
    feed: str
    at: Instant
    language: str = ""


class Citable(Protocol):
    """An entry that was read for a text."""

    @property
    def entry_id(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def feed(self) -> str: ...
    @property
    def at(self) -> Instant: ...
    @property
    def language(self) -> str: ...


def sources_of(sentences: Iterable[Sentence], entries: Iterable[Citable]) -> tuple[Source, ...]:
    """The cited entries in the order in which the sentences name them."""
    known = {one.entry_id: one for one in entries}
    cited = dict.fromkeys(id_ for sentence in sentences for id_ in sentence.entry_ids if id_ in known)
    found = (known[id_] for id_ in cited)
    return tuple(Source(one.entry_id, one.title, one.feed, one.at, one.language) for one in found)

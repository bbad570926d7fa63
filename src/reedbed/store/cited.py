"""How scopes, sentences and sources are kept: as JSON beside the digest or the question."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import orjson

from reedbed.domain.cited import Scope, Sentence, Source


def scope_text(scope: Scope) -> str:
    """The same scope is always the same text, so that it can be looked for."""
    given = {name: value for name, value in asdict(scope).items() if value is not None}
    return orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode()


def scope_of(text: str) -> Scope:
    return Scope(**orjson.loads(text))


def sentences_of(kept: Iterable[Mapping[str, Any]]) -> tuple[Sentence, ...]:
    return tuple(Sentence(one["text"], tuple(one["entry_ids"]), one["language"]) for one in kept)


def sources_of(kept: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    return tuple(Source(**one) for one in kept)

"""What digests and answers share in JSON: the scope they were asked for and the entries they cite."""

from typing import Any

from pydantic import Field

from reedbed.domain.cited import Scope, Sentence, Source
from reedbed.domain.texts import storable
from reedbed.http.ids import JsonId
from reedbed.http.json import moment, text_id
from reedbed.http.models import ApiModel


class ScopeBody(ApiModel):
    """Nothing set: everything you can read."""

    folder_id: JsonId | None = None
    tag: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=500, description="Only among what this search finds.")


class ScopeOut(ApiModel):
    folder_id: str | None
    tag: str | None
    q: str | None


class SentenceOut(ApiModel):
    text: str
    entry_ids: list[str]


class SourceOut(ApiModel):
    entry_id: str
    title: str
    feed_title: str
    at: str


def scope_of(body: ScopeBody) -> Scope:
    tag, q = (storable(text).strip() or None if text else None for text in (body.tag, body.q))
    return Scope(body.folder_id, tag, q)


def scope_json(scope: Scope) -> dict[str, str | None]:
    return {"folder_id": text_id(scope.folder_id), "tag": scope.tag, "q": scope.q}


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    return {"text": sentence.text, "entry_ids": list(map(str, sentence.entry_ids))}


def source_json(source: Source) -> dict[str, Any]:
    return {
        "entry_id": str(source.entry_id),
        "title": source.title,
        "feed_title": source.feed,
        "at": moment(source.at),
    }

"""Entries as the API says them."""

from typing import Any

from pydantic import Field

from reedbed.domain.differences import Difference
from reedbed.domain.entries import Entry, EntryRow
from reedbed.http.json import moment
from reedbed.http.models import ApiModel
from reedbed.services.entries import Revision
from reedbed.services.images import Pictures


class EntryItem(ApiModel):
    id: str = Field(examples=["4711"])
    feed_id: str = Field(examples=["12"])
    title: str
    url: str | None
    author: str | None
    summary: str = Field(description="Plain text, at most 300 characters.")
    one_line_summary: str | None
    image: str | None
    language: str | None
    published_at: str | None = Field(examples=["2026-11-15T09:30:00Z"])
    changed_at: str | None
    sort_at: str
    read: bool
    starred: bool
    later: bool
    tags: list[str]


class EntryList(ApiModel):
    items: list[EntryItem]
    next_cursor: str | None


class AuthorOut(ApiModel):
    name: str
    url: str | None
    email: str | None


class AttachmentOut(ApiModel):
    url: str
    type: str | None
    length: int | None
    title: str | None
    duration: int | None = Field(description="Seconds.")


class EntryOut(EntryItem):
    content: str = Field(description="Sanitised HTML.")
    authors: list[AuthorOut]
    categories: list[str]
    attachments: list[AttachmentOut]
    comments_url: str | None
    external_url: str | None
    words: int
    version: int
    fetched_at: str


class DifferenceOut(ApiModel):
    kind: str = Field(description="same, added or removed")
    text: str


class VersionOut(ApiModel):
    version: int
    title: str
    content: str
    replaced_at: str | None = Field(description="Null for the current version.")
    title_changes: list[DifferenceOut]
    text_changes: list[DifferenceOut] = Field(description="Against the version before.")


class VersionList(ApiModel):
    items: list[VersionOut]
    next_cursor: str | None


def entry_item(row: EntryRow, one_line: str | None = None) -> dict[str, Any]:
    states = row.states
    return {
        "id": str(row.id),
        "feed_id": str(row.feed_id),
        "title": row.title,
        "url": row.url,
        "author": row.author,
        "summary": row.summary,
        "one_line_summary": one_line,
        "image": row.image,
        "language": row.language,
        "published_at": moment(row.published_at),
        "changed_at": moment(row.changed_at),
        "sort_at": moment(row.sort_at),
        "read": states.read,
        "starred": states.starred,
        "later": states.later,
        "tags": states.tags,
    }


def entry_json(entry: Entry, pictures: Pictures, one_line: str | None = None) -> dict[str, Any]:
    row = entry.row
    return {
        **entry_item(row, one_line),
        "content": pictures.in_html(entry.content),
        "authors": entry.authors,
        "categories": entry.categories,
        "attachments": entry.enclosures,
        "comments_url": entry.comments_url,
        "external_url": entry.external_url,
        "words": row.words,
        "version": row.version,
        "fetched_at": moment(row.fetched_at),
    }


def revision_json(revision: Revision) -> dict[str, Any]:
    version = revision.version
    return {
        "version": version.version,
        "title": version.title,
        "content": version.content,
        "replaced_at": moment(version.replaced_at),
        "title_changes": _differences(revision.title),
        "text_changes": _differences(revision.text),
    }


def _differences(pieces: tuple[Difference, ...]) -> list[dict[str, str]]:
    return [{"kind": piece.kind, "text": piece.text} for piece in pieces]

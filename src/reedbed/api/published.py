"""The addresses of published feeds: no login, the token is the key."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.utils import format_datetime, parsedate_to_datetime

from fastapi import APIRouter, Request, Response

from reedbed.api.feeds_written import Masthead, as_atom, as_json_feed
from reedbed.domain.times import SECOND, Instant, from_datetime, rfc3339, to_datetime
from reedbed.domain.urls import host_of
from reedbed.http.caller import RuntimeOf
from reedbed.services.images import pictures_for_programs
from reedbed.services.published_feeds import Publication, read_publication
from reedbed.services.runtime import Runtime
from reedbed.store.entry_texts import EntryWords

router = APIRouter(prefix="/published", tags=["published feeds"])

Writer = Callable[[Masthead, Sequence[EntryWords]], bytes]

_ID_WORDS = {"digests": "digest", "stories": "story"}
_HEADERS = {
    "Cache-Control": "private, max-age=60",
    "X-Robots-Tag": "noindex, nofollow",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


@router.get("/{token}.atom", summary="A published view as Atom", response_class=Response)
async def atom(request: Request, runtime: RuntimeOf, token: str) -> Response:
    return await _answer(request, runtime, token, "atom", as_atom, "application/atom+xml; charset=utf-8")


@router.get("/{token}.json", summary="A published view as JSON Feed", response_class=Response)
async def json_feed(request: Request, runtime: RuntimeOf, token: str) -> Response:
    return await _answer(
        request, runtime, token, "json", as_json_feed, "application/feed+json; charset=utf-8"
    )


def published_url(runtime: Runtime, token: str, form: str) -> str:
    return f"{runtime.accounts.base_url}/published/{token}.{form}"


async def _answer(
    request: Request, runtime: Runtime, token: str, form: str, write: Writer, media_type: str
) -> Response:
    publication = await read_publication(runtime, token)
    head = _masthead(runtime, publication, published_url(runtime, token, form))
    pictures = pictures_for_programs(runtime)
    body = write(
        head, [replace(entry, content=pictures.in_html(entry.content)) for entry in publication.entries]
    )
    tag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    changed_at = _changed_at(publication)
    headers = {
        **_HEADERS,
        "ETag": tag,
        "Last-Modified": format_datetime(to_datetime(changed_at), usegmt=True),
    }
    if _is_known(request, publication, tag, changed_at):
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, media_type)


def _masthead(runtime: Runtime, publication: Publication, self_url: str) -> Masthead:
    feed, base_url = publication.feed, runtime.accounts.base_url
    host = host_of(base_url) or "localhost"
    return Masthead(
        id=f"tag:{host},{rfc3339(feed.created_at)[:10]}:published-{feed.id}",
        title=feed.name,
        self_url=self_url,
        home_url=base_url,
        updated=_changed_at(publication),
        entry_id_base=f"tag:{host},2026:{_ID_WORDS.get(feed.view.kind, 'entry')}-",
    )


def _changed_at(publication: Publication) -> Instant:
    """In whole seconds, as headers say it."""
    times = [max(entry.fetched_at, entry.changed_at or 0) for entry in publication.entries]
    return (
        max(publication.feed.created_at, *times) // SECOND * SECOND if times else publication.feed.created_at
    )


def _is_known(request: Request, publication: Publication, tag: str, changed_at: Instant) -> bool:
    """A tag decides where there is one. A date only for lists that change by arrivals alone."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return "*" in tags or tag in tags
    since = request.headers.get("if-modified-since")
    if since is None or not publication.feed.view.only_grows:
        return False
    try:
        return changed_at <= from_datetime(parsedate_to_datetime(since))
    except (ValueError, OverflowError):
        return False

"""What an entry said before, and what was changed of it."""

from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.differences import Difference
from reedbed.domain.entries import Entry
from reedbed.domain.errors import NotFound
from reedbed.domain.times import Instant
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.services.entries import Revision, get_entry, get_revisions
from reedbed.web.moments import full_moment, zone_of
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.reading import Change, Version, VersionsPage

router = APIRouter(include_in_schema=False)


@router.get("/entry/{entry_id}/versions")
async def show_versions(
    request: Request, runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath, version: str = ""
) -> Response:
    entry = await get_entry(runtime, caller.user_id, entry_id)
    revisions = await get_revisions(runtime, caller.user_id, entry_id)
    chosen = _chosen(revisions, version)
    now, zone = runtime.now(), zone_of(request)
    shown = VersionsPage(
        entry_url=f"/entry/{entry_id}",
        title=chosen.version.title,
        language=entry.row.language or "",
        versions=tuple(_versions(entry, revisions, chosen, now, zone)),
        compared=_compared(revisions, chosen),
        title_changes=tuple(Change(one.kind, one.text) for one in chosen.title),
        paragraphs=_paragraphs(chosen.text),
    )
    return await app_page(request, runtime, caller, "reading/versions.html", shown)


def _chosen(revisions: Sequence[Revision], version: str) -> Revision:
    """The newest that changed something, unless one is asked for."""
    if not version:
        return revisions[0]
    for revision in revisions:
        if str(revision.version.version) == version:
            return revision
    raise NotFound("There is no such version.")


def _versions(
    entry: Entry, revisions: Sequence[Revision], chosen: Revision, now: Instant, zone: tzinfo
) -> list[Version]:
    """A version was there from when it replaced the one before it."""
    since = [one.version.replaced_at for one in revisions[1:]]
    began = [*since, entry.row.published_at or entry.row.fetched_at]
    return [
        Version(
            number=one.version.version,
            when=full_moment(moment or entry.row.fetched_at, now, zone),
            url=f"/entry/{entry.row.id}/versions?version={one.version.version}",
            current=one is chosen,
        )
        for one, moment in zip(revisions, began, strict=True)
    ]


def _compared(revisions: Sequence[Revision], chosen: Revision) -> str:
    if len(revisions) == 1:
        return translate("Nothing was changed since it came.")
    if chosen is revisions[-1]:
        return translate("The entry as it came.")
    return translate("What was added and taken out against the version before.")


def _paragraphs(changes: Sequence[Difference]) -> tuple[tuple[Change, ...], ...]:
    """The text breaks into paragraphs where it has line breaks, whichever version they are from."""
    paragraphs: list[list[Change]] = [[]]
    for one in changes:
        first, *others = one.text.split("\n")
        paragraphs[-1].append(Change(one.kind, first))
        paragraphs.extend([Change(one.kind, text)] for text in others)
    full = (tuple(piece for piece in paragraph if piece.text) for paragraph in paragraphs)
    return tuple(paragraph for paragraph in full if any(piece.text.strip() for piece in paragraph))

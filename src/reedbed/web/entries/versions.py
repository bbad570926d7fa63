"""The version history of an entry: what was added and removed in each version."""

from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Entry
from reedbed.domain.errors import NotFound
from reedbed.domain.text import Difference
from reedbed.domain.times import Instant
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.entries import Revision, get_entry, get_revisions
from reedbed.web.formats import full_time, zone_of
from reedbed.web.i18n import translate
from reedbed.web.sidebar import app_page
from reedbed.web.views.entries import Version, VersionChange, VersionsPage

router = APIRouter(include_in_schema=False)


@router.get("/entry/{entry_id}/versions")
async def show_versions(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, version: str = ""
) -> Response:
    entry = await get_entry(runtime, caller.user_id, entry_id)
    revisions = await get_revisions(runtime, caller.user_id, entry_id)
    revision_shown = _choose_revision(revisions, version)
    now, zone = runtime.now(), zone_of(request)
    view = VersionsPage(
        entry_url=f"/entry/{entry_id}",
        title=revision_shown.version.title,
        language=entry.row.language or "",
        versions=tuple(_versions(entry, revisions, revision_shown, now, zone)),
        compared=_comparison_text(revisions, revision_shown),
        title_changes=tuple(VersionChange(change.kind, change.text) for change in revision_shown.title),
        paragraphs=_paragraphs(revision_shown.text),
    )
    return await app_page(request, runtime, caller, "entries/versions.html", view)


def _choose_revision(revisions: Sequence[Revision], version: str) -> Revision:
    """The requested revision; by default the newest one that changed something."""
    if not version:
        return revisions[0]
    for revision in revisions:
        if str(revision.version.version) == version:
            return revision
    raise NotFound("There is no such version.")


def _versions(
    entry: Entry, revisions: Sequence[Revision], revision_shown: Revision, now: Instant, zone: tzinfo
) -> list[Version]:
    """Each version dates from when it replaced the one before."""
    since = [revision.version.replaced_at for revision in revisions[1:]]
    starts = [*since, entry.row.published_at or entry.row.fetched_at]
    return [
        Version(
            number=revision.version.version,
            when=full_time(start or entry.row.fetched_at, now, zone),
            url=f"/entry/{entry.row.id}/versions?version={revision.version.version}",
            current=revision is revision_shown,
        )
        for revision, start in zip(revisions, starts, strict=True)
    ]


def _comparison_text(revisions: Sequence[Revision], revision_shown: Revision) -> str:
    if len(revisions) == 1:
        return translate("Nothing was changed since it came.")
    if revision_shown is revisions[-1]:
        return translate("The entry as it came.")
    return translate("What was added and taken out against the version before.")


def _paragraphs(changes: Sequence[Difference]) -> tuple[tuple[VersionChange, ...], ...]:
    """Split the changes into paragraphs at the line breaks of either version."""
    paragraphs: list[list[VersionChange]] = [[]]
    for change in changes:
        first, *others = change.text.split("\n")
        paragraphs[-1].append(VersionChange(change.kind, first))
        paragraphs.extend([VersionChange(change.kind, text)] for text in others)
    non_empty = (tuple(part for part in paragraph if part.text) for paragraph in paragraphs)
    return tuple(paragraph for paragraph in non_empty if any(part.text.strip() for part in paragraph))

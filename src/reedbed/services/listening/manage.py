"""What is read aloud: request it, play it, and the private podcast feed."""

from collections.abc import AsyncGenerator, Mapping

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.listening import MAX_KEPT, SourceKind, Spoken
from reedbed.domain.pagination import byte_range
from reedbed.domain.published_feeds import PublishedFeed, PublishedView
from reedbed.domain.records import record
from reedbed.domain.users import Preferences, User
from reedbed.services.jobs import wake_jobs
from reedbed.services.published_feeds import OpenedFeed, publish_view, read_publication, renew_published, undo_last
from reedbed.services.runtime import Runtime
from reedbed.services.security import token_hash
from reedbed.services.translations.manage import translation_of
from reedbed.services.users import preferences_of
from reedbed.store import ai, digests, jobs, listening, published_feeds
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.listening import PART_BYTES

JOB_KIND = "listening"
NO_SUCH = "There is no such recording"


def may_read_aloud(runtime: Runtime, preferences: Preferences) -> bool:
    """Texts are sent to a remote endpoint only after the user has allowed it."""
    speaker = runtime.speech.speaker
    return speaker is not None and (preferences.remote_ai or not speaker.is_remote)


@record
class ShownText:
    """An entry in the language in which its reader sees it."""

    title: str
    html: str
    url: str
    language: str


async def shown_text(tx: Tx, runtime: Runtime, user: User, entry_id: int) -> ShownText | None:
    entry = await entries.get(tx, user.id, entry_id)
    if entry is None:
        return None
    state = await translation_of(tx, runtime, user, entry)
    made, url = state.translation, entry.row.url or ""
    if made is not None and state.view != "original":
        return ShownText(made.title, made.content, url, made.language)
    return ShownText(entry.row.title, entry.full_content or entry.content, url, entry.row.language or "")


async def request_spoken(runtime: Runtime, user: User, kind: SourceKind, source_id: int) -> Spoken:
    """The recording of an entry or digest; requested if there is none, or none in the language that is shown."""
    if runtime.speech.speaker is None:
        raise Conflict(
            "This server cannot read aloud: its operator has set no REEDBED_SPEECH_COMMAND or REEDBED_SPEECH_URL."
        )
    if not may_read_aloud(runtime, preferences_of(user)):
        raise Conflict("Reading aloud sends the text to a service. You have not allowed that.")
    async with runtime.db.write() as tx:
        language = await _check_source(tx, runtime, user, kind, source_id)
        found = await listening.of_source(tx, user.id, kind, source_id)
        in_other_language = found is not None and found.status == "ready" and language not in (None, found.language)
        if found is None or found.status == "failed" or in_other_language:
            now = runtime.now()
            if found is not None:
                await listening.clear(tx, found.id)
            spoken_id = await listening.request(tx, user.id, kind, source_id, now)
            await jobs.add(tx, JOB_KIND, {"spoken_id": spoken_id}, now=now, user_id=user.id)
            found = await listening.get(tx, user.id, spoken_id)
    assert found is not None
    await wake_jobs(runtime)
    return found


async def _check_source(tx: Tx, runtime: Runtime, user: User, kind: SourceKind, source_id: int) -> str | None:
    """The language of an entry, as it is shown."""
    if kind == "digest":
        digest = await digests.get(tx, user.id, source_id)
        if digest is None or digest.status != "ready":
            raise NotFound("There is no such digest")
        return None
    rows = await entries.rows_by_ids(tx, user.id, [source_id])
    shown = await shown_text(tx, runtime, user, source_id)
    if not rows or shown is None:
        raise NotFound("There is no such entry")
    speaker = runtime.speech.speaker
    is_remote = speaker is not None and speaker.is_remote
    if is_remote and rows[0].feed_id in await ai.local_only_feeds(tx, user.id):
        raise Conflict("Reading aloud sends the text to a service. You have not allowed that.")
    return shown.language


async def get_spoken(runtime: Runtime, user_id: int, spoken_id: int) -> Spoken:
    async with runtime.db.read() as tx:
        found = await listening.get(tx, user_id, spoken_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def newest_spoken(runtime: Runtime, user_id: int) -> list[Spoken]:
    async with runtime.db.read() as tx:
        return await listening.newest(tx, user_id, limit=MAX_KEPT)


# --- Sound


@record
class SpokenSound:
    status: int
    headers: Mapping[str, str]
    media_type: str
    chunks: AsyncGenerator[bytes]


async def open_sound(runtime: Runtime, user_id: int, spoken_id: int, wanted_range: str | None) -> SpokenSound:
    """All of it, or the part that the range names; nothing if the range begins behind its end."""
    found = await get_spoken(runtime, user_id, spoken_id)
    if found.status != "ready":
        raise NotFound(NO_SUCH)
    headers = {"Accept-Ranges": "bytes", "ETag": f'"{found.id}-{found.created_at}-{found.length}"'}
    chosen = byte_range(wanted_range, found.length)
    first, last = chosen or (0, found.length - 1)
    if first > last:
        headers |= {"Content-Length": "0", "Content-Range": f"bytes */{found.length}"}
        return SpokenSound(416, headers, found.media_type, _chunks(runtime, spoken_id, first, last))
    headers["Content-Length"] = str(last - first + 1)
    if chosen is not None:
        headers["Content-Range"] = f"bytes {first}-{last}/{found.length}"
    return SpokenSound(
        200 if chosen is None else 206, headers, found.media_type, _chunks(runtime, spoken_id, first, last)
    )


async def _chunks(runtime: Runtime, spoken_id: int, first: int, last: int) -> AsyncGenerator[bytes]:
    if first > last:
        return
    for number in range(first // PART_BYTES, last // PART_BYTES + 1):
        async with runtime.db.read() as tx:
            data = await listening.part(tx, spoken_id, number)
        if data is None:
            return
        start = number * PART_BYTES
        yield data[max(0, first - start) : last + 1 - start]


# --- The podcast feed


async def podcast_of(runtime: Runtime, user_id: int) -> PublishedFeed | None:
    async with runtime.db.read() as tx:
        feeds = await published_feeds.of_user(tx, user_id)
    return next((feed for feed in feeds if feed.view.spoken), None)


async def publish_podcast(runtime: Runtime, user_id: int, name: str) -> OpenedFeed:
    """Each user has at most one: if there is one, it gets a new address and the old one stops working."""
    found = await podcast_of(runtime, user_id)
    if found is not None:
        return await renew_published(runtime, user_id, found.id)
    return await publish_view(runtime, user_id, name, PublishedView("all", spoken=True))


async def end_podcast(runtime: Runtime, user_id: int) -> None:
    found = await podcast_of(runtime, user_id)
    if found is not None:
        await undo_last(runtime, user_id, found.id)


def podcast_url(runtime: Runtime, token: str) -> str:
    return f"{runtime.accounts.base_url}/podcast/{token}/feed.rss"


async def read_podcast(runtime: Runtime, token: str) -> tuple[str, list[Spoken]]:
    """The name of the podcast and its episodes, newest first. The token is the only authentication."""
    publication = await read_publication(runtime, token)
    user_id = await podcast_owner(runtime, token)
    return publication.feed.name, await newest_spoken(runtime, user_id)


async def podcast_owner(runtime: Runtime, token: str) -> int:
    async with runtime.db.read() as tx:
        owned = await published_feeds.by_token(tx, token_hash(token))
    if owned is None or not owned[1].view.spoken:
        raise NotFound("There is nothing at this address.")
    return owned[0]

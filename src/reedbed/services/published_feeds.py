"""Published feeds: create, rename and delete them, and serve them to anyone who has the URL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

from reedbed.domain.articles import content_for_programs
from reedbed.domain.digests import Digest, digest_html, digest_title
from reedbed.domain.errors import Conflict, NotFound, TooMany
from reedbed.domain.published_feeds import PublishedFeed, PublishedView, check_feed_name
from reedbed.domain.records import record
from reedbed.domain.stories.story import StorySummary
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.services.live import publish_change
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import search_entries
from reedbed.services.security import new_token, token_hash
from reedbed.services.translations.manage import translations_for_programs
from reedbed.store import digests, published_feeds, sidebar, tags, users, visibility
from reedbed.store.engine.database import Tx
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.stories import read as stories

MAX_PUBLISHED = 100
ENTRIES = 50
NO_SUCH = "There is no such published feed"
PER_ADDRESS = Allowance(30, 0.1)
"""Readers poll every few minutes; more than this is a broken client."""
TOUCH_EVERY = HOUR


@record
class OpenedFeed:
    """A published feed and its token, which is shown only once."""

    feed: PublishedFeed
    token: str


@record
class Publication:
    feed: PublishedFeed
    entries: Sequence[EntryText]
    """Newest first."""


async def publish_view(runtime: Runtime, user_id: int, name: str, view: PublishedView) -> OpenedFeed:
    normalized, token = check_feed_name(name), new_token()
    async with runtime.db.write() as tx:
        await _check_view(tx, user_id, view)
        if await published_feeds.count(tx, user_id) >= MAX_PUBLISHED:
            raise Conflict("There can be at most %(limit)s published feeds. Delete some first.", limit=MAX_PUBLISHED)
        feed = await published_feeds.add(tx, user_id, normalized, view, token_hash=token_hash(token), now=runtime.now())
    await publish_change(runtime, user_id, "published_feeds")
    return OpenedFeed(feed, token)


async def get_published(runtime: Runtime, user_id: int, feed_id: int) -> PublishedFeed:
    async with runtime.db.read() as tx:
        return _require_feed(await published_feeds.get(tx, user_id, feed_id))


async def rename_published(runtime: Runtime, user_id: int, feed_id: int, name: str) -> PublishedFeed:
    normalized = check_feed_name(name)
    async with runtime.db.write() as tx:
        changed = _require_feed(await published_feeds.rename(tx, user_id, feed_id, normalized))
    await publish_change(runtime, user_id, "published_feeds")
    return changed


async def renew_published(runtime: Runtime, user_id: int, feed_id: int) -> OpenedFeed:
    """Create a new URL; the old one stops working."""
    token = new_token()
    async with runtime.db.write() as tx:
        changed = _require_feed(await published_feeds.renew(tx, user_id, feed_id, token_hash=token_hash(token)))
    await publish_change(runtime, user_id, "published_feeds")
    return OpenedFeed(changed, token)


async def undo_last(runtime: Runtime, user_id: int, feed_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await published_feeds.remove(tx, user_id, feed_id):
            raise NotFound(NO_SUCH)
    await publish_change(runtime, user_id, "published_feeds")


async def read_publication(runtime: Runtime, token: str) -> Publication:
    """The current entries at a URL. The token in the URL is the only authentication."""
    hashed = token_hash(token)
    wait = await runtime.limiter.wait_for(f"published:{hashed[:32]}", PER_ADDRESS)
    if wait > 0:
        raise TooMany("This feed is asked for too often. Come back a little later.", int(wait) + 1)
    async with runtime.db.read() as tx:
        owned_feed = await published_feeds.by_token(tx, hashed)
    if owned_feed is None:
        raise NotFound("There is nothing at this address.")
    user_id, feed = owned_feed
    entries = await _published_entries(runtime, user_id, feed)
    await _touch(runtime, feed)
    return Publication(feed, entries)


async def _published_entries(runtime: Runtime, user_id: int, feed: PublishedFeed) -> list[EntryText]:
    if feed.view.spoken:
        return []  # its address is that of the podcast
    if feed.view.digests:
        return await _digests(runtime, user_id, feed)
    if feed.view.stories:
        return await _stories(runtime, user_id, feed)
    return await _entries(runtime, user_id, feed.view)


async def _digests(runtime: Runtime, user_id: int, feed: PublishedFeed) -> list[EntryText]:
    """Each finished digest as an entry."""
    async with runtime.db.read() as tx:
        digest_list = await digests.newest(tx, user_id, limit=ENTRIES)
    return [
        _digest_entry(digest, feed, runtime.accounts.base_url) for digest in digest_list if digest.status == "ready"
    ]


def _digest_entry(digest: Digest, feed: PublishedFeed, base_url: str) -> EntryText:
    written_at = digest.finished_at or digest.created_at
    content = digest_html(digest, base_url)
    return EntryText(
        id=digest.id,
        feed_id=feed.id,
        guid=None,
        url=f"{base_url}/digests/{digest.id}",
        title=digest_title(digest),
        author=None,
        summary=next((sentence.text for part in digest.text.paragraphs for sentence in part.sentences), ""),
        language=digest.language or None,
        published_at=written_at,
        fetched_at=written_at,
        changed_at=None,
        sort_at=written_at,
        content=content,
        feed_content=content,
        feed_title=feed.name,
        folder_id=None,
    )


async def _stories(runtime: Runtime, user_id: int, feed: PublishedFeed) -> list[EntryText]:
    """Each story as an entry that links to its first reports."""
    async with runtime.db.read() as tx:
        story_lines = await stories.page(tx, user_id, cursor=None, limit=ENTRIES, now=runtime.now())
        ids = [source.entry_id for story in story_lines for source in story.sources]
        reports = {entry.id: entry for entry in await entry_texts.visible_texts(tx, user_id, ids)}
    return [_story_entry(story, reports, feed, runtime.accounts.base_url) for story in story_lines]


def _story_entry(
    story: StorySummary, reports: Mapping[int, EntryText], feed: PublishedFeed, base_url: str
) -> EntryText:
    headline = story.headline
    items: list[str] = []
    for source in story.sources:
        report = reports.get(source.entry_id)
        url = (report.url if report else None) or f"{base_url}/entry/{source.entry_id}"
        items.append(f'<li><a href="{escape(url)}">{escape(source.title)}</a> ({escape(source.feed)})</li>')
    content = f"<ul>{''.join(items)}</ul>"
    return EntryText(
        id=story.id,
        feed_id=feed.id,
        guid=None,
        url=f"{base_url}/stories/{story.id}",
        title=headline.title,
        author=None,
        summary=", ".join(dict.fromkeys(source.feed for source in story.sources)),
        language=headline.language or None,
        published_at=story.first_at,
        fetched_at=story.first_at,
        changed_at=story.newest_at,
        sort_at=story.newest_at,
        content=content,
        feed_content=content,
        feed_title=feed.name,
        folder_id=None,
    )


async def _entries(runtime: Runtime, user_id: int, view: PublishedView) -> list[EntryText]:
    if view.search_id is not None:
        return await _saved_search_entries(runtime, user_id, view.search_id, view)
    async with runtime.db.read() as tx:
        page = await entry_lists.page(tx, user_id, view.query, None, ENTRIES)
        if page is None:
            raise NotFound("There is nothing at this address.")
        return await texts_for_programs(runtime, tx, user_id, [row.id for row in page.rows])


async def _saved_search_entries(runtime: Runtime, user_id: int, search_id: int, view: PublishedView) -> list[EntryText]:
    async with runtime.db.read() as tx:
        query = await published_feeds.search_text(tx, user_id, search_id)
    if query is None:
        raise NotFound("There is nothing at this address.")
    page = await search_entries(
        runtime, user_id, query, within=view.query, limit=ENTRIES, thorough=True, excerpts=False
    )
    async with runtime.db.read() as tx:
        return await texts_for_programs(runtime, tx, user_id, [row.id for row in page.rows])


async def texts_for_programs(runtime: Runtime, tx: Tx, user_id: int, ids: list[int]) -> list[EntryText]:
    """As apps get them: translated, if the user wants that."""
    loaded = await _originals(tx, user_id, ids)
    user = None if runtime.ai.translator is None else await users.get(tx, user_id)
    if user is None:
        return loaded
    translated = await translations_for_programs(tx, runtime, user, ids)
    return [
        replace(text, title=translated[text.id][0].title, content=translated[text.id][1])
        if text.id in translated
        else text
        for text in loaded
    ]


async def _originals(tx: Tx, user_id: int, ids: list[int]) -> list[EntryText]:
    """With the whole article only if this user reads the feed's full articles, as for apps."""
    loaded = await entry_texts.visible_texts(tx, user_id, ids)
    fetched = [entry_text for entry_text in loaded if entry_text.content != entry_text.feed_content]
    if not fetched:
        return loaded
    origins = await sidebar.origins(tx, user_id, list({entry_text.feed_id for entry_text in fetched}))
    contents = {
        entry.row.id: content_for_programs(entry, origins[entry.row.feed_id].full_text)
        for entry in await entry_texts.by_ids(tx, user_id, [entry_text.id for entry_text in fetched])
    }
    return [replace(entry_text, content=contents.get(entry_text.id, entry_text.feed_content)) for entry_text in loaded]


async def _touch(runtime: Runtime, feed: PublishedFeed) -> None:
    now = runtime.now()
    if feed.last_used_at is None or now - feed.last_used_at > TOUCH_EVERY:
        async with runtime.db.write() as tx:
            await published_feeds.touch(tx, feed.id, now)


async def _check_view(tx: Tx, user_id: int, view: PublishedView) -> None:
    if view.digests or view.stories or view.spoken:
        return
    if await visibility.resolve(tx, user_id, view.query) is None:
        raise NotFound("There is no such feed or folder")
    if view.tag is not None and await tags.id_of(tx, user_id, view.tag) is None:
        raise NotFound("There is no such tag")
    if view.search_id is None:
        return
    if await published_feeds.search_text(tx, user_id, view.search_id) is None:
        raise NotFound("There is no such search")


def _require_feed(feed: PublishedFeed | None) -> PublishedFeed:
    if feed is None:
        raise NotFound(NO_SUCH)
    return feed

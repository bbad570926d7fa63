"""Import and export subscriptions as OPML, and export starred, saved and tagged entries."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import orjson

from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.folders import FolderNode, build_tree
from reedbed.domain.live import ChangeEvent
from reedbed.domain.page_feeds import PageRecipe, recipe_from_fields
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.transfer import PAGE_RECIPE, ImportLine, ImportReport, OpmlDocument, OpmlFeed, OpmlOutline, feeds_of
from reedbed.domain.users import Allowance
from reedbed.ingest.discovery import url_from_typed, urls_from_typed
from reedbed.ingest.page_feeds.apply import check_selectors
from reedbed.ingest.transfer import read_opml, write_opml
from reedbed.services.folders import find_or_create_path
from reedbed.services.live import publish_subscriptions
from reedbed.services.refresh.check import wake_worker
from reedbed.services.runtime import Runtime
from reedbed.services.security import spend
from reedbed.services.subscriptions.discover import Address, answering_url, split_credentials, without_credentials
from reedbed.services.subscriptions.manage import AlreadySubscribed, SubscribeOptions, subscribe_to_url
from reedbed.store import folders, page_feeds, subscriptions, tags, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.feeds import feeds

# --- OPML

LINES_PER_BATCH = 100
"""Feeds per transaction: a file may have thousands, and other writers must not wait for all of them."""

_ASKED_AT_A_TIME, _ASKING_SECONDS = 10, 10.0

TRUNCATED_FILE = ImportLine("The rest of the file", "", Failure(FailureCode.FILE_CUT_OFF))

_NO_FEEDS = "This OPML file lists no feeds. Export the subscriptions from your other reader and try again."


async def import_opml(runtime: Runtime, user_id: int, body: bytes) -> ImportReport:
    """Subscribe to all feeds of the file and report each line that fails. They are fetched later."""
    document = await asyncio.to_thread(read_opml, body)
    feeds, others = opml_feeds(document)
    imported, skipped = 0, duplicates(others)
    reported: list[ImportLine] = [TRUNCATED_FILE] if document.cut_off else []
    for start in range(0, len(feeds), LINES_PER_BATCH):
        done = await subscribe_lines(runtime, user_id, feeds[start : start + LINES_PER_BATCH])
        imported += done.imported
        skipped += done.skipped
        reported.extend(done.lines)
        await _publish_progress(runtime, user_id, min(start + LINES_PER_BATCH, len(feeds)), len(feeds))
    async with runtime.db.write() as tx:
        await users.record_event(
            tx, runtime.now(), "opml_imported", user_id, {"imported": imported, "skipped": skipped}
        )
    await publish_subscriptions(runtime, user_id)
    return ImportReport(imported, skipped, (*reported, *others))


def opml_feeds(document: OpmlDocument) -> tuple[list[OpmlFeed], list[ImportLine]]:
    """The feeds to subscribe to, and a report line for every duplicate and every line without a URL.

    A feed that lies in several folders is listed in each.
    """
    feeds: dict[str, OpmlFeed] = {}
    others: list[ImportLine] = []
    for line in feeds_of(document):
        title, url = without_credentials(line.outline.title), line.outline.xml_url
        if url is None:
            is_feed = line.outline.type == "rss" or line.outline.html_url
            missing = ImportLine(title, "", Failure(FailureCode.LINE_WITHOUT_ADDRESS))
            empty = ImportLine(title, "", Failure(FailureCode.LINE_WITHOUT_FEEDS), "skipped")
            others.append(missing if is_feed else empty)
        elif (known := feeds.get(key := feed_url_key(url))) is None:
            feeds[key] = line
        elif line.path and known.path and line.path not in (known.path, *known.other_paths):
            feeds[key] = replace(known, other_paths=(*known.other_paths, line.path))
        else:
            others.append(listed_twice(title, url))
    if not feeds and not document.cut_off and not any(line.status == "error" for line in others):
        raise Invalid(_NO_FEEDS, field="file")
    return list(feeds.values()), others


def feed_url_key(url: str) -> str:
    """A key that is equal for two lines with the same feed."""
    try:
        return split_credentials(url_from_typed(url)).url
    except Invalid:
        return url


def listed_twice(title: str, url: str) -> ImportLine:
    failure = Failure(FailureCode.LISTED_TWICE)
    return ImportLine(without_credentials(title), without_credentials(url), failure, "duplicate")


def duplicates(lines: Iterable[ImportLine]) -> int:
    return sum(line.status == "duplicate" for line in lines)


async def export_opml(runtime: Runtime, user_id: int, *, with_credentials: bool = False) -> bytes:
    """With `with_credentials`, feed URLs include their username and password."""
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
        logins = await feeds.credentials(tx, user_id) if with_credentials else {}
        subscribed = await subscriptions.every(tx, user_id)
        extras = await subscriptions.opml_attributes(tx, user_id)
        recipes = await page_feeds.recipes_of_user(tx, user_id)
    by_folder: defaultdict[int | None, list[Subscription]] = defaultdict(list)
    for subscription in subscribed:
        if subscription.feed.kind == "web":  # other readers cannot subscribe to newsletters or saved pages
            for folder_id in subscription.folder_ids or (None,):
                by_folder[folder_id].append(subscription)
    urls = {
        subscription.feed.id: Address(subscription.feed.url, *logins.get(subscription.feed.id, (None, None))).whole
        for subscription in subscribed
    }
    attributes: dict[int, list[tuple[str, str]]] = {id_: orjson.loads(text) for id_, text in extras.items()}
    for id_, recipe in recipes.items():
        attributes.setdefault(id_, []).append((PAGE_RECIPE, recipe))
    outlines = _outlines(build_tree(rows), by_folder, None, attributes, urls)
    return write_opml(OpmlDocument("Reedbed subscriptions", outlines))


async def subscribe_lines(runtime: Runtime, user_id: int, lines: Sequence[OpmlFeed]) -> ImportReport:
    """Subscribe to these feeds in their folders, in one transaction."""
    lines = await _with_schemes(runtime, lines)
    async with runtime.db.write() as tx:
        paths: dict[tuple[str, ...], int | None] = {(): None}
        done = [await _import_line(tx, runtime, user_id, line, paths) for line in lines]
    await wake_worker(runtime)
    counts = Counter(line.status for line in done)
    return ImportReport(counts["added"], counts["followed"] + counts["moved"], tuple(done))


async def _with_schemes(runtime: Runtime, lines: Sequence[OpmlFeed]) -> Sequence[OpmlFeed]:
    """Ask the sites of feeds without a scheme for http or https; those that do not answer in time get https."""
    typed = dict.fromkeys(line.outline.xml_url or "" for line in lines)
    answering: dict[str, str] = {}
    some = asyncio.Semaphore(_ASKED_AT_A_TIME)

    async def ask(url: str) -> None:
        async with some:
            with suppress(Invalid):  # reported when the line is imported
                answering[url] = await answering_url(runtime, url)

    with suppress(TimeoutError):
        async with asyncio.timeout(_ASKING_SECONDS), asyncio.TaskGroup() as group:
            for url in typed:
                if len(urls_from_typed(url)) > 1:
                    group.create_task(ask(url))
    urls = [answering.get(line.outline.xml_url or "", line.outline.xml_url) for line in lines]
    return [replace(line, outline=replace(line.outline, xml_url=url)) for line, url in zip(lines, urls, strict=True)]


async def _import_line(
    tx: Tx, runtime: Runtime, user_id: int, line: OpmlFeed, paths: dict[tuple[str, ...], int | None]
) -> ImportLine:
    outline = line.outline
    # The report is shown and stored with its job, so URLs must not contain passwords. Neither must titles:
    # some readers export the URL of a feed as its title.
    title, url = without_credentials(outline.title), without_credentials(outline.xml_url or "")
    folder_ids: tuple[int, ...] = ()
    try:
        typed_url = url_from_typed(outline.xml_url or "")
        for path in (line.path, *line.other_paths):
            if path not in paths:
                paths[path] = await find_or_create_path(tx, runtime, user_id, path)
        folder_ids = tuple(id_ for path in (line.path, *line.other_paths) if (id_ := paths[path]) is not None)
        options = SubscribeOptions(
            typed_url,
            title=title.strip()[:254] or None,
            opml=_attributes_json(outline),
            recipe=_page_recipe(outline),
            folder_ids=folder_ids,
        )
        await subscribe_to_url(tx, runtime.now(), user_id, options, asked_url=split_credentials(typed_url).url)
        return ImportLine(title, url, status="added")
    except AlreadySubscribed as error:
        if await _move_to_folders(tx, user_id, error.subscription_id, folder_ids):
            folder_path = " / ".join(line.path)
            failure = Failure(FailureCode.ALREADY_FOLLOWED_AND_MOVED, {"folder": folder_path})
            return ImportLine(title, url, failure, "moved")
        return ImportLine(title, url, Failure(FailureCode.ALREADY_FOLLOWED), "followed")
    except ReedbedError as error:
        return ImportLine(title, url, error.failure)


async def _move_to_folders(tx: Tx, user_id: int, subscription_id: int, folder_ids: Sequence[int]) -> bool:
    if not folder_ids:
        return False
    moved = await subscriptions.move_to_folder(tx, user_id, subscription_id, folder_ids[0])
    added = [await folders.add_other(tx, user_id, subscription_id, id_) for id_ in folder_ids[1:]]
    return moved or any(added)


def _attributes_json(outline: OpmlOutline) -> str | None:
    kept = [(name, without_credentials(value)) for name, value in outline.attributes if name != PAGE_RECIPE]
    return orjson.dumps(kept).decode() if kept else None


def _page_recipe(outline: OpmlOutline) -> PageRecipe | None:
    """The recipe of a feed that is made from a page. Raise `Invalid` if it cannot be used."""
    text = dict(outline.attributes).get(PAGE_RECIPE)
    if text is None:
        return None
    try:
        recipe = recipe_from_fields(orjson.loads(text))
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("The recipe for this page is damaged.") from error
    check_selectors(recipe.selectors)
    return recipe


def _outlines(
    tree: Sequence[FolderNode],
    by_folder: Mapping[int | None, list[Subscription]],
    folder_id: int | None,
    extras: dict[int, list[tuple[str, str]]],
    urls: Mapping[int, str],
) -> tuple[OpmlOutline, ...]:
    nested = tuple(
        OpmlOutline(node.name, children=_outlines(node.children, by_folder, node.id, extras, urls)) for node in tree
    )
    subscribed = tuple(
        OpmlOutline(
            subscription.title,
            xml_url=urls[subscription.feed.id],
            html_url=subscription.feed.site_url,
            type="rss",
            attributes=tuple((name, value) for name, value in extras.get(subscription.id, ())),
        )
        for subscription in by_folder.get(folder_id, ())
    )
    return (*nested, *subscribed)


async def _publish_progress(runtime: Runtime, user_id: int, done: int, total: int) -> None:
    await runtime.bus.publish(
        ChangeEvent("progress", user_id=user_id, data={"what": "opml", "done": done, "total": total})
    )


# --- Export of entries

BATCH_SIZE = 20
"""Entries in memory at a time, each with its text."""
PER_USER = Allowance(5, 5 / 3600)


@record
class ExportedEntry:
    row: EntryRow
    words: EntryText


async def spend_export(runtime: Runtime, user_id: int) -> None:
    await spend(runtime, f"export:{user_id}", PER_USER, "You have taken several exports already. Wait a few minutes.")


async def export_entries(runtime: Runtime, user_id: int) -> AsyncGenerator[ExportedEntry]:
    """All starred, saved and tagged entries, each once."""
    async for entry in _list_entries(runtime, user_id, ViewQuery("starred")):
        yield entry
    async for entry in _list_entries(runtime, user_id, ViewQuery("later")):
        if not entry.row.states.starred:
            yield entry
    async with runtime.db.read() as tx:
        names = [tag.name for tag in await tags.counts(tx, user_id)]
    for index, name in enumerate(names):
        async for entry in _list_entries(runtime, user_id, ViewQuery("all", tag=name)):
            if not _is_exported_already(entry.row, names[:index]):
                yield entry


async def _list_entries(runtime: Runtime, user_id: int, query: ViewQuery) -> AsyncGenerator[ExportedEntry]:
    cursor: Cursor | None = None
    while True:
        async with runtime.db.read() as tx:
            page = await entry_lists.page(tx, user_id, query, cursor, BATCH_SIZE)
            rows = page.rows if page else ()
            texts = await entry_texts.visible_texts(tx, user_id, [row.id for row in rows])
        by_id = {text.id: text for text in texts}
        for row in rows:
            if row.id in by_id:
                yield ExportedEntry(row, by_id[row.id])
        cursor = page.next if page else None
        if cursor is None:
            return


def _is_exported_already(row: EntryRow, earlier_tags: Sequence[str]) -> bool:
    states = row.states
    return states.starred or states.later or any(tag in earlier_tags for tag in states.tags)

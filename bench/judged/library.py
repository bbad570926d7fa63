"""A library with one reader, filled with labelled entries the way a check of their feeds would."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.judged.data import LabelledEntry
from bench.search_library import Cpu, server_process
from reedbed.domain.feeds import ParsedEntry, ParsedFeed
from reedbed.domain.times import DAY, Instant
from reedbed.domain.users import User
from reedbed.roles.build import system_clock
from reedbed.services.refresh.diff import words_of
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import unknown_forms
from reedbed.store import search, users
from reedbed.store.entries.write import NewEntryRow, insert_new
from reedbed.store.migrations import migrate
from reedbed.store.search import forms
from tests.harness import RuntimeHarness, open_harness, run

FOLDERS = {
    "News": (
        "Northgate Herald, Wire Desk, The Daily Spark, Coastline Radio, Rheinblick, Tagesbote Kronau,"
        "Hexagone Info, Le Courrier du Sud, El Faro del Sur, Diario Meseta"
    ),
    "Around here": "Tidewick Gazette, Morton Mail, Nordlicht Radio, Radio Estuaire, Radio Cantil",
    "Business": "Market Ledger, Börsenkompass, Economía Clara",
    "Technology": "Byte Courier, Quiet Kernel, Technikecho, Release Notes, Lumen Science, Preprints in Learning",
    "Life": "Field & Fork, Mara's Margins, Linkroll, Panel Four, La Gazette verte",
}


@dataclass
class Library:
    harness: RuntimeHarness
    user: User
    cpu: Cpu
    indexing: float = 0.0
    """CPU seconds to index the entries that came last."""
    ids: dict[str, int] = field(default_factory=dict[str, int])
    """By the entries' labels."""
    _feeds: dict[str, int] = field(default_factory=dict[str, int])
    _folders: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def runtime(self) -> Runtime:
        return self.harness.runtime

    def set_clock(self, now: Instant) -> None:
        self.harness.clock.ahead = now - system_clock()

    async def receive(self, entries: Sequence[LabelledEntry]) -> None:
        for entry in entries:
            if entry.outlet not in self._feeds:
                self._feeds[entry.outlet] = await self._follow(entry.outlet)
        rows = [self._row(entry) for entry in entries]
        async with self.runtime.db.write() as tx:
            stored = await insert_new(tx, rows)
            started = self.cpu.seconds()
            fresh = unknown_forms(self.runtime.known_words, [(row.text.language, row.text.search) for row in rows])
            await forms.add(tx, fresh)
            await search.index(tx, [(id_, row.text.search) for id_, row in stored])
            self.indexing = self.cpu.seconds() - started
        self.runtime.known_words.remember(fresh)
        self.ids |= {row.guid: id_ for id_, row in stored if row.guid is not None}

    async def stories(self) -> dict[str, int]:
        """The story of each entry, by its label. An entry alone is a story of its own, with a negative id."""
        found = {row[0]: row[1] for row in await self.harness.rows("SELECT entry_id, story_id FROM story_entries")}
        return {label: found.get(id_, -id_) for label, id_ in self.ids.items()}

    async def _follow(self, outlet: str) -> int:
        feed_id = await self.harness.follow(f"https://example.org/{len(self._feeds)}.xml", user_id=self.user.id)
        await self.harness.change("UPDATE feeds SET title = :title WHERE id = :id", title=outlet, id=feed_id)
        folder = next((name for name, outlets in FOLDERS.items() if outlet in outlets), None)
        if folder is not None:
            await self.harness.change(
                "UPDATE subscriptions SET folder_id = :folder WHERE feed_id = :feed",
                folder=await self._folder(folder),
                feed=feed_id,
            )
        return feed_id

    async def _folder(self, name: str) -> int:
        if name not in self._folders:
            async with self.runtime.db.write() as tx:
                rows = await run(
                    tx,
                    "INSERT INTO folders (user_id, name, position, created_at)"
                    " VALUES (:user, :name, :position, 0) RETURNING id",
                    user=self.user.id,
                    name=name,
                    position=len(self._folders),
                )
            self._folders[name] = rows[0][0]
        return self._folders[name]

    def _row(self, entry: LabelledEntry) -> NewEntryRow:
        url = f"https://example.org/entries/{entry.id}"
        parsed = ParsedEntry(guid=entry.id, url=url, title=entry.title, content=entry.html, language=entry.language)
        return NewEntryRow(
            feed_id=self._feeds[entry.outlet],
            guid=entry.id,
            url=url,
            normalized_url=url,
            change_hash=entry.id,
            published_at=entry.at,
            fetched_at=entry.at,
            sort_at=entry.at,
            text=words_of(parsed, _FEED),
        )


_FEED = ParsedFeed("rss", "A feed", (), site_url="https://example.org/")
_prepared: list[tempfile.TemporaryDirectory[str]] = []


@asynccontextmanager
async def open_library(url: str | None = None) -> AsyncIterator[Library]:
    """Empty: at this address, else in a SQLite file of its own."""
    with tempfile.TemporaryDirectory(prefix="reedbed-judged-") as directory:
        if url is None:
            file = Path(directory) / "reedbed.db"
            shutil.copy(await _empty_database(), file)
            url = f"sqlite:///{file}"
        else:
            await migrate(url)
        async with open_harness(url) as harness:
            user_id = await harness.person()
            async with harness.runtime.db.read() as tx:
                user = await users.get(tx, user_id)
            assert user is not None
            yield Library(harness, user, Cpu(await server_process(harness.runtime.db)))


async def _empty_database() -> Path:
    """Migrated once, then copied."""
    if not _prepared:
        _prepared.append(tempfile.TemporaryDirectory(prefix="reedbed-empty-"))
        await migrate(f"sqlite:///{_prepared[0].name}/empty.db")
    return Path(_prepared[0].name) / "empty.db"


def end_of(entries: Sequence[LabelledEntry]) -> Instant:
    """Midnight after the last entry."""
    return (max(entry.at for entry in entries) // DAY + 1) * DAY

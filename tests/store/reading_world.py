"""What happens around readers: feeds are followed and left, entries arrive, age and are removed."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from reedbed.domain.times import MINUTE
from reedbed.store.retention import deletion
from tests.store.library import Library
from tests.store.reading_model import NO_END, Model

Result = TypeVar("Result")

WHO = st.integers(0, 1)
FEED = st.integers(0, 2)
PICK = st.integers(0, 1_000)


class ReadingWorld(RuleBasedStateMachine):
    """Two users, three feeds, a folder within a folder each; every act is done in the store and the model."""

    library: Library
    run_in: asyncio.AbstractEventLoop
    clock = 1_000_000_000
    """Runs on from example to example: they share a database, and steps must expire for good."""

    def do(self, doing: Coroutine[Any, Any, Result]) -> Result:
        return self.run_in.run_until_complete(doing)

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.feeds = [self.do(self.library.feed()) for _ in range(3)]
        self.users = [self.do(self.library.user()) for _ in range(2)]
        self.folders: dict[int, tuple[int, int]] = {}
        for user in self.users:
            outer = self.do(self.library.folder(user))
            inner = self.do(self.library.folder(user, outer))
            self.folders[user] = (outer, inner)
            self.model.parents |= {outer: None, inner: outer}
        for feed in (0, 1):
            self.follow(0, feed, feed)
            self.follow(1, feed, 2)
        for number in range(8):
            self.arrive(number % 3, late=number % 2 == 0, back=number)

    # ---- feeds

    @rule(feed=FEED, late=st.booleans(), back=st.integers(1, 40))
    def arrive(self, feed: int, late: bool, back: int) -> None:
        ReadingWorld.clock += MINUTE
        sort_at = self.clock - back * 10 * MINUTE if late else self.clock
        entry = self.do(self.library.entry(self.feeds[feed], sort_at=sort_at, fetched_at=self.clock))
        self.model.arrive(entry, self.feeds[feed], sort_at, self.clock)

    @rule(who=WHO, feed=FEED, folder=st.integers(0, 2))
    def follow(self, who: int, feed: int, folder: int) -> None:
        user, feed_id = self.users[who], self.feeds[feed]
        sub = self.model.following.get((user, feed_id))
        if sub is None:
            inside = self._folder(user, folder)
            self.do(self.library.follow(user, feed_id, inside))
            self.model.follow(user, feed_id, inside)
        elif not sub.active:
            self.do(self.library.come_back(user, feed_id))
            self.model.come_back(user, feed_id)

    @rule(who=WHO, feed=FEED)
    def leave(self, who: int, feed: int) -> None:
        user, feed_id = self.users[who], self.feeds[feed]
        sub = self.model.following.get((user, feed_id))
        if sub and sub.active:
            self.do(self.library.leave(user, feed_id))
            self.model.leave(user, feed_id)

    @rule(
        who=WHO, feed=FEED, how=st.sampled_from(["pause", "resume", "move", "mute", "unmute"]), folder=st.integers(0, 2)
    )
    def rearrange(self, who: int, feed: int, how: str, folder: int) -> None:
        user, feed_id = self.users[who], self.feeds[feed]
        sub = self.model.following.get((user, feed_id))
        if sub is None:
            return
        if how == "move":
            sub.folder = self._folder(user, folder)
            self.do(self.library.move(user, feed_id, sub.folder))
        elif how in ("mute", "unmute"):
            sub.muted = how == "mute"
            self.do(self.library.mute(user, feed_id, until=NO_END if sub.muted else None))
        else:
            sub.paused = how == "pause"
            self.do(self.library.pause(user, feed_id, paused=sub.paused))

    @precondition(lambda self: self.model.entries)
    @rule(pick=PICK, gone=st.booleans())
    def age(self, pick: int, gone: bool) -> None:
        """An entry falls out of the library, or everything before it out of the document."""
        entry = self._entry(pick)
        feed = self.model.entries[entry][0]
        if gone:
            self.do(self.library.forget(entry))
            self.model.forget(entry)
        else:
            self.do(self.library.lists_from(feed, entry))
            self.model.listed_from[feed] = entry

    @rule(feed=FEED, state=st.sampled_from(["read", "unread"]), minutes=st.integers(0, 10))
    def retain(self, feed: int, state: deletion.State, minutes: int) -> None:
        """Retention takes what is older than so many minutes."""
        feed_id, before = self.feeds[feed], self.clock - minutes * MINUTE
        going = self.model.removable(feed_id, state, before)
        lost = {user: len(going & self.model.unread(user)) for user in self.users}

        async def act() -> deletion.Removed:
            async with self.library.db.write() as tx:
                found = await deletion.aged_in(tx, feed_id, state, before, deletion.START, limit=1_000)
                assert {entry for _, entry in found} == going
                # Whoever looked before may have been overtaken: asked for all, it takes only these.
                return await deletion.delete_entries(tx, sorted(self._old(feed_id, before)), state)

        removed = self.do(act())
        assert (removed.entries, removed.unread) == (len(going), len(going) if state == "unread" else 0)
        assert removed.lost == {user: count for user, count in lost.items() if count}
        for entry in going:
            self.model.forget(entry)

    @rule(feed=FEED, kept=st.integers(1, 6))
    def keep_the_newest(self, feed: int, kept: int) -> None:
        feed_id = self.feeds[feed]
        surplus = self.model.beyond_newest(feed_id, kept)
        going = self.model.removable(feed_id, "read", NO_END) & surplus

        async def act() -> list[int]:
            async with self.library.db.write() as tx:
                top = await deletion.newest_surplus_entry(tx, feed_id, kept)
                assert top == max(surplus, default=None)
                found = await deletion.below(tx, feed_id, "read", top or 0, beyond=0, limit=1_000)
                await deletion.delete_entries(tx, found, "read")
                return found

        assert set(self.do(act())) == going
        for entry in going:
            self.model.forget(entry)

    # ---- choices

    def _entry(self, pick: int) -> int:
        return sorted(self.model.entries)[pick % len(self.model.entries)]

    def _old(self, feed: int, before: int) -> set[int]:
        arrived = self.model.arrived
        return {entry for entry, (home, _) in self.model.entries.items() if home == feed and arrived[entry] < before}

    def _folder(self, user: int, folder: int) -> int | None:
        return (*self.folders[user], None)[folder]

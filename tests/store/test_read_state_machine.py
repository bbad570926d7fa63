"""Random acts of reading against a model of plain sets: lists, counts, flags and undo always agree."""

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from reedbed.domain.entries import ViewQuery
from reedbed.domain.times import HOUR, MINUTE
from reedbed.store import tags
from reedbed.store.engine.connect import open_database
from reedbed.store.entries import read as store
from reedbed.store.read_state import counts, undo, unread
from reedbed.store.read_state import mark as mark_all
from reedbed.store.read_state import mark as selecting
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state.mark import ResolvedSelection
from tests.effort import REPEAT_FACTOR
from tests.store.library import Library
from tests.store.reading_model import Act
from tests.store.reading_world import FEED, PICK, WHO, ReadingWorld

EXAMPLES = {"sqlite": 30 * REPEAT_FACTOR, "postgresql": 8 * REPEAT_FACTOR}
"""Each step is a few round trips, so most of the search is done where they are cheap."""

FEW = st.lists(PICK, min_size=1, max_size=4)
TAG = st.sampled_from(["red", "blue"])
ORDER = st.sampled_from(["newest", "oldest"])
SCOPE = st.sampled_from(["all", "feed", "folder"])


def test_the_store_agrees_with_plain_sets(database_url: str) -> None:
    loop = asyncio.new_event_loop()
    db = loop.run_until_complete(open_database(database_url, pool_size=2))

    class Reading(ReadingMachine):
        library = Library(db)
        run_in = loop

    try:
        examples = EXAMPLES[db.engine]
        run_state_machine_as_test(Reading, settings=settings(max_examples=examples, stateful_step_count=40))
    finally:
        loop.run_until_complete(db.close())
        loop.close()


class ReadingMachine(ReadingWorld):
    """What readers do, and that every list, count and flag agrees after each act."""

    # ---- one by one

    @precondition(lambda self: self.model.entries)
    @rule(who=WHO, picks=FEW, read=st.booleans())
    def read(self, who: int, picks: list[int], read: bool) -> None:
        user, chosen = self.users[who], {self._entry(pick) for pick in picks}
        if read:
            self.do(self.library.read(user, *chosen))
            self.model.read(user, chosen)
        else:
            self.do(self.library.unread_again(user, *chosen))
            self.model.unread_again(user, chosen)

    @precondition(lambda self: self.model.entries)
    @rule(who=WHO, pick=PICK, on=st.booleans(), name=st.sampled_from(["starred", "later"]))
    def mark(self, who: int, pick: int, on: bool, name: marks.Mark) -> None:
        user, entry = self.users[who], self._entry(pick)

        async def act() -> None:
            async with self.library.db.write() as tx:
                if on:
                    await marks.set_flag(tx, user, name, [entry], self.clock)
                else:
                    await marks.clear_flag(tx, user, name, [entry])

        self.do(act())
        known: set[tuple[int, int]] = getattr(self.model, name)
        if not on:
            known.discard((user, entry))
        elif entry in self.model.visible(user):
            known.add((user, entry))

    @precondition(lambda self: self.model.entries)
    @rule(who=WHO, pick=PICK, names=st.sets(TAG))
    def tag(self, who: int, pick: int, names: set[str]) -> None:
        user, entry = self.users[who], self._entry(pick)

        async def act() -> None:
            async with self.library.db.write() as tx:
                await tags.add(tx, user, sorted(names), self.clock)
                await tags.replace(tx, user, [entry], sorted(names))

        self.do(act())
        if entry in self.model.visible(user):
            others = {mark for mark in self.model.tagged if mark[:2] != (user, entry)}
            self.model.tagged = others | {(user, entry, name) for name in names}

    # ---- many at once

    @rule(who=WHO, scope=SCOPE, feed=FEED, folder=st.integers(0, 1), pick=st.none() | PICK)
    def mark_all(self, who: int, scope: str, feed: int, folder: int, pick: int | None) -> None:
        user = self.users[who]
        feeds = self._feeds(user, scope, feed, folder)
        up_to = self._entry(pick) if pick is not None and self.model.entries else None
        act = self._act(user, "mark")

        async def do() -> int:
            async with self.library.db.write() as tx:
                ids = None if feeds is None else sorted(feeds)
                return await mark_all.mark_all(tx, user, ids, up_to, token_hash=act.token, now=self.clock)

        marked = self.do(do())
        assert marked == self.model.mark_all(act, feeds, up_to)

    @precondition(lambda self: self.model.entries)
    @rule(who=WHO, read=st.booleans(), picks=FEW)
    def mark_ids(self, who: int, read: bool, picks: list[int]) -> None:
        chosen = {self._entry(pick) for pick in picks}
        self._mark_chosen(self.users[who], read, ResolvedSelection(ids=sorted(chosen)), chosen)

    @rule(who=WHO, read=st.booleans(), name=TAG)
    def mark_tag(self, who: int, read: bool, name: str) -> None:
        user = self.users[who]
        chosen = set(self.model.listed(user, ViewQuery("all", tag=name)))
        self._mark_chosen(user, read, ResolvedSelection(tag=name), chosen)

    @precondition(lambda self: self.model.entries)
    @rule(
        who=WHO,
        read=st.booleans(),
        scope=SCOPE,
        feed=FEED,
        folder=st.integers(0, 1),
        pick=PICK,
        how=st.sampled_from(["newer_than", "before", "older_than"]),
        view=st.sampled_from(["all", "starred", "later"]),
    )
    def mark_around(
        self, who: int, read: bool, scope: str, feed: int, folder: int, pick: int, how: str, view: Any
    ) -> None:
        user, anchor = self.users[who], self._entry(pick)
        feeds, place = self._feeds(user, scope, feed, folder), self.model.place(anchor)
        candidates = set(self.model.listed(user, ViewQuery(view)))
        by_place = {
            "newer_than": lambda entry: self.model.place(entry) > place,
            "before": lambda entry: self.model.place(entry) < place,
            "older_than": lambda entry: self.model.place(entry)[0] < place[0],
        }
        chosen = {
            entry
            for entry in candidates
            if by_place[how](entry) and (feeds is None or self.model.entries[entry][0] in feeds)
        }
        ids = None if feeds is None else sorted(feeds)
        where: dict[str, Any] = {how: place[0] if how == "older_than" else place}
        self._mark_chosen(user, read, ResolvedSelection(view=view, feed_ids=ids, **where), chosen)

    def _mark_chosen(self, user: int, read: bool, chosen: ResolvedSelection, expected: set[int]) -> None:
        act = self._act(user, "read" if read else "unread")

        async def do() -> int:
            async with self.library.db.write() as tx:
                changed, _ = await selecting.mark(tx, user, chosen, read=read, token_hash=act.token, now=self.clock)
                return changed

        changed = self.do(do())
        assert changed == self.model.mark_chosen(act, expected)

    @precondition(lambda self: self.model.acts)
    @rule(back=st.integers(0, 3))
    def undo(self, back: int) -> None:
        act = self.model.acts[-1 - back % len(self.model.acts)]

        async def do() -> bool | None:
            async with self.library.db.write() as tx:
                step = await undo.find(tx, act.user, act.token, self.clock)
                return None if step is None else await undo.apply_undo(tx, step)

        done = self.do(do())
        if act.expires_at <= self.clock:
            assert done is None
        else:
            assert done == self.model.undo(act)

    @rule(minutes=st.sampled_from([1, 20, 50, 130]), limit=st.sampled_from([1, 3, 5_000]))
    def sweep(self, minutes: int, limit: int) -> None:
        ReadingWorld.clock += minutes * MINUTE

        async def do() -> None:
            more = True
            while more:
                async with self.library.db.write() as tx:
                    more = await unread.delete_expired(tx, self.clock, limit=limit) is not None

        self.do(do())
        self.model.acts = [act for act in self.model.acts if act.expires_at > self.clock]

    # ---- what must hold

    @rule(
        who=WHO,
        view=st.sampled_from(["unread", "all", "starred", "later"]),
        order=ORDER,
        scope=SCOPE,
        feed=FEED,
        folder=st.integers(0, 1),
        tag=st.none() | TAG,
        since=st.none() | PICK,
        limit=st.integers(1, 5),
    )
    def look(
        self, who: int, view: Any, order: Any, scope: str, feed: int, folder: int, tag: Any, since: Any, limit: int
    ) -> None:
        user = self.users[who]
        sub = self.model.following.get((user, self.feeds[feed]))
        query = ViewQuery(
            view=view,
            order=order,
            feed_id=self.feeds[feed] if scope == "feed" and sub and sub.active else None,
            folder_id=self.folders[user][folder] if scope == "folder" else None,
            tag=tag,
            since=None if since is None else self.clock - since * MINUTE,
        )
        rows = self.do(self.library.listed(user, query, limit))
        assert [row.id for row in rows] == self.model.listed(user, query)

    @invariant()
    def everything_agrees(self) -> None:
        for user in getattr(self, "users", ()):
            self.do(self._agrees(user))

    async def _agrees(self, user: int) -> None:
        alive = self.model.unread(user)
        async with self.library.db.read() as tx:
            for query in (ViewQuery("unread", "newest"), ViewQuery("all", "oldest")):
                page = await store.page(tx, user, query, limit=200)
                assert page is not None
                assert [row.id for row in page.rows] == self.model.listed(user, query)
                for row in page.rows:
                    states = row.states
                    assert states.read == (row.id not in alive)
                    assert states.starred == ((user, row.id) in self.model.starred)
                    assert states.later == ((user, row.id) in self.model.later)
                    assert states.tags == self.model.tags(user, row.id)
            await self._counts_agree(await counts.counts(tx, user), user, alive)

    async def _counts_agree(self, counted: Any, user: int, alive: set[int]) -> None:
        muted = self.model.muted_feeds(user)
        heard = {entry for entry in alive if self.model.entries[entry][0] not in muted}
        assert counted.unread == len(heard)
        by_feed = {count.feed_id: count.unread for count in counted.subscriptions}
        for (who, feed), sub in self.model.following.items():
            if who == user and sub.active:
                assert by_feed[feed] == len(sub.alive())
        for folder in self.folders[user]:
            feeds = self.model.feeds_in(user, folder)
            assert counted.folders[folder] == sum(self.model.entries[entry][0] in feeds for entry in heard)
        for tag in counted.tags:
            tagged = {entry for who, entry, name in self.model.tagged if (who, name) == (user, tag.name)}
            assert (tag.entries, tag.unread) == (len(tagged), len(tagged & alive))
        assert counted.starred == sum(who == user for who, _ in self.model.starred)
        assert counted.later == sum(who == user for who, _ in self.model.later)

    # ---- choices

    def _feeds(self, user: int, scope: str, feed: int, folder: int) -> set[int] | None:
        if scope == "all":
            return None
        return {self.feeds[feed]} if scope == "feed" else self.model.feeds_in(user, self.folders[user][folder])

    def _act(self, user: int, kind: str) -> Act:
        token = f"token {next(self.library.numbers)}"
        return Act(user, token, kind, expires_at=self.clock + HOUR)

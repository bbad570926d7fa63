"""What reading should do, in plain sets: the model that `test_reading_model` holds the store to."""

from dataclasses import dataclass, field

from reedbed.domain.entries import ViewQuery

NO_END = 2**62


@dataclass
class Following:
    """One user's subscription: a row for each unread entry, and the mark."""

    folder: int | None = None
    active: bool = True
    paused: bool = False
    muted: bool = False
    since: int = 0
    mark: int = 0
    newest: int = 0
    rows: dict[int, bool] = field(default_factory=dict)
    """Entry to kept: marked unread by hand, alive even below the mark."""
    parked: dict[int, bool] = field(default_factory=dict)

    def alive(self) -> set[int]:
        return {entry for entry, kept in self.rows.items() if kept or entry > self.mark}

    def sees(self, entry: int) -> bool:
        return self.active and entry > self.since


@dataclass
class Act:
    """A bulk act that can be undone."""

    user: int
    token: str
    kind: str
    rows: set[int] = field(default_factory=set)
    marks: dict[int, tuple[int, int]] = field(default_factory=dict)
    expires_at: int = 0


@dataclass
class Model:
    entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Entry to its feed and place."""
    arrived: dict[int, int] = field(default_factory=dict)
    listed_from: dict[int, int] = field(default_factory=dict)
    following: dict[tuple[int, int], Following] = field(default_factory=dict)
    starred: set[tuple[int, int]] = field(default_factory=set)
    later: set[tuple[int, int]] = field(default_factory=set)
    tagged: set[tuple[int, int, str]] = field(default_factory=set)
    parents: dict[int, int | None] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)

    def arrive(self, entry: int, feed: int, sort_at: int, now: int) -> None:
        self.entries[entry] = (feed, sort_at)
        self.arrived[entry] = now
        for (_, followed), sub in self.following.items():
            if followed == feed and sub.active and not sub.paused:
                sub.rows[entry] = entry <= sub.mark
                sub.newest = max(sub.newest, entry)

    def follow(self, user: int, feed: int, folder: int | None) -> None:
        sub = self.following[user, feed] = Following(folder=folder, since=self._floor(feed))
        sub.rows = dict.fromkeys((entry for entry in self._of(feed) if sub.sees(entry)), False)
        sub.newest = max(self._of(feed), default=0)

    def leave(self, user: int, feed: int) -> None:
        sub = self.following[user, feed]
        sub.parked = {entry: sub.rows[entry] for entry in sub.alive()}
        sub.rows, sub.active = {}, False
        sub.newest = max(sub.newest, *self._of(feed), 0)

    def come_back(self, user: int, feed: int) -> None:
        sub = self.following[user, feed]
        sub.active = True
        floor = max(self._floor(feed), sub.newest, sub.since)
        sub.rows = sub.parked | {entry: False for entry in self._of(feed) if entry > floor}
        sub.parked = {}
        sub.newest = max(sub.newest, *self._of(feed), 0)

    def read(self, user: int, entries: set[int]) -> None:
        for sub in self._subs(user).values():
            for entry in entries:
                sub.rows.pop(entry, None)

    def unread_again(self, user: int, entries: set[int]) -> None:
        for entry in entries & self.entries.keys():
            sub = self.following.get((user, self.entries[entry][0]))
            if sub and sub.sees(entry):
                sub.rows[entry] = sub.rows.get(entry, False) or entry <= sub.mark
                sub.newest = max(sub.newest, entry)

    def mark_all(self, act: Act, feeds: set[int] | None, up_to: int | None) -> int:
        top = NO_END if up_to is None else up_to
        before = len(self.unread(act.user))
        for feed, sub in self._subs(act.user).items():
            if sub.alive() and (feeds is None or feed in feeds):
                kept = {entry for entry, kept in sub.rows.items() if kept and entry <= top}
                act.rows |= kept
                after = max(sub.mark, min(top, sub.newest))
                if after > sub.mark:
                    act.marks[feed] = (sub.mark, after)
                sub.mark = after
                sub.rows = {entry: kept for entry, kept in sub.rows.items() if entry not in act.rows}
        self.acts.append(act)
        return before - len(self.unread(act.user))

    def mark_chosen(self, act: Act, chosen: set[int]) -> int:
        alive = self.unread(act.user)
        if act.kind == "read":
            act.rows = chosen & alive
            self.read(act.user, act.rows)
        else:
            act.rows = (chosen & self.followed(act.user)) - alive
            self.unread_again(act.user, act.rows)
        self.acts.append(act)
        return len(act.rows)

    def undo(self, act: Act) -> bool:
        subs = {feed: sub for feed, sub in self._subs(act.user).items() if feed in act.marks}
        if any(sub.mark != act.marks[feed][1] for feed, sub in subs.items()):
            return False
        for feed, sub in subs.items():
            sub.mark = act.marks[feed][0]
        if act.kind == "unread":
            self.read(act.user, act.rows)
        else:
            self.unread_again(act.user, act.rows)
        self.acts.remove(act)
        return True

    def forget(self, entry: int) -> None:
        del self.entries[entry]
        for sub in self.following.values():
            sub.rows.pop(entry, None)
            sub.parked.pop(entry, None)
        self.starred = {mark for mark in self.starred if mark[1] != entry}
        self.later = {mark for mark in self.later if mark[1] != entry}
        self.tagged = {mark for mark in self.tagged if mark[1] != entry}

    def removable(self, feed: int, state: str, before: int) -> set[int]:
        """What arrived before this moment, kept by nobody, and read by all or unread by somebody."""
        kept = {mark[1] for mark in (*self.starred, *self.later, *self.tagged)}
        old = {entry for entry in self._of(feed) if self.arrived[entry] < before and entry not in kept}
        waiting = {entry for sub in self.following.values() if sub.active for entry in sub.alive()}
        return old & waiting if state == "unread" else old - waiting

    def beyond_newest(self, feed: int, count: int) -> set[int]:
        return set(self._of(feed)[: -count or None])

    def muted_feeds(self, user: int) -> set[int]:
        return {feed for feed, sub in self._subs(user).items() if sub.muted}

    def unread(self, user: int) -> set[int]:
        return {entry for sub in self._subs(user).values() for entry in sub.alive()}

    def followed(self, user: int) -> set[int]:
        subs = self._subs(user)
        return {entry for entry, (feed, _) in self.entries.items() if feed in subs and subs[feed].sees(entry)}

    def visible(self, user: int) -> set[int]:
        marked = {mark[1] for mark in (*self.starred, *self.later, *self.tagged) if mark[0] == user}
        return self.followed(user) | marked

    def tags(self, user: int, entry: int) -> tuple[str, ...]:
        return tuple(sorted(name for who, what, name in self.tagged if (who, what) == (user, entry)))

    def feeds_in(self, user: int, folder: int) -> set[int]:
        within = {folder}
        while more := {id for id, parent in self.parents.items() if parent in within} - within:
            within |= more
        return {feed for feed, sub in self._subs(user).items() if sub.folder in within}

    def listed(self, user: int, query: ViewQuery) -> list[int]:
        views = {
            "unread": self.unread(user),
            "all": self.followed(user),
            "starred": {entry for who, entry in self.starred if who == user},
            "later": {entry for who, entry in self.later if who == user},
        }
        shown = views[query.view]
        if query.tag is not None:
            labelled = {entry for who, entry, name in self.tagged if (who, name) == (user, query.tag)}
            shown = labelled if query.view == "all" else shown & labelled
        if query.view in ("unread", "all") and query.feed_id is None and not (query.tag and query.folder_id is None):
            muted = self.muted_feeds(user)
            shown = {entry for entry in shown if self.entries[entry][0] not in muted}
        if query.feed_id is not None:
            shown = {entry for entry in shown if self.entries[entry][0] == query.feed_id}
        if query.folder_id is not None:
            feeds = self.feeds_in(user, query.folder_id)
            shown = {entry for entry in shown if self.entries[entry][0] in feeds}
        if query.since is not None:
            shown = {entry for entry in shown if self.entries[entry][1] >= query.since}
        return sorted(shown, key=self.place, reverse=query.order == "newest")

    def place(self, entry: int) -> tuple[int, int]:
        return self.entries[entry][1], entry

    def _subs(self, user: int) -> dict[int, Following]:
        """Those that are active, by feed."""
        return {feed: sub for (who, feed), sub in self.following.items() if who == user and sub.active}

    def _of(self, feed: int) -> list[int]:
        return sorted(entry for entry, (home, _) in self.entries.items() if home == feed)

    def _floor(self, feed: int) -> int:
        older = self._of(feed)[:-50]
        return max(self.listed_from.get(feed, 0) - 1, *older, 0)

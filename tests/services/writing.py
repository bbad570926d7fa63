"""Summaries in hand: entries with texts, a model on demand, workers that write when they are told to."""

from dataclasses import replace
from typing import Any

from reedbed.domain.ai import BreakerPolicy
from reedbed.domain.summaries import SummaryState
from reedbed.domain.users import User
from reedbed.services.ai_worker import NothingDue, Skipped, Task, next_task, write_task
from reedbed.services.runtime import AiPolicy, Runtime
from reedbed.services.summaries import get_summary
from reedbed.store import users
from tests.harness import RuntimeHarness, run
from tests.modelserver import ModelServer

AT_ONCE = BreakerPolicy(min_interval=0)
STORY = (
    "The council of Marrowby voted to close the swing bridge to cars for fourteen months. "
    "Buses, cyclists and people on foot keep one lane while the repair goes on. "
    "The repair costs eighteen million, and two thirds of it come from the reserve of the town. "
    "A smaller plan was rejected because it would have closed the bridge twice."
)
# Long enough to be worth a summary, and of sentences that none is made of, because they refer back.
MORE = " ".join(
    f"Then the clerk read the {ordinal} note, with twelve minutes, eleven votes, a pause for tea, the names of those "
    "who were absent that evening and the place where the signed papers are kept."
    for ordinal in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
)
HERON = "A grey heron has built its nest in the old crane of the harbour. Visitors may watch it from the quay."
BREAD = "A baker in the upper town sells bread made of barley again. It was the food of sailors for centuries."


class Desk:
    """A user with a feed, and what a test does to them."""

    def __init__(self, harness: RuntimeHarness, user: User, feed_id: int) -> None:
        self.harness = harness
        self.user = user
        self.feed_id = feed_id
        self._made = 0

    @property
    def runtime(self) -> Runtime:
        return self.harness.runtime

    async def entry(
        self, text: str = STORY, *, title: str = "The bridge", feed_id: int | None = None, more: str = MORE
    ) -> int:
        self._made += 1
        now = self.runtime.now()
        async with self.runtime.db.write() as tx:
            rows = await run(
                tx,
                "INSERT INTO entries (feed_id, guid, title, change_hash, fetched_at, sort_at, published_at, "
                "words, summary) VALUES (:feed, :guid, :title, 'x', :at, :at, :at, :words, '') RETURNING id",
                feed=feed_id or self.feed_id,
                guid=f"g{self._made}-{feed_id}",
                title=title,
                at=now,
                words=300 if more else 150,
            )
            entry_id = rows[0][0]
            await run(
                tx,
                "INSERT INTO entry_bodies (entry_id, content) VALUES (:id, :content) RETURNING entry_id",
                id=entry_id,
                content=f"<p>{text}</p>{f'<p>{more}</p>' * bool(more)}",
            )
        return entry_id

    async def ask(self, entry_id: int, *, again: bool = False) -> SummaryState:
        return await get_summary(self.runtime, self.user, entry_id, again=again)

    async def write(self, *, most: int = 20) -> int:
        """Let a worker do what can be done now; how many summaries it tried to write.

        Extracts that stand in for the model are written as well, but only its own summaries counted.
        """
        tried = 0
        for _ in range(100):
            if tried == most:
                break
            match await next_task(self.runtime):
                case Task() as task:
                    tried += task.permit is not None or self.runtime.ai.model is None
                    await write_task(self.runtime, task)
                case NothingDue():
                    break
                case Skipped():
                    continue
        return tried

    async def opt_in(self) -> None:
        self.user = await opted_in(self.runtime, self.user)

    def use(self, server: ModelServer, **policy: Any) -> None:
        given = {"model": server.model(), "breaker": AT_ONCE, **policy}
        self.harness.runtime = replace(self.runtime, ai=AiPolicy(**given))

    def pass_time(self, millis: int) -> None:
        self.harness.clock.ahead += millis

    async def value(self, sql: str, **params: Any) -> Any:
        rows = await self.harness.rows(sql, **params)
        return rows[0][0] if rows else None


async def opted_in(runtime: Runtime, user: User) -> User:
    async with runtime.db.write() as tx:
        await users.set_preferences(tx, user.id, '{"remote_ai": true}')
        changed = await users.get(tx, user.id)
    assert changed is not None
    return changed


async def new_desk(harness: RuntimeHarness, user_id: int | None = None) -> Desk:
    """The desk of this user, or of a new one."""
    owner = user_id or await harness.person()
    feed_id = await harness.follow(f"http://127.0.0.1:9/{owner}.xml", user_id=owner)
    async with harness.runtime.db.read() as tx:
        user = await users.get(tx, owner)
    assert user is not None
    return Desk(harness, user, feed_id)

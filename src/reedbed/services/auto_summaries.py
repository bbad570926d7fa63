"""Summaries of what is new, for users who want them before they open anything."""

from collections.abc import Mapping

from reedbed.domain.accounts import User
from reedbed.domain.auto_summaries import NEVER, words_wanted
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import ask_in_background
from reedbed.store import app_settings, auto_summaries, folders, users
from reedbed.store.database import Tx

AT_A_TIME = 100


async def ask_for_new_entries(runtime: Runtime) -> int:
    """A chore: how many summaries were asked for."""
    async with runtime.db.read() as tx:
        found = [await users.by_id(tx, id_) for id_ in await auto_summaries.users_who_may_wish(tx)]
    return sum([await _ask_for(runtime, user) for user in found if user is not None])


async def _ask_for(runtime: Runtime, user: User) -> int:
    mark = f"auto_summaries:{user.id}"
    async with runtime.db.read() as tx:
        wanted = await _wanted(tx, user)
        if not wanted:
            return 0
        seen = await app_settings.get(tx, mark)
        after = None if seen is None else int(seen)
        new = await auto_summaries.new_entries(tx, user.id, list(wanted), after=after, most=AT_A_TIME)
    if not new:
        return 0
    asked = await ask_in_background(
        runtime, user, [one.id for one in new if one.words >= wanted[one.feed_id]]
    )
    async with runtime.db.write() as tx:
        await app_settings.put(tx, mark, str(new[-1].id), runtime.now())
    return asked


async def _wanted(tx: Tx, user: User) -> Mapping[int, int]:
    """The feeds to look at, each with the least words of an entry."""
    rows, chosen = await folders.of_user(tx, user.id), preferences_of(user)
    wishes = await auto_summaries.feed_wishes(tx, user.id)
    words = {one.feed_id: words_wanted(one.summary_words, one.folder_id, rows, chosen) for one in wishes}
    return {feed_id: least for feed_id, least in words.items() if least != NEVER}

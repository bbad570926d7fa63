"""Summaries of what is new, for users who want them before they open anything."""

from reedbed.domain.accounts import User
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import ask_in_background
from reedbed.store import app_settings, auto_summaries, users

AT_A_TIME = 100


async def ask_for_new_entries(runtime: Runtime) -> int:
    """A chore: how many summaries were asked for."""
    async with runtime.db.read() as tx:
        found = [await users.by_id(tx, id_) for id_ in await auto_summaries.users_who_may_wish(tx)]
    wishing = [user for user in found if user is not None and preferences_of(user).auto_summaries]
    return sum([await _ask_for(runtime, user) for user in wishing])


async def _ask_for(runtime: Runtime, user: User) -> int:
    words, mark = preferences_of(user).auto_summary_words, f"auto_summaries:{user.id}"
    async with runtime.db.read() as tx:
        seen = await app_settings.get(tx, mark)
        after = None if seen is None else int(seen)
        ids = await auto_summaries.new_entries(tx, user.id, after=after, words=words, most=AT_A_TIME)
    if not ids:
        return 0
    asked = await ask_in_background(runtime, user, ids)
    async with runtime.db.write() as tx:
        await app_settings.put(tx, mark, str(ids[-1]), runtime.now())
    return asked

"""Preferences: read with every default filled in, changed choice by choice."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from reedbed.domain.accounts import Caller, User
from reedbed.domain.errors import NotFound
from reedbed.domain.preferences import Preferences, change_preferences, read_preferences
from reedbed.services.runtime import Runtime
from reedbed.services.sessions import announce_changed
from reedbed.store import users


def preferences_of(user: User) -> Preferences:
    return read_preferences(orjson.loads(user.preferences))


async def set_preferences(runtime: Runtime, caller: Caller, changes: Mapping[str, Any]) -> User:
    async with runtime.db.write() as tx:
        user = await users.by_id(tx, caller.user_id)
        if user is None:
            raise NotFound("This account is gone.")
        changed = change_preferences(preferences_of(user), changes)
        await users.set_preferences(tx, user.id, orjson.dumps(asdict(changed)).decode())
        user = await users.by_id(tx, user.id)
    assert user is not None
    await announce_changed(runtime, user.id)
    return user

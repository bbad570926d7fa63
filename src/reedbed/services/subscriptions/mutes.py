"""Mutes that end by themselves."""

from reedbed.domain.live import ChangeEvent
from reedbed.services.runtime import Runtime
from reedbed.store import subscriptions


async def unmute_due(runtime: Runtime) -> int:
    """Chore: end the mutes whose time has come; return how many users had one."""
    async with runtime.db.write() as tx:
        users = await subscriptions.unmute_due(tx, runtime.now())
    for user_id in users:
        await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    return len(users)

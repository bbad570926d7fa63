"""A user's accounts elsewhere: which there are, letting one go, and logging out of it."""

from collections.abc import Sequence

import structlog

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.identities import LinkedIdentity
from reedbed.ingest.oidc_offer import SignInRefused
from reedbed.services.runtime import Runtime
from reedbed.store import events, identities, sign_ins, users

log = structlog.get_logger()

LAST_WAY = "This is your only way to log in. Set a password first."


async def linked(runtime: Runtime, user_id: int) -> Sequence[LinkedIdentity]:
    async with runtime.db.read() as tx:
        return await identities.of_user(tx, user_id)


async def unlink(runtime: Runtime, caller: Caller, identity_id: int) -> None:
    async with runtime.db.write() as tx:
        alone = await identities.how_many(tx, caller.user_id) == 1
        if alone and await users.password_hash(tx, caller.user_id) is None:
            raise Conflict(LAST_WAY)
        if not await identities.remove(tx, caller.user_id, identity_id):
            raise NotFound("There is no such linked account.")
        await events.note(tx, runtime.now(), "identity_unlinked", caller.user_id)


async def goodbye_address(runtime: Runtime, caller: Caller) -> str | None:
    """Where to log out of the provider as well; None for whoever came with a password."""
    if caller.session_id is None or runtime.sign_in.client is None:
        return None
    async with runtime.db.read() as tx:
        key = await identities.provider_of_session(tx, caller.session_id)
    provider = runtime.sign_in.providers.get(key or "")
    if provider is None:
        return None
    try:
        return await runtime.sign_in.client.goodbye(provider, f"{runtime.accounts.base_url}/login")
    except SignInRefused as error:
        log.warning("a sign-in provider cannot be left", provider=provider.key, error=str(error))
        return None


async def sweep_sign_ins(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await sign_ins.sweep(tx, runtime.now())

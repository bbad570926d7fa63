"""Secrets for programs: API tokens with scopes, and app passwords for reader apps."""

import hmac

from reedbed.domain.accounts import (
    APP_SCOPES,
    ApiToken,
    Caller,
    NewApiToken,
    Scope,
    check_token_name,
)
from reedbed.domain.emails import known_as
from reedbed.domain.errors import Conflict, Forbidden, NotFound
from reedbed.domain.times import Instant
from reedbed.services.limits import spend_attempt
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import (
    app_password_hash,
    fever_digest,
    fever_key,
    new_api_token,
    new_app_password,
    token_hash,
)
from reedbed.services.sessions import announce_revoked, touch
from reedbed.store import events, tokens

MOST_TOKENS = 100


async def create_api_token(
    runtime: Runtime, caller: Caller, name: str, scopes: frozenset[Scope]
) -> NewApiToken:
    if Scope.ADMIN in scopes and not caller.user.operates:
        raise Forbidden("Only an operator of this server may make a token with the admin scope.")
    secret = new_api_token()
    token = await _add(runtime, caller, "api", name, scopes, token_hash(secret), None)
    return NewApiToken(token, secret)


async def create_app_password(runtime: Runtime, caller: Caller, name: str) -> NewApiToken:
    """For Google Reader and Fever logins with the account's e-mail."""
    secret = new_app_password()
    digest = fever_digest(fever_key(caller.user.email, secret))
    token = await _add(runtime, caller, "app_password", name, APP_SCOPES, app_password_hash(secret), digest)
    return NewApiToken(token, secret)


async def list_tokens(runtime: Runtime, user_id: int) -> list[ApiToken]:
    """API tokens and app passwords, the newest first."""
    async with runtime.db.read() as tx:
        return list(await tokens.of_user(tx, user_id))


async def revoke_token(runtime: Runtime, caller: Caller, token_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await tokens.remove(tx, caller.user_id, token_id):
            raise NotFound("There is no such token.")
        await events.note(tx, runtime.now(), "token_revoked", caller.user_id, {"token_id": token_id})
    await announce_revoked(runtime, caller.user_id, token_id=token_id)


async def app_password_login(
    runtime: Runtime, email: str, password: str, *, ip: str | None = None
) -> Caller | None:
    """The account behind an e-mail and one of its app passwords; the account's own password does not do."""
    async with runtime.db.read() as tx:
        found = await tokens.by_secret(tx, "app_password", app_password_hash(password))
    typed = known_as(email).encode("utf-8", "replace")
    if found is None or not hmac.compare_digest(found[0].user.email.encode(), typed):
        return await _refuse(runtime, ip)
    return await _welcome(runtime, *found)


async def fever_login(runtime: Runtime, api_key: str, *, ip: str | None = None) -> Caller | None:
    """The account behind a Fever key: the MD5 of `email:app-password`."""
    async with runtime.db.read() as tx:
        found = await tokens.by_fever_digest(tx, fever_digest(api_key))
    if found is None:
        return await _refuse(runtime, ip)
    return await _welcome(runtime, *found)


async def _add(
    runtime: Runtime,
    caller: Caller,
    kind: str,
    name: str,
    scopes: frozenset[Scope],
    secret_hash: str,
    digest: str | None,
) -> ApiToken:
    shown, now = check_token_name(name), runtime.now()
    async with runtime.db.write() as tx:
        if await tokens.count(tx, caller.user_id) >= MOST_TOKENS:
            raise Conflict(
                f"There can be at most {MOST_TOKENS} tokens. Delete one that is not used any more."
            )
        made = await tokens.add(
            tx,
            caller.user_id,
            kind=kind,
            name=shown,
            scopes=scopes,
            secret_hash=secret_hash,
            fever_digest=digest,
            now=now,
        )
        await events.note(tx, now, "token_created", caller.user_id, {"kind": kind, "token_id": made.id})
    return made


async def _refuse(runtime: Runtime, ip: str | None) -> None:
    """Only failures count: Fever clients send their key with every request."""
    await spend_attempt(runtime, "app-login", ip)


async def _welcome(runtime: Runtime, caller: Caller, last_used: Instant | None) -> Caller:
    await touch(runtime, caller, last_used)
    return caller

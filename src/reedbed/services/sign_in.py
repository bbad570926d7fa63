"""Signing in by others: sent to the provider, taken back with what it says, and let in where a link exists.

An identity opens an account only after it was linked to it, and it is linked only by somebody who has proved
to be its owner. An address that a provider has verified finds the account to be proved; nothing more.
"""

from collections.abc import Mapping
from dataclasses import field, replace

import structlog

from reedbed.domain.accounts import NewSession, User
from reedbed.domain.errors import Forbidden, Invalid, NotFound, Unauthorized, Unavailable
from reedbed.domain.identities import LASTS, Identity, Provider, SignIn
from reedbed.domain.records import record
from reedbed.ingest.oidc import Return
from reedbed.ingest.oidc_offer import SignInRefused
from reedbed.services.accounts import DISABLED, needs_owner
from reedbed.services.limits import spend_attempt
from reedbed.services.registration import BY_INVITATION, CLOSED
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import new_token, token_hash
from reedbed.services.sessions import add_session
from reedbed.store import events, identities, sign_ins, users
from reedbed.store.database import Tx

log = structlog.get_logger()

NO_PROVIDER = "This server has no such way to log in."
FAILED = "Logging in with {name} did not work. Try again."
STALE = "This log-in took too long, or was begun in another browser. Begin again."
CANCELLED = "You were not logged in: {name} was told no."
NO_OWNER = "This server has no owner yet. Set it up first."
UNVERIFIED = (
    "{name} does not vouch for an e-mail address of yours. If you have an account here, log in to it and "
    "link the two in the settings."
)
NO_ANSWER = "{name} does not answer just now. Try again a little later, or log in with your password."


@record
class Device:
    """Where somebody comes from."""

    browser: str = field(repr=False)
    """The mark of the browser that a sign-in was begun in."""
    user_agent: str | None = None
    ip: str | None = None
    known_by: str | None = field(default=None, repr=False)
    """The cookie by which a browser in which somebody has logged in is known."""


@record
class Begun:
    url: str
    browser: str = field(repr=False)
    form_post: bool


@record
class SignedIn:
    session: NewSession
    next_path: str


@record
class Waiting:
    """Known who it is; the account has to be proved, or made."""

    ticket: str = field(repr=False)


def provider_named(runtime: Runtime, key: str) -> Provider:
    found = runtime.sign_in.providers.get(key)
    if found is None:
        raise NotFound(NO_PROVIDER)
    return found


def callback_url(runtime: Runtime, provider: Provider) -> str:
    place = "oidc" if provider.key == "oidc" else f"oauth/{provider.key}"
    return f"{runtime.accounts.base_url}/api/v1/auth/{place}/callback"


async def begin(
    runtime: Runtime,
    key: str,
    *,
    ip: str | None,
    next_path: str = "/",
    invite: str | None = None,
    user_id: int | None = None,
) -> Begun:
    """Where to send the browser, and the mark to leave in it. With `user_id` the account is to be linked."""
    provider = provider_named(runtime, key)
    await spend_attempt(runtime, "sign-in", ip)
    state, nonce, verifier, browser = (new_token() for _ in range(4))
    client = runtime.sign_in.client
    assert client is not None
    try:
        url = await client.address(
            provider,
            state=state,
            nonce=nonce,
            verifier=verifier,
            redirect_uri=callback_url(runtime, provider),
        )
    except SignInRefused as error:
        log.warning("a sign-in provider cannot be used", provider=key, error=str(error))
        raise Unavailable(NO_ANSWER.format(name=provider.name)) from error
    wish = SignIn(key, token_hash(browser), nonce, verifier, next_path, invite, user_id)
    now = runtime.now()
    async with runtime.db.write() as tx:
        await sign_ins.add(tx, token_hash(state), wish, now, now + LASTS)
    return Begun(url, browser, provider.form_post)


async def finish(runtime: Runtime, key: str, said: Mapping[str, str], device: Device) -> SignedIn | Waiting:
    """The browser is back. `Invalid` for whatever does not fit to a sign-in begun in it."""
    provider = provider_named(runtime, key)
    await spend_attempt(runtime, "sign-in-back", device.ip)
    wish = await _take(runtime, provider, said.get("state", ""), device)
    if not said.get("code"):
        log.info("a sign-in was cancelled", provider=key, error=said.get("error", "")[:100])
        raise Invalid(CANCELLED.format(name=provider.name))
    identity = await _identity(runtime, provider, wish, said)
    if wish.user_id is not None:
        return await hold(runtime, wish, identity)
    async with runtime.db.read() as tx:
        found = await identities.user_of_identity(tx, identity)
    if found is not None:
        user, identity_id = found
        return SignedIn(await _let_in(runtime, user, identity_id, identity, device), wish.next_path)
    await _check_may_wait(runtime, provider, wish, identity)
    return await hold(runtime, wish, identity)


async def hold(runtime: Runtime, wish: SignIn, identity: Identity) -> Waiting:
    """Keep what the provider said until the account is proved or made, in the same browser."""
    ticket, now = new_token(), runtime.now()
    async with runtime.db.write() as tx:
        await sign_ins.add(tx, token_hash(ticket), replace(wish, identity=identity), now, now + LASTS)
    return Waiting(ticket)


async def open_by(
    runtime: Runtime, tx: Tx, user: User, identity_id: int, identity: Identity, device: Device
) -> NewSession:
    now = runtime.now()
    await identities.note_use(tx, identity_id, identity.email, now)
    await events.note(tx, now, "user_login", user.id, {"ip": device.ip, "with": identity.provider})
    session = await add_session(runtime, tx, user, user_agent=device.user_agent, ip=device.ip)
    await identities.note_session(tx, token_hash(session.token), identity_id)
    return session


async def _take(runtime: Runtime, provider: Provider, state: str, device: Device) -> SignIn:
    async with runtime.db.write() as tx:
        wish = await sign_ins.take(tx, token_hash(state), token_hash(device.browser), runtime.now())
    if wish is None or wish.provider != provider.key or wish.identity is not None:
        log.warning("a sign-in came back that nobody began", provider=provider.key, ip=device.ip)
        raise Invalid(STALE)
    return wish


async def _identity(runtime: Runtime, provider: Provider, wish: SignIn, said: Mapping[str, str]) -> Identity:
    client = runtime.sign_in.client
    assert client is not None
    back = Return(said["code"], wish.verifier, wish.nonce, callback_url(runtime, provider), said.get("iss"))
    try:
        return await client.identity(provider, back)
    except SignInRefused as error:
        log.warning("a sign-in was refused", provider=provider.key, error=str(error))
        raise Unauthorized(FAILED.format(name=provider.name)) from error


async def _let_in(
    runtime: Runtime, user: User, identity_id: int, identity: Identity, device: Device
) -> NewSession:
    if user.disabled_at is not None:
        raise Forbidden(DISABLED)
    async with runtime.db.write() as tx:
        return await open_by(runtime, tx, user, identity_id, identity, device)


async def _check_may_wait(runtime: Runtime, provider: Provider, wish: SignIn, identity: Identity) -> None:
    """Only a verified address leads on: to the account that has it, or to a new one where that is allowed."""
    if not identity.email_verified:
        raise Forbidden(UNVERIFIED.format(name=provider.name))
    if await needs_owner(runtime):
        raise Forbidden(NO_OWNER)
    async with runtime.db.read() as tx:
        if await users.by_email(tx, identity.email) is not None:
            return
    if runtime.accounts.registration == "closed":
        raise Forbidden(CLOSED)
    if runtime.accounts.registration == "invite" and not wish.invite:
        raise Forbidden(BY_INVITATION)

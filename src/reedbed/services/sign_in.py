"""Sign-in through providers (OIDC, Google, Apple, Facebook): logging in, linking accounts, registering."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import structlog

from reedbed.domain.email import email_address
from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized, Unavailable
from reedbed.domain.records import record
from reedbed.domain.sign_in import LASTS, Identity, LinkedIdentity, Provider, ProxyUser, SignIn
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, NewSession, User
from reedbed.ingest.oidc import Return, SignInRejected
from reedbed.services.auth import LoginOrigin, sign_in_session
from reedbed.services.codes import CodeAttempt, are_codes_on, check_code, held_user, release_login
from reedbed.services.email import use_link
from reedbed.services.passkeys import LAST_WAY, has_way_in
from reedbed.services.runtime import Runtime
from reedbed.services.security import (
    charge_login,
    known_device,
    new_token,
    password_matches,
    refund_login,
    spend_attempt,
    token_hash,
)
from reedbed.services.users import ACCEPT, DISABLED, WRONG_PASSWORD, check_may_log_in, check_may_register, needs_owner
from reedbed.store import sign_in, users
from reedbed.store.engine.database import Tx

log = structlog.get_logger()

NO_PROVIDER = "This server has no such way to log in."
FAILED = "Logging in with %(name)s did not work. Try again."
STALE = "This log-in took too long, or was started in another browser. Start again."
CANCELLED = "You cancelled logging in with %(name)s."
NO_OWNER = "This server has no owner yet. Set it up first."
UNVERIFIED = (
    "%(name)s has not verified your e-mail address. If you have an account here, log in to it and "
    "link the two in the settings."
)
NO_ANSWER = "%(name)s is not responding. Try again later, or log in with your password."


@record
class Device:
    """The browser and the network of a request."""

    browser: str = field(repr=False)
    """A token that identifies the browser in which a sign-in was started."""
    user_agent: str | None = None
    ip: str | None = None
    known_by: str | None = field(default=None, repr=False)
    """The cookie of a browser that has logged in before; see `security.known_device`."""


@record
class StartedSignIn:
    url: str
    browser: str = field(repr=False)
    form_post: bool


@record
class SignedIn:
    session: NewSession
    next_path: str


@record
class PendingSignIn:
    """The identity is known; the account still has to be confirmed or created."""

    ticket: str = field(repr=False)


def get_provider(runtime: Runtime, key: str) -> Provider:
    provider = runtime.sign_in.providers.get(key)
    if provider is None:
        raise NotFound(NO_PROVIDER)
    return provider


def callback_url(runtime: Runtime, provider: Provider) -> str:
    path = "oidc" if provider.key == "oidc" else f"oauth/{provider.key}"
    return f"{runtime.accounts.base_url}/api/v1/auth/{path}/callback"


async def begin(
    runtime: Runtime,
    key: str,
    *,
    ip: str | None,
    next_path: str = "/",
    invite: str | None = None,
    user_id: int | None = None,
) -> StartedSignIn:
    """The provider URL and the token to set in the browser. With `user_id`, link that account."""
    provider = get_provider(runtime, key)
    await spend_attempt(runtime, "sign-in", ip)
    state, nonce, verifier, browser = (new_token() for _ in range(4))
    client = runtime.sign_in.client
    assert client is not None
    try:
        url = await client.address(
            provider, state=state, nonce=nonce, verifier=verifier, redirect_uri=callback_url(runtime, provider)
        )
    except SignInRejected as error:
        log.warning("a sign-in provider cannot be used", provider=key, error=str(error))
        raise Unavailable(NO_ANSWER, name=provider.name) from error
    pending = SignIn(key, token_hash(browser), nonce, verifier, next_path, invite, user_id)
    now = runtime.now()
    async with runtime.db.write() as tx:
        await sign_in.add_sign_in(tx, token_hash(state), pending, now, now + LASTS)
    return StartedSignIn(url, browser, provider.form_post)


async def finish(runtime: Runtime, key: str, params: Mapping[str, str], device: Device) -> SignedIn | PendingSignIn:
    """Handle the provider's callback. `Invalid` if this browser did not start the sign-in."""
    provider = get_provider(runtime, key)
    await spend_attempt(runtime, "sign-in-back", device.ip)
    pending = await _pop_sign_in(runtime, provider, params.get("state", ""), device)
    if not params.get("code"):
        log.info("a sign-in was cancelled", provider=key, error=params.get("error", "")[:100])
        raise Invalid(CANCELLED, name=provider.name)
    identity = await _fetch_identity(runtime, provider, pending, params)
    if pending.user_id is not None:
        return await hold(runtime, pending, identity)
    async with runtime.db.read() as tx:
        account = await sign_in.user_of_identity(tx, identity)
    if account is not None:
        user, identity_id = account
        return SignedIn(await _log_in(runtime, user, identity_id, identity, device), pending.next_path)
    await _check_may_continue(runtime, provider, pending, identity)
    return await hold(runtime, pending, identity)


async def hold(runtime: Runtime, pending: SignIn, identity: Identity) -> PendingSignIn:
    """Store the identity until the account is confirmed or created in the same browser."""
    ticket, now = new_token(), runtime.now()
    async with runtime.db.write() as tx:
        await sign_in.add_sign_in(tx, token_hash(ticket), replace(pending, identity=identity), now, now + LASTS)
    return PendingSignIn(ticket)


async def open_session_for_identity(
    runtime: Runtime, tx: Tx, user: User, identity_id: int, identity: Identity, device: Device
) -> NewSession:
    now = runtime.now()
    await sign_in.record_use(tx, identity_id, identity.email, now)
    origin = LoginOrigin(device.user_agent, device.ip, device.known_by)
    session = await sign_in_session(runtime, tx, user, origin, how=identity.provider)
    await sign_in.link_session(tx, token_hash(session.token), identity_id)
    return session


async def _pop_sign_in(runtime: Runtime, provider: Provider, state: str, device: Device) -> SignIn:
    async with runtime.db.write() as tx:
        pending = await sign_in.pop_sign_in(tx, token_hash(state), token_hash(device.browser), runtime.now())
    if pending is None or pending.provider != provider.key or pending.identity is not None:
        log.warning("a sign-in returned that was not started here", provider=provider.key, ip=device.ip)
        raise Invalid(STALE)
    return pending


async def _fetch_identity(runtime: Runtime, provider: Provider, pending: SignIn, params: Mapping[str, str]) -> Identity:
    client = runtime.sign_in.client
    assert client is not None
    callback = Return(
        params["code"], pending.verifier, pending.nonce, callback_url(runtime, provider), params.get("iss")
    )
    try:
        return await client.identity(provider, callback)
    except SignInRejected as error:
        log.warning("a sign-in was refused", provider=provider.key, error=str(error))
        raise Unauthorized(FAILED, name=provider.name) from error


async def _log_in(runtime: Runtime, user: User, identity_id: int, identity: Identity, device: Device) -> NewSession:
    if user.disabled_at is not None:
        raise Forbidden(DISABLED)
    async with runtime.db.write() as tx:
        return await open_session_for_identity(runtime, tx, user, identity_id, identity, device)


async def _check_may_continue(runtime: Runtime, provider: Provider, pending: SignIn, identity: Identity) -> None:
    """Require a verified address that has an account here, or may register one."""
    if not identity.email_verified:
        raise Forbidden(UNVERIFIED, name=provider.name)
    if await needs_owner(runtime):
        raise Forbidden(NO_OWNER)
    async with runtime.db.read() as tx:
        if await users.get_by_email(tx, identity.email) is not None:
            return
    check_may_register(runtime, pending.invite)


# --- Linking an account or creating one

TAKEN = "Your account at %(name)s is linked to another account here. Unlink it there first."
UNPROVABLE = (
    "The account with this address has no password. Log in the way you did before, and link %(name)s in the settings."
)
CODES_FIRST = "This account asks for one-time codes. Log in the way you did before, and link %(name)s in the settings."
OTHER_ADDRESS = "This invitation is for another e-mail address."


@record
class SignInQuestion:
    """What the confirmation page asks."""

    provider: Provider
    email: str
    """Of the account here that is to be confirmed or created."""
    kind: str
    """prove: enter its password; confirm: it has no password and is logged in; register: create it."""
    signed_in: bool


async def question(runtime: Runtime, ticket: str, device: Device) -> SignInQuestion:
    async with runtime.db.read() as tx:
        pending, identity = _require_identity(
            await sign_in.get_sign_in(tx, token_hash(ticket), token_hash(device.browser), runtime.now())
        )
        account = await _find_account(tx, pending, identity)
    provider = get_provider(runtime, pending.provider)
    if account is None:
        return SignInQuestion(provider, identity.email, "register", signed_in=False)
    user, password_hash = account
    kind = "prove" if password_hash else "confirm"
    return SignInQuestion(provider, user.email, kind, signed_in=pending.user_id is not None)


async def verify_and_link(
    runtime: Runtime, ticket: str, password: str, device: Device, *, user_id: int | None
) -> SignedIn:
    """Link after the password matches; a matching address is no proof. `user_id`: the logged-in user."""
    pending, identity = await _find_sign_in(runtime, ticket, device)
    async with runtime.db.read() as tx:
        account = await _find_account(tx, pending, identity)
    if account is None:
        raise Invalid(STALE)
    user, password_hash = account
    device_id = known_device(runtime.secret, device.known_by, user.email)
    charged = await charge_login(runtime, user.email, device.ip, device_id)
    if pending.user_id is not None and pending.user_id != user_id:
        raise Unauthorized(STALE)
    if password_hash is None and pending.user_id is None:
        raise Forbidden(UNPROVABLE, name=get_provider(runtime, pending.provider).name)
    if password_hash is not None and not await password_matches(password, password_hash):
        await _record_failed_login(runtime, user, device)
        raise Invalid(WRONG_PASSWORD, field="password")
    if user.disabled_at is not None:
        raise Forbidden(DISABLED)
    if pending.user_id is None and await are_codes_on(runtime, user.id):
        raise Forbidden(CODES_FIRST, name=get_provider(runtime, pending.provider).name)
    await refund_login(runtime, user.email, charged)
    async with runtime.db.write() as tx:
        await _use_ticket(runtime, tx, ticket, device)
        session = await _link(runtime, tx, user, identity, device)
    return SignedIn(session, pending.next_path)


async def register_by(runtime: Runtime, ticket: str, device: Device, *, privacy_accepted: bool) -> SignedIn:
    pending, identity = await _find_sign_in(runtime, ticket, device)
    if pending.user_id is not None or not identity.email_verified:
        raise Invalid(STALE)
    check_may_register(runtime, pending.invite)
    if not privacy_accepted:
        raise Invalid(ACCEPT, field="privacy_accepted")
    now = runtime.now()
    async with runtime.db.write() as tx:
        await _use_ticket(runtime, tx, ticket, device)
        if pending.invite and (await use_link(runtime, tx, "invite", pending.invite)).email != identity.email:
            raise Invalid(OTHER_ADDRESS, field="email")
        user = await users.add_if_new(
            tx, email=identity.email, password_hash=None, role="user", now=now, verified=True, privacy_accepted=True
        )
        if user is None:
            raise Conflict("This address has an account already. Log in instead.", field="email")
        await users.record_event(tx, now, "user_registered", user.id, {"how": identity.provider})
        session = await _link(runtime, tx, user, identity, device)
    return SignedIn(session, "/add?start=samples")


async def _find_sign_in(runtime: Runtime, ticket: str, device: Device) -> tuple[SignIn, Identity]:
    async with runtime.db.read() as tx:
        return _require_identity(
            await sign_in.get_sign_in(tx, token_hash(ticket), token_hash(device.browser), runtime.now())
        )


def _require_identity(pending: SignIn | None) -> tuple[SignIn, Identity]:
    if pending is None or pending.identity is None:
        raise Invalid(STALE)
    return pending, pending.identity


async def _find_account(tx: Tx, pending: SignIn, identity: Identity) -> tuple[User, str | None] | None:
    """The account to link: that of the logged-in user, else the one with the verified address."""
    if pending.user_id is None:
        return await users.get_by_email(tx, identity.email) if identity.email_verified else None
    user = await users.get(tx, pending.user_id)
    return None if user is None else (user, await users.password_hash(tx, user.id))


async def _use_ticket(runtime: Runtime, tx: Tx, ticket: str, device: Device) -> None:
    _require_identity(await sign_in.pop_sign_in(tx, token_hash(ticket), token_hash(device.browser), runtime.now()))


async def _link(runtime: Runtime, tx: Tx, user: User, identity: Identity, device: Device) -> NewSession:
    now = runtime.now()
    identity_id = await sign_in.add_identity(tx, user.id, identity, now)
    if identity_id is None:
        raise Conflict(TAKEN, name=get_provider(runtime, identity.provider).name)
    if identity.email_verified and identity.email == user.email:
        await users.verify(tx, user.id, user.email, now)
    await users.record_event(tx, now, "identity_linked", user.id, {"with": identity.provider})
    return await open_session_for_identity(runtime, tx, user, identity_id, identity, device)


async def _record_failed_login(runtime: Runtime, user: User, device: Device) -> None:
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "login_failed", user.id, {"ip": device.ip})


# --- The second step of a login with a password


async def log_in_with_code(
    runtime: Runtime, ticket: str, browser: str, attempt: CodeAttempt, user_agent: str | None
) -> NewSession:
    """The second step of a login in a browser; `hold_login` made the ticket after the first."""
    user = await held_user(runtime, ticket, browser)
    await check_code(runtime, user, attempt)
    await check_may_log_in(runtime, user)
    async with runtime.db.write() as tx:
        await release_login(runtime, tx, ticket, browser)
        return await sign_in_session(runtime, tx, user, LoginOrigin(user_agent, attempt.ip, attempt.device))


# --- Linked accounts


async def linked(runtime: Runtime, user_id: int) -> Sequence[LinkedIdentity]:
    async with runtime.db.read() as tx:
        return await sign_in.list_identities(tx, user_id)


async def unlink(runtime: Runtime, caller: Caller, identity_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await sign_in.delete_identity(tx, caller.user_id, identity_id):
            raise NotFound("There is no such linked account.")
        if not await has_way_in(tx, caller.user_id):
            raise Conflict(LAST_WAY)  # undoes it
        await users.record_event(tx, runtime.now(), "identity_unlinked", caller.user_id)


async def provider_logout_url(runtime: Runtime, caller: Caller) -> str | None:
    """The provider's logout URL; None for a session that was opened with a password."""
    if caller.session_id is None or runtime.sign_in.client is None:
        return None
    async with runtime.db.read() as tx:
        key = await sign_in.provider_of_session(tx, caller.session_id)
    provider = runtime.sign_in.providers.get(key or "")
    if provider is None:
        return None
    try:
        return await runtime.sign_in.client.logout_url(provider, f"{runtime.accounts.base_url}/login")
    except SignInRejected as error:
        log.warning("a sign-in provider cannot be left", provider=provider.key, error=str(error))
        return None


# --- Whom a trusted proxy names

NO_ACCOUNT = "There is no account for %(email)s here. Ask whoever runs this server for one."


async def log_in_by_proxy(runtime: Runtime, named: ProxyUser, device: Device) -> NewSession:
    """The portal has asked for passwords and codes; its groups decide who is an admin, if that is set up."""
    login = runtime.http.proxy_login
    assert login is not None
    email = email_address(named.email)
    origin, now = LoginOrigin(device.user_agent, device.ip, device.known_by), runtime.now()
    async with runtime.db.write() as tx:
        account = await users.get_by_email(tx, email)
        user = account[0] if account else await _add_named(tx, email, now) if login.create else None
        if user is None:
            raise Forbidden(NO_ACCOUNT, email=email)
        if user.disabled_at is not None:
            raise Forbidden(DISABLED)
        role = "admin" if login.admins in named.groups else "user"
        if login.admins and user.role not in ("owner", role):
            await users.set_role(tx, user.id, role)
            await users.record_event(tx, now, "role_changed", user.id, {"role": role, "how": "proxy"})
            user = replace(user, role=role)
        return await sign_in_session(runtime, tx, user, origin, how="proxy")


async def _add_named(tx: Tx, email: str, now: Instant) -> User:
    user = await users.add(tx, email=email, password_hash=None, role="user", now=now, verified=True)
    await users.record_event(tx, now, "user_registered", user.id, {"how": "proxy"})
    return user

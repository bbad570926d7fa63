"""The end of a sign-in that waits: prove the account and link it, or make a new one."""

from reedbed.domain.accounts import NewSession, User
from reedbed.domain.errors import Conflict, Forbidden, Invalid, Unauthorized
from reedbed.domain.identities import Identity, Provider, SignIn
from reedbed.domain.records import record
from reedbed.services.accounts import DISABLED, WRONG_PASSWORD
from reedbed.services.limits import give_back_login, spend_login
from reedbed.services.mail_links import spend_link
from reedbed.services.registration import ACCEPT, BY_INVITATION, CLOSED
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import known_device, password_matches, token_hash
from reedbed.services.sign_in import STALE, Device, SignedIn, open_by, provider_named
from reedbed.store import events, identities, sign_ins, users
from reedbed.store.database import Tx

TAKEN = "This account of yours at {name} opens another account here. Unlink it there first."
UNPROVABLE = (
    "The account with this address has no password. Log in the way you did before, and link {name} in the "
    "settings."
)
OTHER_ADDRESS = "This invitation is for another e-mail address."


@record
class Question:
    """What the page has to ask."""

    provider: Provider
    email: str
    """Of the account here that is to be proved or made."""
    kind: str
    """prove: its password; confirm: it has none and is logged in; register: make it."""
    signed_in: bool


async def question(runtime: Runtime, ticket: str, device: Device) -> Question:
    async with runtime.db.read() as tx:
        wish, identity = _waiting(
            await sign_ins.find(tx, token_hash(ticket), token_hash(device.browser), runtime.now())
        )
        account = await _account(tx, wish, identity)
    provider = provider_named(runtime, wish.provider)
    if account is None:
        return Question(provider, identity.email, "register", signed_in=False)
    user, password_hash = account
    kind = "prove" if password_hash else "confirm"
    return Question(provider, user.email, kind, signed_in=wish.user_id is not None)


async def prove_and_link(
    runtime: Runtime, ticket: str, password: str, device: Device, *, user_id: int | None
) -> SignedIn:
    """`user_id`: who is logged in. The password decides, not the address."""
    wish, identity = await _find(runtime, ticket, device)
    async with runtime.db.read() as tx:
        account = await _account(tx, wish, identity)
    if account is None:
        raise Invalid(STALE)
    user, password_hash = account
    known = known_device(runtime.secret, device.known_by, user.email)
    spent = await spend_login(runtime, user.email, device.ip, known)
    if wish.user_id is not None and wish.user_id != user_id:
        raise Unauthorized(STALE)
    if password_hash is None and wish.user_id is None:
        raise Forbidden(UNPROVABLE.format(name=provider_named(runtime, wish.provider).name))
    if password_hash is not None and not await password_matches(password, password_hash):
        await _note_failure(runtime, user, device)
        raise Invalid(WRONG_PASSWORD, field="password")
    if user.disabled_at is not None:
        raise Forbidden(DISABLED)
    await give_back_login(runtime, user.email, spent)
    async with runtime.db.write() as tx:
        await _spend(runtime, tx, ticket, device)
        session = await _link(runtime, tx, user, identity, device)
    return SignedIn(session, wish.next_path)


async def register_by(runtime: Runtime, ticket: str, device: Device, *, privacy_accepted: bool) -> SignedIn:
    wish, identity = await _find(runtime, ticket, device)
    if wish.user_id is not None or not identity.email_verified:
        raise Invalid(STALE)
    _check_policy(runtime, wish)
    if not privacy_accepted:
        raise Invalid(ACCEPT, field="privacy_accepted")
    now = runtime.now()
    async with runtime.db.write() as tx:
        await _spend(runtime, tx, ticket, device)
        if wish.invite and (await spend_link(runtime, tx, "invite", wish.invite)).email != identity.email:
            raise Invalid(OTHER_ADDRESS, field="email")
        user = await users.add_if_new(
            tx,
            email=identity.email,
            password_hash=None,
            role="user",
            now=now,
            verified=True,
            privacy_accepted=True,
        )
        if user is None:
            raise Conflict("This address has an account already. Log in instead.", field="email")
        await events.note(tx, now, "user_registered", user.id, {"how": identity.provider})
        session = await _link(runtime, tx, user, identity, device)
    return SignedIn(session, "/add?start=samples")


def _check_policy(runtime: Runtime, wish: SignIn) -> None:
    if runtime.accounts.registration == "closed":
        raise Forbidden(CLOSED)
    if runtime.accounts.registration == "invite" and not wish.invite:
        raise Forbidden(BY_INVITATION)


async def _find(runtime: Runtime, ticket: str, device: Device) -> tuple[SignIn, Identity]:
    async with runtime.db.read() as tx:
        return _waiting(
            await sign_ins.find(tx, token_hash(ticket), token_hash(device.browser), runtime.now())
        )


def _waiting(found: SignIn | None) -> tuple[SignIn, Identity]:
    if found is None or found.identity is None:
        raise Invalid(STALE)
    return found, found.identity


async def _account(tx: Tx, wish: SignIn, identity: Identity) -> tuple[User, str | None] | None:
    """Whose account it would open: of who is logged in, else the one with the verified address."""
    if wish.user_id is None:
        return await users.by_email(tx, identity.email) if identity.email_verified else None
    user = await users.by_id(tx, wish.user_id)
    return None if user is None else (user, await users.password_hash(tx, user.id))


async def _spend(runtime: Runtime, tx: Tx, ticket: str, device: Device) -> None:
    _waiting(await sign_ins.take(tx, token_hash(ticket), token_hash(device.browser), runtime.now()))


async def _link(runtime: Runtime, tx: Tx, user: User, identity: Identity, device: Device) -> NewSession:
    now = runtime.now()
    identity_id = await identities.add(tx, user.id, identity, now)
    if identity_id is None:
        raise Conflict(TAKEN.format(name=provider_named(runtime, identity.provider).name))
    if identity.email_verified and identity.email == user.email:
        await users.verify(tx, user.id, user.email, now)
    await events.note(tx, now, "identity_linked", user.id, {"with": identity.provider})
    return await open_by(runtime, tx, user, identity_id, identity, device)


async def _note_failure(runtime: Runtime, user: User, device: Device) -> None:
    async with runtime.db.write() as tx:
        await events.note(tx, runtime.now(), "login_failed", user.id, {"ip": device.ip})

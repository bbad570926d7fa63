"""The people of a server, as its operators look after them."""

from reedbed.domain.accounts import User, check_role
from reedbed.domain.emails import email_address
from reedbed.domain.errors import Conflict, Forbidden, NotFound
from reedbed.domain.passwords import check_password
from reedbed.services.accounts import keep_an_owner, remove_user
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import hash_password
from reedbed.services.sessions import announce_changed, announce_revoked
from reedbed.store import events, sessions, users

NO_SUCH = "There is no such user."


async def add_member(runtime: Runtime, email: str, password: str | None, role: str = "user") -> User:
    """By the operator, whatever the registration; without a password they need a reset link."""
    address = email_address(email)
    check_role(role)
    if password is not None:
        check_password(password, address)
    password_hash = await hash_password(password) if password is not None else None
    now = runtime.now()
    async with runtime.db.write() as tx:
        user = await users.add_if_new(
            tx, email=address, password_hash=password_hash, role=role, now=now, verified=True
        )
        if user is None:
            raise Conflict("This address has an account already.", field="email")
        await events.note(tx, now, "user_registered", user.id, {"how": "operator"})
    return user


async def find_member(runtime: Runtime, email: str) -> User:
    async with runtime.db.read() as tx:
        found = await users.by_email(tx, email_address(email))
    if found is None:
        raise NotFound(NO_SUCH)
    return found[0]


async def member(runtime: Runtime, user_id: int) -> User:
    async with runtime.db.read() as tx:
        found = await users.by_id(tx, user_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def disable_member(runtime: Runtime, user: User) -> User:
    """They are logged out everywhere, and their tokens do nothing until they are enabled again."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        await keep_an_owner(tx, user)
        await users.set_disabled(tx, user.id, now)
        await sessions.remove_others(tx, user.id, None)
        await events.note(tx, now, "user_disabled", user.id)
    await announce_revoked(runtime, user.id)
    return await member(runtime, user.id)


async def enable_member(runtime: Runtime, user: User) -> User:
    async with runtime.db.write() as tx:
        await users.set_disabled(tx, user.id, None)
        await events.note(tx, runtime.now(), "user_enabled", user.id)
    return await member(runtime, user.id)


async def set_role(runtime: Runtime, user: User, role: str) -> User:
    check_role(role)
    async with runtime.db.write() as tx:
        if role != "owner":
            await keep_an_owner(tx, user)
        await users.set_role(tx, user.id, role)
        await events.note(tx, runtime.now(), "role_changed", user.id, {"role": role})
    await announce_changed(runtime, user.id)
    return await member(runtime, user.id)


async def delete_member(runtime: Runtime, user: User) -> None:
    await remove_user(runtime, user)


async def member_to_change(runtime: Runtime, actor: User, user_id: int, becoming: str = "user") -> User:
    user = await member(runtime, user_id)
    if not may_change(actor, user, becoming):
        raise Forbidden("Only an owner may make or change an operator.")
    return user


def may_change(actor: User, user: User, becoming: str = "user") -> bool:
    """Owners look after everybody, admins after plain users."""
    return actor.role == "owner" or (not user.operates and becoming == "user")

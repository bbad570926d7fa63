"""The addresses a user subscribes with: random, named, several, and gone when they are leaked."""

import secrets

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.newsletters import MOST_ADDRESSES, IngestAddress, check_name
from reedbed.services.runtime import Runtime
from reedbed.store import newsletters

NO_DOMAIN = (
    "This server takes no mail at addresses of its own: its operator has set no REEDBED_MAIL_DOMAIN. "
    "You can still add a mailbox."
)
NO_SUCH = "There is no such address."

# Without signs that are mistaken for others when read out or typed.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_LENGTH = 16
"""79 bits: nobody finds one by guessing at the door."""


def written(runtime: Runtime, address: IngestAddress) -> str:
    return f"{address.local}@{runtime.mail.domain}"


async def add_address(runtime: Runtime, user_id: int, name: str) -> IngestAddress:
    if not runtime.mail.domain:
        raise Conflict(NO_DOMAIN)
    tidy = check_name(name)
    async with runtime.db.write() as tx:
        if len(await newsletters.addresses_of(tx, user_id)) >= MOST_ADDRESSES:
            raise Conflict(f"There can be at most {MOST_ADDRESSES} addresses. Revoke one first.")
        made = None
        while made is None:
            made = await newsletters.add_address(tx, user_id, tidy, _random(), runtime.now())
    return made


async def rename_address(runtime: Runtime, user_id: int, address_id: int, name: str) -> IngestAddress:
    tidy = check_name(name)
    async with runtime.db.write() as tx:
        found = await newsletters.rename_address(tx, user_id, address_id, tidy)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def revoke_address(runtime: Runtime, user_id: int, address_id: int) -> None:
    """Mail to it is refused from now on, for ever: its name is never given out again."""
    async with runtime.db.write() as tx:
        revoked = await newsletters.revoke_address(tx, user_id, address_id, runtime.now())
    if not revoked:
        raise NotFound(NO_SUCH)


def _random() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))

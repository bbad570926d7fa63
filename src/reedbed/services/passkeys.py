"""Passkeys: adding them, logging in with them, and never removing the last way in.

The few checks of WebAuthn are made here and in `domain/passkeys.py`: the library for it takes 16 MB of memory,
see docs/dependencies.md. The algorithms are imported when the first passkey is used.
"""

import secrets
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import structlog

from reedbed.domain.errors import Conflict, Invalid, NotFound, Unauthorized
from reedbed.domain.passkeys import (
    ALGORITHMS,
    EDDSA,
    ES256,
    LASTS,
    MAX_PASSKEYS,
    RS256,
    WRONG,
    Passkey,
    PasskeyAnswer,
    RelyingParty,
    WrongAnswer,
    check_authenticator,
    check_client_data,
    check_passkey_name,
    check_use,
    decode,
    encode,
    parse_authenticator_data,
    read_assertion,
    read_mapping,
    read_registration,
    relying_party,
)
from reedbed.domain.records import record
from reedbed.domain.users import Allowance, Caller, NewSession, User
from reedbed.services.auth import LoginOrigin, check_confirmed, sign_in_session
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, spend, spend_attempt, token_hash
from reedbed.services.users import check_may_log_in
from reedbed.store import codes, passkeys, sign_in, users
from reedbed.store.engine.database import Tx

log = structlog.get_logger()

NO_ADDRESS = "Browsers allow passkeys only at an address with a name and https. Set REEDBED_BASE_URL to it."
TAKEN = "This passkey belongs to an account here already."
TOO_MANY = "There can be at most %(limit)s passkeys. Remove one that is not used any more."
NO_SUCH = "There is no such passkey."
LAST_WAY = "This is your only way to log in. Set a password or add another passkey first."
PASSWORD_IS_LAST = "Add a passkey first: without a password, you could not log in any more."  # noqa: S105  a sentence
CHALLENGES = Allowance(60, 1)
"""Per IP address: every view of the log-in page asks for one."""


@record
class PasskeyOptions:
    """What the browser is asked with."""

    challenge: str
    party: RelyingParty
    user_handle: str = ""
    known: tuple[str, ...] = ()
    """The credential ids that this user has already, or may use."""


async def list_passkeys(runtime: Runtime, user_id: int) -> Sequence[Passkey]:
    async with runtime.db.read() as tx:
        return await passkeys.list_passkeys(tx, user_id)


def own_party(runtime: Runtime) -> RelyingParty | None:
    return relying_party(runtime.accounts.base_url)


def _require_party(runtime: Runtime) -> RelyingParty:
    party = own_party(runtime)
    if party is None:
        raise Conflict(NO_ADDRESS)
    return party


# --- Adding and removing


async def begin_passkey(runtime: Runtime, caller: Caller) -> PasskeyOptions:
    await check_confirmed(runtime, caller)
    party = _require_party(runtime)
    own = await list_passkeys(runtime, caller.user_id)
    if len(own) >= MAX_PASSKEYS:
        raise Conflict(TOO_MANY, limit=MAX_PASSKEYS)
    # The same for all passkeys of a user, and random: an authenticator may show it to others.
    handle = own[0].user_handle if own else encode(secrets.token_bytes(32))
    challenge = await _new_challenge(runtime, "passkey_add", _session_key(caller), caller.user_id, handle)
    return PasskeyOptions(challenge, party, handle, tuple(passkey.credential_id for passkey in own))


async def add_passkey(runtime: Runtime, caller: Caller, name: str, credential: str) -> Passkey:
    await check_confirmed(runtime, caller)
    party, checked_name = _require_party(runtime), check_passkey_name(name)
    try:
        answer = read_registration(credential)
        challenge = await _use_challenge(runtime, "passkey_add", answer, _session_key(caller))
        if challenge.user_id != caller.user_id:
            raise WrongAnswer("it was asked of another user")
    except WrongAnswer as error:
        raise _refused(error) from error
    return await _store_passkey(runtime, caller, party, checked_name, answer, challenge.user_handle or "")


async def _store_passkey(
    runtime: Runtime, caller: Caller, party: RelyingParty, name: str, answer: PasskeyAnswer, handle: str
) -> Passkey:
    try:
        check_client_data(answer, "webauthn.create", party)
        data = parse_authenticator_data(answer.authenticator_data)
        check_authenticator(data, party)
        if encode(data.credential_id) != answer.credential_id:
            raise WrongAnswer("it has two ids")
        _load_key(data.public_key)
    except WrongAnswer as error:
        raise _refused(error) from error
    async with runtime.db.write() as tx:
        added = await passkeys.add_passkey(
            tx,
            caller.user_id,
            name=name,
            credential_id=answer.credential_id,
            public_key=encode(data.public_key),
            user_handle=handle,
            sign_count=data.sign_count,
            backup_eligible=data.backup_eligible,
            backed_up=data.backed_up,
            rp_id=party.id,
            now=runtime.now(),
        )
        if added is None:
            raise Conflict(TAKEN)
        await users.record_event(tx, runtime.now(), "passkey_added", caller.user_id, {"passkey_id": added.id})
    return added


async def rename_passkey(runtime: Runtime, caller: Caller, passkey_id: int, name: str) -> None:
    checked_name = check_passkey_name(name)
    async with runtime.db.write() as tx:
        if not await passkeys.rename_passkey(tx, caller.user_id, passkey_id, checked_name):
            raise NotFound(NO_SUCH)


async def remove_passkey(runtime: Runtime, caller: Caller, passkey_id: int) -> None:
    await check_confirmed(runtime, caller)
    async with runtime.db.write() as tx:
        if not await passkeys.delete_passkey(tx, caller.user_id, passkey_id):
            raise NotFound(NO_SUCH)
        if not await has_way_in(tx, caller.user_id):
            raise Conflict(LAST_WAY)  # undoes the removal
        await users.record_event(tx, runtime.now(), "passkey_removed", caller.user_id, {"passkey_id": passkey_id})


async def has_way_in(tx: Tx, user_id: int) -> bool:
    """Whether this user can log in with anything: a password, a passkey or a linked account."""
    if await users.password_hash(tx, user_id) is not None:
        return True
    return bool(await passkeys.count_passkeys(tx, user_id) or await sign_in.count_identities(tx, user_id))


async def remove_password(runtime: Runtime, caller: Caller) -> None:
    """From now on only passkeys, or linked accounts, log in."""
    await check_confirmed(runtime, caller)
    async with runtime.db.write() as tx:
        await users.set_password(tx, caller.user_id, None)
        if not await has_way_in(tx, caller.user_id):
            raise Conflict(PASSWORD_IS_LAST)
        await users.record_event(tx, runtime.now(), "password_removed", caller.user_id)


async def reset_passkeys(runtime: Runtime, user: User) -> int:
    """For an operator, when a device is lost; return how many were removed."""
    async with runtime.db.write() as tx:
        count = await passkeys.delete_passkeys(tx, user.id)
        if count:
            await users.record_event(tx, runtime.now(), "passkeys_reset", user.id, {"count": count})
    return count


# --- Logging in and confirming


async def begin_login(runtime: Runtime, browser: str, ip: str | None) -> PasskeyOptions:
    """For whoever has a passkey here: it says itself whose it is."""
    await spend(runtime, f"passkey:{network_of(ip)}", CHALLENGES)
    party = _require_party(runtime)
    return PasskeyOptions(await _new_challenge(runtime, "passkey_login", browser), party)


async def log_in_with_passkey(runtime: Runtime, credential: str, browser: str, origin: LoginOrigin) -> NewSession:
    await spend_attempt(runtime, "passkey-login", origin.ip)
    try:
        user = await _verified_user(runtime, "passkey_login", credential, browser)
    except WrongAnswer as error:
        log.warning("a passkey was refused", reason=str(error), ip=origin.ip)
        raise Unauthorized(WRONG) from error
    await check_may_log_in(runtime, user)
    async with runtime.db.write() as tx:
        return await sign_in_session(runtime, tx, user, origin, how="passkey")


async def begin_confirmation(runtime: Runtime, caller: Caller) -> PasskeyOptions:
    party = _require_party(runtime)
    known = tuple(passkey.credential_id for passkey in await list_passkeys(runtime, caller.user_id))
    challenge = await _new_challenge(runtime, "passkey_confirm", _session_key(caller), caller.user_id)
    return PasskeyOptions(challenge, party, known=known)


async def check_passkey(runtime: Runtime, caller: Caller, credential: str) -> None:
    """For a confirmation; `Invalid` if it is not a passkey of the caller."""
    await spend(runtime, f"passkey-confirm:{caller.user_id}", runtime.limits.login)
    try:
        user = await _verified_user(runtime, "passkey_confirm", credential, _session_key(caller))
        if user.id != caller.user_id:
            raise WrongAnswer("it is for another user")
    except WrongAnswer as error:
        raise _refused(error) from error


async def _verified_user(runtime: Runtime, purpose: str, credential: str, browser: str) -> User:
    party = _require_party(runtime)
    answer = read_assertion(credential)
    await _use_challenge(runtime, purpose, answer, browser)
    async with runtime.db.read() as tx:
        found = await passkeys.find_passkey(tx, answer.credential_id)
    if found is None:
        raise WrongAnswer("nobody here has it")
    passkey, user = found
    check_client_data(answer, "webauthn.get", party)
    data = parse_authenticator_data(answer.authenticator_data)
    check_authenticator(data, party)
    check_use(passkey, data, answer.user_handle)
    _check_signature(decode(passkey.public_key), answer)
    async with runtime.db.write() as tx:
        if not await passkeys.record_use(tx, passkey, data.sign_count, runtime.now(), backed_up=data.backed_up):
            raise WrongAnswer("its counter was used elsewhere meanwhile")
    return user


async def _use_challenge(runtime: Runtime, purpose: str, answer: PasskeyAnswer, browser: str) -> codes.Challenge:
    """It is used up whether or not the answer is right."""
    hashes = token_hash(answer.challenge), token_hash(browser)
    async with runtime.db.write() as tx:
        challenge = await codes.pop_challenge(tx, purpose, *hashes, runtime.now())
    if challenge is None:
        raise WrongAnswer("nobody asked for it here, or too long ago")
    return challenge


async def _new_challenge(
    runtime: Runtime, purpose: str, browser: str, user_id: int | None = None, handle: str | None = None
) -> str:
    challenge, now = encode(secrets.token_bytes(32)), runtime.now()
    async with runtime.db.write() as tx:
        await codes.add_challenge(
            tx,
            purpose,
            token_hash(challenge),
            token_hash(browser),
            now,
            now + LASTS,
            user_id=user_id,
            user_handle=handle,
        )
    return challenge


def _session_key(caller: Caller) -> str:
    return f"session {caller.session_id}"


def _refused(error: WrongAnswer) -> Invalid:
    log.warning("a passkey was refused", reason=str(error))
    return Invalid(WRONG, field="passkey")


# --- Signatures


def _load_key(cose: bytes) -> Any:
    """The public key, of one of `ALGORITHMS`."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    fields = read_mapping(cose)
    if fields.get(3) not in ALGORITHMS:
        raise WrongAnswer("its algorithm is not among those asked for")
    try:
        match fields[3], fields.get(1), fields.get(-1):
            case (algorithm, 2, 1) if algorithm == ES256:
                x, y = (int.from_bytes(fields[label], "big") for label in (-2, -3))
                return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
            case (algorithm, 1, 6) if algorithm == EDDSA:
                return ed25519.Ed25519PublicKey.from_public_bytes(fields[-2])
            case (algorithm, 3, bytes() as modulus) if algorithm == RS256 and 256 <= len(modulus) <= 512:
                numbers = rsa.RSAPublicNumbers(int.from_bytes(fields[-2], "big"), int.from_bytes(modulus, "big"))
                return numbers.public_key()
            case _:
                raise WrongAnswer("its key does not fit its algorithm")
    except (KeyError, TypeError, ValueError) as error:
        raise WrongAnswer("its key cannot be read") from error


def _check_signature(cose: bytes, answer: PasskeyAnswer) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
    from cryptography.hazmat.primitives.hashes import SHA256

    key = _load_key(cose)
    signed = answer.authenticator_data + sha256(answer.client_data).digest()
    try:
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(answer.signature, signed)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(answer.signature, signed, ec.ECDSA(SHA256()))
        else:
            key.verify(answer.signature, signed, padding.PKCS1v15(), SHA256())
    except InvalidSignature:
        raise WrongAnswer("its signature is wrong") from None

"""Passkeys (WebAuthn level 3): what an authenticator answers, and the rules that an answer must keep.

Attestation is not asked for: which maker an authenticator has does not matter here. The signature itself is
checked in `services/passkeys.py`.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import field
from hashlib import sha256
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import clean_line
from reedbed.domain.times import MINUTE, Instant

LASTS = 5 * MINUTE
"""How long a challenge can be answered."""
MAX_PASSKEYS = 20
MAX_ANSWER = 20_000
MAX_CREDENTIAL_ID = 1_023
MAX_NAME = 60

ES256, EDDSA, RS256 = -7, -8, -257
ALGORITHMS = (ES256, EDDSA, RS256)

WRONG = "This passkey was not accepted. Try again, or log in another way."
_USER_PRESENT, _USER_VERIFIED, _BACKUP_ELIGIBLE, _BACKED_UP, _HAS_CREDENTIAL = 1, 4, 8, 16, 64


class WrongAnswer(Exception):
    """The answer of an authenticator breaks a rule. The reason is for the log; users see `WRONG`."""


@record
class Passkey:
    id: int
    user_id: int
    name: str
    credential_id: str
    """As base64url, like all bytes here."""
    public_key: str = field(repr=False)
    user_handle: str = field(repr=False)
    sign_count: int
    backup_eligible: bool
    backed_up: bool
    rp_id: str
    created_at: Instant
    last_used_at: Instant | None = None


@record
class RelyingParty:
    """Our own address as browsers know it."""

    id: str
    origin: str


@record
class AuthenticatorData:
    rp_hash: bytes
    flags: int
    sign_count: int
    credential_id: bytes = b""
    public_key: bytes = field(default=b"", repr=False)
    """COSE, as the authenticator wrote it."""

    @property
    def backup_eligible(self) -> bool:
        return bool(self.flags & _BACKUP_ELIGIBLE)

    @property
    def backed_up(self) -> bool:
        return bool(self.flags & _BACKED_UP)


@record
class PasskeyAnswer:
    """What the browser's `navigator.credentials` returned, decoded."""

    credential_id: str
    challenge: str
    client_data: bytes = field(repr=False)
    authenticator_data: bytes = field(repr=False)
    signature: bytes = field(default=b"", repr=False)
    user_handle: str = field(default="", repr=False)


def relying_party(base_url: str) -> RelyingParty | None:
    """None if browsers allow no passkeys at this address: it must have a name, and HTTPS or be this machine."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    is_local = host == "localhost" or host.endswith(".localhost")
    if not host or _is_address(host) or (parts.scheme != "https" and not is_local):
        return None
    port = "" if parts.port in (None, 443 if parts.scheme == "https" else 80) else f":{parts.port}"
    return RelyingParty(host, f"{parts.scheme}://{host}{port}")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def check_passkey_name(name: str) -> str:
    clean_name = clean_line(name)
    if not clean_name:
        raise Invalid("Give it a name, so that you recognise it later.", field="name")
    if len(clean_name) > MAX_NAME:
        raise Invalid("The name must have at most %(limit)s characters.", field="name", limit=MAX_NAME)
    return clean_name


# --- Reading an answer


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: Any) -> bytes:
    if not isinstance(text, str) or len(text) > MAX_ANSWER:
        raise WrongAnswer("a field is missing")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise WrongAnswer("a field is not base64url") from None


def read_registration(credential: str) -> PasskeyAnswer:
    """Of `navigator.credentials.create()`, as JSON."""
    raw_id, response = _parts(credential)
    data = read_mapping(decode(response.get("attestationObject"))).get("authData")
    if not isinstance(data, bytes):
        raise WrongAnswer("there is no authenticator data")
    client_data = decode(response.get("clientDataJSON"))
    return PasskeyAnswer(raw_id, _challenge(client_data), client_data, data)


def read_assertion(credential: str) -> PasskeyAnswer:
    """Of `navigator.credentials.get()`, as JSON."""
    raw_id, response = _parts(credential)
    client_data = decode(response.get("clientDataJSON"))
    handle = response.get("userHandle")
    return PasskeyAnswer(
        raw_id,
        _challenge(client_data),
        client_data,
        decode(response.get("authenticatorData")),
        decode(response.get("signature")),
        encode(decode(handle)) if handle else "",
    )


def _parts(credential: str) -> tuple[str, dict[str, Any]]:
    parsed = _json(credential[: MAX_ANSWER + 1] if len(credential) <= MAX_ANSWER else "")
    response = parsed.get("response")
    raw_id = decode(parsed.get("id"))
    if not 0 < len(raw_id) <= MAX_CREDENTIAL_ID:
        raise WrongAnswer("this is no credential")
    return encode(raw_id), _mapping(response)


def _challenge(client_data: bytes) -> str:
    challenge = _json(client_data).get("challenge")
    return encode(decode(challenge))


def _json(text: str | bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise WrongAnswer("this is not JSON") from None
    return _mapping(parsed)


def _mapping(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise WrongAnswer("this is no object")
    return cast("dict[Any, Any]", value)


# --- Rules


def check_client_data(answer: PasskeyAnswer, kind: str, party: RelyingParty) -> None:
    """`kind` is webauthn.create or webauthn.get. Who made the challenge is checked by looking it up."""
    fields = _json(answer.client_data)
    if fields.get("type") != kind:
        raise WrongAnswer(f"it is for {fields.get('type')!r:.40}")
    if fields.get("origin") != party.origin:
        raise WrongAnswer(f"it is from {fields.get('origin')!r:.200}")
    if fields.get("crossOrigin"):
        raise WrongAnswer("it is from a frame of another site")


def check_authenticator(data: AuthenticatorData, party: RelyingParty) -> None:
    if data.rp_hash != sha256(party.id.encode()).digest():
        raise WrongAnswer("it is for another site")
    if not data.flags & _USER_PRESENT or not data.flags & _USER_VERIFIED:
        raise WrongAnswer("the authenticator did not verify the user")
    if data.backed_up and not data.backup_eligible:
        raise WrongAnswer("the flags contradict each other")


def check_use(passkey: Passkey, data: AuthenticatorData, user_handle: str) -> None:
    """Synced passkeys count nothing and report 0; only a counter that was used and fell shows a copy."""
    if user_handle and user_handle != passkey.user_handle:
        raise WrongAnswer("it is for another user")
    if data.backup_eligible != passkey.backup_eligible:
        raise WrongAnswer("a passkey does not become, or cease to be, one that is synced")
    if (passkey.sign_count or data.sign_count) and data.sign_count <= passkey.sign_count:
        raise WrongAnswer("its counter fell: there may be a copy of it")


def parse_authenticator_data(data: bytes) -> AuthenticatorData:
    if len(data) < 37:
        raise WrongAnswer("the authenticator data is too short")
    flags, count = data[32], int.from_bytes(data[33:37], "big")
    if not flags & _HAS_CREDENTIAL:
        return AuthenticatorData(data[:32], flags, count)
    length = int.from_bytes(data[53:55], "big")
    credential_id = data[55 : 55 + length]
    if not 0 < length <= MAX_CREDENTIAL_ID or len(credential_id) != length:
        raise WrongAnswer("the credential id is cut off")
    start = 55 + length
    _, end = _read_item(data, start, 0)
    return AuthenticatorData(data[:32], flags, count, credential_id, data[start:end])


# --- CBOR, as far as authenticators use it

_MAX_DEPTH = 4
_MAX_ITEMS = 64


def read_mapping(data: bytes) -> dict[Any, Any]:
    return _mapping(_read_item(data, 0, 0)[0])


def _read_item(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if at >= len(data) or depth > _MAX_DEPTH:
        raise WrongAnswer("the CBOR is cut off or too deep")
    kind, short = data[at] >> 5, data[at] & 31
    value, at = _read_number(data, at + 1, short)
    match kind:
        case 0:
            return value, at
        case 1:
            return -1 - value, at
        case 2 | 3:
            content = data[at : at + value]
            if len(content) != value:
                raise WrongAnswer("the CBOR is cut off")
            return content if kind == 2 else content.decode("utf-8", "replace"), at + value
        case 4:
            return _read_list(data, at, depth, value)
        case 5:
            items, at = _read_list(data, at, depth, 2 * value)
            keys = items[::2]
            if not all(isinstance(key, int | str | bytes) for key in keys):
                raise WrongAnswer("the CBOR has a strange key")
            return dict(zip(keys, items[1::2], strict=True)), at
        case 7 if short in (20, 21, 22):
            return {20: False, 21: True, 22: None}[short], at
        case _:
            raise WrongAnswer("the CBOR has a type that nobody needs")


def _read_number(data: bytes, at: int, short: int) -> tuple[int, int]:
    if short < 24:
        return short, at
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(short)
    if size is None or at + size > len(data):
        raise WrongAnswer("the CBOR has a length that is not allowed")
    return int.from_bytes(data[at : at + size], "big"), at + size


def _read_list(data: bytes, at: int, depth: int, count: int) -> tuple[list[Any], int]:
    if count > _MAX_ITEMS:
        raise WrongAnswer("the CBOR has too many items")
    items: list[Any] = []
    for _ in range(count):
        item, at = _read_item(data, at, depth + 1)
        items.append(item)
    return items, at

"""Web Push protocol: encrypt a message for one browser (RFC 8291) and sign the request (RFC 8292).

The cryptography library is imported with the first message: most servers never send one.
"""

import base64
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson

from reedbed.domain.push import PushAddress, PushNote
from reedbed.domain.times import HOUR, SECOND, Instant

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

RECORD_BYTES = 4096
_TAG_BYTES = 16
_TOKEN_LIFETIME = 12 * HOUR
_TTL_SECONDS = 24 * 3600
_MAX_TOPIC_LENGTH = 32


def new_key() -> str:
    """A private key for the server, in base64url."""
    from cryptography.hazmat.primitives.asymmetric import ec

    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _base64url(number.to_bytes(32, "big"))


def public_key(key: str) -> str:
    """The key a browser needs to subscribe, in base64url."""
    return _base64url(_public_point(_private_key(key).public_key()))


def encrypt_push_message(note: PushNote, address: PushAddress) -> bytes:
    """The encrypted request body, which only this browser can read."""
    payload = {"title": note.title, "body": note.body, "url": note.url, "tag": note.tag}
    return seal(orjson.dumps(payload), address)


def headers_for(note: PushNote, address: PushAddress, key: str, contact: str, now: Instant) -> dict[str, str]:
    """`contact` is an https URL of the operator, or empty."""
    return {
        "Authorization": f"vapid t={_token(address.endpoint, key, contact, now)}, k={public_key(key)}",
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(_TTL_SECONDS),
        "Topic": note.tag[:_MAX_TOPIC_LENGTH],
    }


def seal(plain: bytes, address: PushAddress, *, own_key: str = "", salt: bytes = b"") -> bytes:
    """`own_key` and `salt` are random for every message; only tests pass them."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    own = _private_key(own_key or new_key())
    salt = salt or os.urandom(16)
    theirs = _from_base64url(address.p256dh)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
    ours = _public_point(own.public_key())
    secret = _derive(shared, _from_base64url(address.auth), b"WebPush: info\0" + theirs + ours, 32)
    key = _derive(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(ours)]) + ours
    # The delimiter byte 2 after the text marks the last record.
    return head + AESGCM(key).encrypt(nonce, plain[: RECORD_BYTES - _TAG_BYTES - 1] + b"\x02", None)


def _token(endpoint: str, key: str, contact: str, now: Instant) -> str:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": (now + _TOKEN_LIFETIME) // SECOND}
    if contact:
        claims["sub"] = contact
    head = _base64url(orjson.dumps({"typ": "JWT", "alg": "ES256"}))
    signed = f"{head}.{_base64url(orjson.dumps(claims))}"
    r, s = decode_dss_signature(_private_key(key).sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


def _private_key(key: str) -> "ec.EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.derive_private_key(int.from_bytes(_from_base64url(key), "big"), ec.SECP256R1())


def _public_point(key: "ec.EllipticCurvePublicKey") -> bytes:
    numbers = key.public_numbers()
    return b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

"""Web Push on the wire: a note sealed for one browser (RFC 8291) and the server's own signature (RFC 8292).

The cryptography library is loaded with the first note: most servers never send one.
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
_SIGNED_FOR = 12 * HOUR
_KEPT_SECONDS = 24 * 3600
_MAX_TOPIC_LENGTH = 32


def new_key() -> str:
    """A private key for the server, in base64url."""
    from cryptography.hazmat.primitives.asymmetric import ec

    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _encoded(number.to_bytes(32, "big"))


def public_key(key: str) -> str:
    """What a browser is told when it asks for pushes, in base64url."""
    return _encoded(_point(_private(key).public_key()))


def seal_note(note: PushNote, address: PushAddress) -> bytes:
    """The body of the request: only this browser can read it."""
    said = {"title": note.title, "body": note.body, "url": note.url, "tag": note.tag}
    return seal(orjson.dumps(said), address)


def headers_for(note: PushNote, address: PushAddress, key: str, contact: str, now: Instant) -> dict[str, str]:
    """`contact` is an https address of whoever runs this server, or empty."""
    return {
        "Authorization": f"vapid t={_token(address.endpoint, key, contact, now)}, k={public_key(key)}",
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(_KEPT_SECONDS),
        "Topic": note.tag[:_MAX_TOPIC_LENGTH],
    }


def seal(plain: bytes, address: PushAddress, *, own_key: str = "", salt: bytes = b"") -> bytes:
    """`own_key` and `salt` are new for every note; only a test gives them."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    own = _private(own_key or new_key())
    salt = salt or os.urandom(16)
    theirs = _decoded(address.p256dh)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
    ours = _point(own.public_key())
    secret = _derive(shared, _decoded(address.auth), b"WebPush: info\0" + theirs + ours, 32)
    key = _derive(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(ours)]) + ours
    # The byte after the text says that this record is the last.
    return head + AESGCM(key).encrypt(nonce, plain[: RECORD_BYTES - _TAG_BYTES - 1] + b"\x02", None)


def _token(endpoint: str, key: str, contact: str, now: Instant) -> str:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": (now + _SIGNED_FOR) // SECOND}
    if contact:
        claims["sub"] = contact
    head = _encoded(orjson.dumps({"typ": "JWT", "alg": "ES256"}))
    signed = f"{head}.{_encoded(orjson.dumps(claims))}"
    r, s = decode_dss_signature(_private(key).sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


def _private(key: str) -> "ec.EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.derive_private_key(int.from_bytes(_decoded(key), "big"), ec.SECP256R1())


def _point(key: "ec.EllipticCurvePublicKey") -> bytes:
    numbers = key.public_numbers()
    return b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

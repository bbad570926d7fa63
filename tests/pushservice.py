"""A push service on loopback with one browser behind it, which can read what is sealed for it."""

import base64
from dataclasses import dataclass, field
from typing import Any, Self

import orjson
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tests.serving import close

CURVE = ec.SECP256R1()


@dataclass
class PushService:
    status: int = 201
    notes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    claims: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    secret: bytes = b"0123456789abcdef"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(CURVE))
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/browser", self._take)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await close(self._runner)

    @property
    def origin(self) -> str:
        assert self._runner is not None
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def subscription(self) -> dict[str, Any]:
        """As a browser's `PushSubscription.toJSON()`."""
        keys = {"p256dh": encoded(point(self.key.public_key())), "auth": encoded(self.secret)}
        return {"endpoint": f"{self.origin}/browser", "keys": keys}

    async def _take(self, request: web.Request) -> web.Response:
        if self.status < 300:
            assert request.headers["Content-Encoding"] == "aes128gcm"
            self.claims.append(verified(request.headers["Authorization"]))
            self.notes.append(orjson.loads(unsealed(await request.read(), self.key, self.secret)))
        return web.Response(status=self.status)


def unsealed(body: bytes, key: ec.EllipticCurvePrivateKey, secret: bytes) -> bytes:
    salt, length = body[:16], body[20]
    theirs, sealed = body[21 : 21 + length], body[21 + length :]
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, theirs))
    info = b"WebPush: info\0" + point(key.public_key()) + theirs
    input_key = _derived(shared, secret, info, 32)
    content_key = _derived(input_key, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(input_key, salt, b"Content-Encoding: nonce\0", 12)
    plain = AESGCM(content_key).decrypt(nonce, sealed, None)
    assert plain.endswith(b"\x02")
    return plain[:-1]


def verified(authorization: str) -> dict[str, Any]:
    """The claims of a signature that holds; any other raises."""
    token, key = (part.partition("=")[2] for part in authorization.removeprefix("vapid ").split(", "))
    signed, _, signature = token.rpartition(".")
    raw = decoded(signature)
    pair = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, decoded(key))
    public.verify(pair, signed.encode(), ec.ECDSA(hashes.SHA256()))
    return orjson.loads(decoded(signed.partition(".")[2]))


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    numbers = key.public_numbers()
    return b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)

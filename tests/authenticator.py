"""An authenticator in software, which can also answer wrongly in every way that matters."""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

ORIGIN = "https://reeds.example"
RP_ID = "reeds.example"
PRESENT, VERIFIED, SYNCABLE, SYNCED, NEW = 1, 4, 8, 16, 64


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def cbor(value: Any) -> bytes:
    match value:
        case int() if value >= 0:
            return _head(0, value)
        case int():
            return _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value)) + value.encode()
        case dict():
            return _head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())
        case _:
            raise TypeError(value)


def _head(kind: int, value: int) -> bytes:
    if value < 24:
        return bytes([kind << 5 | value])
    size = next(size for size in (1, 2, 4) if value < 256**size)
    return bytes([kind << 5 | {1: 24, 2: 25, 4: 26}[size]]) + value.to_bytes(size, "big")


@dataclass
class Authenticator:
    origin: str = ORIGIN
    rp_id: str = RP_ID
    algorithm: int = -7
    flags: int = PRESENT | VERIFIED
    counter: int = 0
    counts: bool = False
    credential_id: bytes = b"\x01" * 32
    user_handle: str = ""
    client: dict[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the client data to send instead of the right ones."""

    def __post_init__(self) -> None:
        match self.algorithm:
            case -8:
                self.key: Any = ed25519.Ed25519PrivateKey.generate()
            case -257:
                self.key = rsa.generate_private_key(65537, 2048)
            case _:
                self.key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        self.user_handle = options["user"]["id"]
        client_data = self._client_data("webauthn.create", options["challenge"])
        size = len(self.credential_id).to_bytes(2, "big")
        credential = bytes(16) + size + self.credential_id + cbor(self._cose())
        attestation = {"fmt": "none", "attStmt": {}, "authData": self._data(NEW) + credential}
        response = {"clientDataJSON": b64(client_data), "attestationObject": b64(cbor(attestation))}
        return {"id": b64(self.credential_id), "type": "public-key", "response": response}

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        client_data = self._client_data("webauthn.get", options["challenge"])
        self.counter += self.counts
        data = self._data(0)
        response = {
            "clientDataJSON": b64(client_data),
            "authenticatorData": b64(data),
            "signature": b64(self._sign(data + sha256(client_data).digest())),
            "userHandle": self.user_handle,
        }
        return {"id": b64(self.credential_id), "type": "public-key", "response": response}

    def _client_data(self, kind: str, challenge: str) -> bytes:
        right = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps({**right, **self.client}).encode()

    def _data(self, more: int) -> bytes:
        return sha256(self.rp_id.encode()).digest() + bytes([self.flags | more]) + self.counter.to_bytes(4, "big")

    def _cose(self) -> dict[int, Any]:
        public = self.key.public_key()
        if self.algorithm == -8:
            return {1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        if self.algorithm == -257:
            return {1: 3, 3: -257, -1: numbers.n.to_bytes(256, "big"), -2: numbers.e.to_bytes(3, "big")}
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}

    def _sign(self, data: bytes) -> bytes:
        if self.algorithm == -8:
            return self.key.sign(data)
        if self.algorithm == -257:
            return self.key.sign(data, padding.PKCS1v15(), SHA256())
        return self.key.sign(data, ec.ECDSA(SHA256()))

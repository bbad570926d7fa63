"""A stand-in for Amazon: what SES hands over and SNS signs."""

import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from tests.servers import free_port

TOPIC = "arn:aws:sns:eu-west-1:123456789012:letters"
SNS_HOST = "sns.eu-west-1.amazonaws.com"


class Amazon:
    """A stand-in for SNS: signs, shows its certificate, and is asked to confirm."""

    def __init__(self, key: rsa.RSAPrivateKey, pem: bytes, files: tuple[Path, Path]) -> None:
        self._key, self._pem, self._files = key, pem, files
        self.confirmed: list[str] = []

    @classmethod
    def create(cls, directory: Path) -> "Amazon":
        key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SNS_HOST)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(SNS_HOST)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        files = (directory / "cert.pem", directory / "key.pem")
        files[0].write_bytes(pem)
        files[1].write_bytes(secret)
        return cls(key, pem, files)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Fetcher]:
        """A fetcher for which SNS is here."""
        self.confirmed.clear()
        app = web.Application()
        app.router.add_get("/cert.pem", self._show)
        app.router.add_get("/", self._confirm)
        runner = web.AppRunner(app)
        await runner.setup()
        server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server_side.load_cert_chain(*self._files)
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=server_side).start()
        trusting = ssl.create_default_context(cafile=str(self._files[0]))
        fetcher = Fetcher(
            Guard([ip_network("127.0.0.0/8")]), resolver=_ToLoopback(port), ssl_context=trusting, timeout=10
        )
        yield fetcher
        await fetcher.close()
        await runner.cleanup()

    def notification(self, name: str, message: str) -> bytes:
        return self.signed({"Type": "Notification", "MessageId": f"sns-{name}", "Message": message})

    def signed(self, fields: dict[str, str]) -> bytes:
        told = {
            "MessageId": "sns-1",
            "TopicArn": TOPIC,
            "Timestamp": "2026-11-15T09:00:00.000Z",
            "SignatureVersion": "2",
            "SigningCertURL": f"https://{SNS_HOST}/cert.pem",
            **fields,
        }
        names = (
            ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
            if told["Type"] == "Notification"
            else ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
        )
        text = "".join(f"{name}\n{told[name]}\n" for name in names if name in told)
        signature = self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return json.dumps({**told, "Signature": b64encode(signature).decode()}).encode()

    async def _show(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._pem)

    async def _confirm(self, request: web.Request) -> web.Response:
        self.confirmed.append(request.query["Token"])
        return web.Response(text="<ok/>")


class _ToLoopback(AbstractResolver):
    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        found = {"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 0}
        return [{**found, "port": self._port} if host == SNS_HOST else found]

    async def close(self) -> None:
        return None


def ses_message(raw: bytes, to: str, *, spam: str = "PASS") -> str:
    verdicts = {"spf": "PASS", "dkim": "PASS", "dmarc": "NONE", "spam": spam, "virus": "PASS"}
    receipt = {
        "recipients": [to],
        "action": {"type": "SNS", "encoding": "BASE64"},
        **{f"{name}Verdict": {"status": status} for name, status in verdicts.items()},
    }
    content = b64encode(raw).decode()
    return json.dumps({"notificationType": "Received", "receipt": receipt, "content": content})

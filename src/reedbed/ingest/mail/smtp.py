"""The built-in SMTP and LMTP server. It accepts mail for known addresses only.

There is no login and no relaying. A mail is acknowledged only after it is stored, so that until then the
sender keeps it.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from reedbed.domain.newsletters import MailIntake
from reedbed.domain.records import record

log = structlog.get_logger()

IDLE_SECONDS = 60.0
MAX_RECIPIENTS = 100
MAX_CONNECTIONS = 100
MAX_PER_PEER = 20
MAX_UNKNOWN_RECIPIENTS = 10
"""Unknown recipients in one session; a client that tries more is guessing addresses."""
MAX_LINE = 100_000
"""Bytes. Some mails have longer lines than the 1000 of the standard."""

TRY_LATER = "451 4.3.0 Something went wrong here. Try again later."
NO_SUCH_ADDRESS = "550 5.1.1 There is no such address here."


@record
class MailReceiver:
    """Callbacks that decide about a mail; each answers one step of the protocol."""

    admits: Callable[[str], Awaitable[bool]]
    """Whether this peer may send another mail now."""
    knows: Callable[[str], Awaitable[bool]]
    """Whether this recipient is one of ours."""
    takes: Callable[[Sequence[str], bytes], Awaitable[str]]
    """Store a mail for these recipients and return the reply line, which is only sent after that."""


async def listen(
    intake: MailIntake, receiver: MailReceiver, *, hostname: str, max_bytes: int
) -> asyncio.AbstractServer:
    """Raise OSError if the port is not available or the certificate cannot be read."""
    protocol: type[SMTP] = _Lmtp if intake.protocol == "lmtp" else _Smtp
    tls = _tls_context(intake) if intake.certificate else None
    handler, connections = _Handler(receiver, per_recipient=intake.protocol == "lmtp"), _ConnectionCounter()

    def new_session() -> SMTP:
        session = protocol(
            handler,
            data_size_limit=max_bytes,
            enable_SMTPUTF8=True,
            hostname=hostname,
            ident="Reedbed",
            tls_context=tls,
            timeout=IDLE_SECONDS,
            auth_exclude_mechanism=["LOGIN", "PLAIN"],
        )
        session.connections = connections  # pyright: ignore[reportAttributeAccessIssue]  both protocols have it
        return session

    return await asyncio.get_running_loop().create_server(new_session, intake.host, intake.port)


def _tls_context(intake: MailIntake) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(intake.certificate, intake.key)
    return context


class _ConnectionCounter:
    """Number of connections, in total and per peer."""

    def __init__(self) -> None:
        self._by_peer: Counter[str] = Counter()

    def add(self, peer: str) -> bool:
        if self._by_peer.total() >= MAX_CONNECTIONS or self._by_peer[peer] >= MAX_PER_PEER:
            return False
        self._by_peer[peer] += 1
        return True

    def remove(self, peer: str) -> None:
        self._by_peer[peer] -= 1
        if self._by_peer[peer] <= 0:
            del self._by_peer[peer]


class _CountedSession(SMTP):
    """A session that counts as one connection, also across STARTTLS."""

    line_length_limit = MAX_LINE
    connections: _ConnectionCounter
    _peer: str | None = None
    _rejected = False

    def connection_made(self, transport: Any) -> None:
        if self._peer is None:  # otherwise STARTTLS began on a counted connection
            peer = _peer_ip(transport.get_extra_info("peername"))
            if not self.connections.add(peer):
                self._rejected = True
                transport.write(b"421 4.7.0 Too many connections. Try again later.\r\n")
                transport.close()
                return
            self._peer = peer
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._rejected:
            return
        if self._peer is not None:
            self.connections.remove(self._peer)
            self._peer = None
        super().connection_lost(error)


class _Smtp(_CountedSession):
    pass


class _Lmtp(_CountedSession, LMTP):
    pass


class _Handler:
    """Callbacks of aiosmtpd, one per command, with the method names it requires."""

    # ruff: noqa: N802  those names

    def __init__(self, receiver: MailReceiver, *, per_recipient: bool) -> None:
        self._receiver = receiver
        self._per_recipient = per_recipient

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Remove AUTH, which aiosmtpd offers although there is no login."""
        session.host_name = hostname
        return [line for line in responses if not line[4:].startswith("AUTH")]

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not await self._receiver.admits(_peer_ip(session.peer)):
            return "450 4.7.1 Too many mails. Try again later."
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        unknown: int = getattr(session, "unknown_recipients", 0)
        if unknown >= MAX_UNKNOWN_RECIPIENTS:
            return "450 4.7.1 Too many unknown recipients. Try again later."
        if len(envelope.rcpt_tos) >= MAX_RECIPIENTS:
            return "452 4.5.3 Too many recipients."
        if not await self._receiver.knows(address):
            session.unknown_recipients = unknown + 1  # pyright: ignore[reportAttributeAccessIssue]  our own note
            return NO_SUCH_ADDRESS
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = envelope.content
        if not isinstance(content, bytes):
            return TRY_LATER
        reply = await self._receiver.takes(tuple(envelope.rcpt_tos), content)
        return "\r\n".join([reply] * len(envelope.rcpt_tos)) if self._per_recipient else reply

    async def handle_exception(self, error: Exception) -> str:
        log.error("a mail could not be received", error=repr(error)[:500])
        return TRY_LATER


def _peer_ip(peer: object) -> str:
    return str(peer[0]) if isinstance(peer, tuple) and peer else "local"  # pyright: ignore[reportUnknownArgumentType]

"""The program's own mail server: takes mail for addresses it knows, and gives none to anybody.

There is no log-in and no relaying. Every mail is answered for after it is stored, so that whoever sent it
keeps it for as long as it might be lost.
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
MAX_STRANGERS = 10
"""Unknown recipients in one session; whoever tries more is guessing."""
MAX_LINE = 100_000
"""Bytes. The standard's 1000 is less than what some letters hold."""

TRY_LATER = "451 4.3.0 Something went wrong here. Try again later."
NO_SUCH_ADDRESS = "550 5.1.1 There is no such address here."


@record
class MailReceiver:
    """Who decides; each answers for one question of the protocol."""

    admits: Callable[[str], Awaitable[bool]]
    """Whether another mail may come from this peer now."""
    knows: Callable[[str], Awaitable[bool]]
    """Whether this recipient is one of ours."""
    takes: Callable[[Sequence[str], bytes], Awaitable[str]]
    """Stores a mail for these recipients; the reply line, true when it is given."""


async def listen(
    door: MailIntake, desk: MailReceiver, *, hostname: str, max_bytes: int
) -> asyncio.AbstractServer:
    """Raises OSError where the port cannot be had, or the certificate not be read."""
    kind: type[SMTP] = _Lmtp if door.protocol == "lmtp" else _Smtp
    tls = _tls(door) if door.certificate else None
    handler, guests = _Handler(desk, per_recipient=door.protocol == "lmtp"), _Guests()

    def new_session() -> SMTP:
        session = kind(
            handler,
            data_size_limit=max_bytes,
            enable_SMTPUTF8=True,
            hostname=hostname,
            ident="Reedbed",
            tls_context=tls,
            timeout=IDLE_SECONDS,
            auth_exclude_mechanism=["LOGIN", "PLAIN"],
        )
        session.guests = guests  # pyright: ignore[reportAttributeAccessIssue]  both kinds have it
        return session

    return await asyncio.get_running_loop().create_server(new_session, door.host, door.port)


def _tls(door: MailIntake) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(door.certificate, door.key)
    return context


class _Guests:
    """How many connections there are, in all and by peer."""

    def __init__(self) -> None:
        self._by_peer: Counter[str] = Counter()

    def enter(self, peer: str) -> bool:
        if self._by_peer.total() >= MAX_CONNECTIONS or self._by_peer[peer] >= MAX_PER_PEER:
            return False
        self._by_peer[peer] += 1
        return True

    def leave(self, peer: str) -> None:
        self._by_peer[peer] -= 1
        if self._by_peer[peer] <= 0:
            del self._by_peer[peer]


class _Counted(SMTP):
    """A session that counts as a guest from its first connection to its last."""

    line_length_limit = MAX_LINE
    guests: _Guests
    _peer: str | None = None
    _turned_away = False

    def connection_made(self, transport: Any) -> None:
        if self._peer is None:  # else STARTTLS has begun on a connection we know
            peer = _peer_of(transport.get_extra_info("peername"))
            if not self.guests.enter(peer):
                self._turned_away = True
                transport.write(b"421 4.7.0 Too many connections. Try again later.\r\n")
                transport.close()
                return
            self._peer = peer
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._turned_away:
            return
        if self._peer is not None:
            self.guests.leave(self._peer)
            self._peer = None
        super().connection_lost(error)


class _Smtp(_Counted):
    pass


class _Lmtp(_Counted, LMTP):
    pass


class _Handler:
    """Called by aiosmtpd for each command, under the names it knows."""

    # ruff: noqa: N802  those names

    def __init__(self, desk: MailReceiver, *, per_recipient: bool) -> None:
        self._desk = desk
        self._per_recipient = per_recipient

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Without the offer to log in, which the library makes although nobody can."""
        session.host_name = hostname
        return [line for line in responses if not line[4:].startswith("AUTH")]

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not await self._desk.admits(_peer_of(session.peer)):
            return "450 4.7.1 Too many mails. Try again later."
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        strangers: int = getattr(session, "strangers", 0)
        if strangers >= MAX_STRANGERS:
            return "450 4.7.1 Too many unknown recipients. Try again later."
        if len(envelope.rcpt_tos) >= MAX_RECIPIENTS:
            return "452 4.5.3 Too many recipients."
        if not await self._desk.knows(address):
            session.strangers = strangers + 1  # pyright: ignore[reportAttributeAccessIssue]  our own note
            return NO_SUCH_ADDRESS
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = envelope.content
        if not isinstance(content, bytes):
            return TRY_LATER
        reply = await self._desk.takes(tuple(envelope.rcpt_tos), content)
        return "\r\n".join([reply] * len(envelope.rcpt_tos)) if self._per_recipient else reply

    async def handle_exception(self, error: Exception) -> str:
        log.error("a mail could not be taken", error=repr(error)[:500])
        return TRY_LATER


def _peer_of(peer: object) -> str:
    return str(peer[0]) if isinstance(peer, tuple) and peer else "local"  # pyright: ignore[reportUnknownArgumentType]

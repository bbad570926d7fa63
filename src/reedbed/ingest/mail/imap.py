"""Looking into a folder of a mailbox: read only, within bounds, behind the guard.

The standard library's client is used in a thread. It connects to an address the guard has judged, so that a
name that answers differently a moment later gains nothing.
"""

import imaplib
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, cast

from reedbed.ingest.mail.mailbox import MailboxFailure, MailboxLogin, MailboxMail, MailboxResult

TIMEOUT_SECONDS = 20.0
MAX_MAILS = 20
MAX_BYTES = 40 * 1024 * 1024
"""Of one look."""
FIRST_LOOK = 50
"""Of the mails a folder holds when it is added, the newest so many come along."""

_HUNG_UP = "The mail server ended the connection. Look whether port and encryption are right."
_UID = re.compile(rb"\bUID (\d{1,10})\b")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,12})\b")


def look_into_mailbox(
    login: MailboxLogin, address: str, *, uid_validity: int | None, last_uid: int, max_bytes: int
) -> MailboxResult | MailboxFailure:
    """The mails above `last_uid`, while the folder's UIDs mean what they did. For a thread: it blocks."""
    client: _Client | None = None
    try:
        client = _Client(login, address, max_bytes)
        _log_in(client, login)
        return _look(client, login.folder, uid_validity, last_uid, max_bytes)
    except imaplib.IMAP4.abort as error:
        return MailboxFailure(_HUNG_UP if "EOF" in str(error) else _said(error))
    except imaplib.IMAP4.error as error:
        return MailboxFailure(_said(error))
    except (ssl.SSLError, OSError, EOFError) as error:
        return MailboxFailure(f"The mail server could not be reached: {_said(error)}")
    except (ValueError, IndexError, AttributeError):
        return MailboxFailure("The mail server's answer could not be understood.")
    finally:
        if client is not None:
            with suppress(Exception):
                client.shutdown()


class _Client(imaplib.IMAP4):
    """One that goes where it is told, and reads no more than it should."""

    def __init__(self, login: MailboxLogin, address: str, max_bytes: int) -> None:
        self._login, self._address, self._max_bytes = login, address, max_bytes
        super().__init__(login.host, login.port, TIMEOUT_SECONDS)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        plain = socket.create_connection((self._address, self._login.port), timeout)
        if self._login.security != "tls":
            return plain
        return _tls().wrap_socket(plain, server_hostname=self._login.host)

    def read(self, size: int) -> bytes:
        if size > self._max_bytes + 64 * 1024:
            raise self.abort("The mail server sends more than it announced.")
        return super().read(size)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _log_in(client: _Client, login: MailboxLogin) -> None:
    if login.security == "starttls":
        client.starttls(_tls())
    client.login(login.username, login.password)


def _look(
    client: _Client, folder: str, uid_validity: int | None, last_uid: int, max_bytes: int
) -> MailboxResult | MailboxFailure:
    status, said = client.select(_quoted(folder), readonly=True)
    if status != "OK":
        return MailboxFailure(f"The folder could not be opened: {_said(_first(said))}")
    validity = int(_first(client.response("UIDVALIDITY")[1]) or b"0")
    since = last_uid if uid_validity in (None, validity) else 0
    uids = [uid for uid in _uids(client, since) if uid > since]
    if uid_validity != validity:  # the first look, or all is numbered anew
        uids = uids[-FIRST_LOOK:]
    wanted = uids[:MAX_MAILS]
    mails = tuple(_mails(client, wanted, max_bytes))
    return MailboxResult(validity, mails, len(uids) > len(mails))


def _uids(client: _Client, since: int) -> list[int]:
    _, found = client.uid("SEARCH", f"UID {since + 1}:*")
    return sorted(int(uid) for uid in (_first(found) or b"").split())


def _mails(client: _Client, uids: Sequence[int], max_bytes: int) -> Iterator[MailboxMail]:
    if not uids:
        return
    sizes = _sizes(client, uids)
    taken = 0
    for uid in uids:
        size = sizes.get(uid, 0)
        if size > max_bytes:
            yield MailboxMail(uid, None)
            continue
        if taken and taken + size > MAX_BYTES:
            return
        taken += size
        yield MailboxMail(uid, _raw(client, uid))


def _sizes(client: _Client, uids: Sequence[int]) -> dict[int, int]:
    _, answers = client.uid("FETCH", ",".join(map(str, uids)), "(RFC822.SIZE)")
    sizes: dict[int, int] = {}
    for answer in answers:
        line = answer if isinstance(answer, bytes) else b""
        uid, size = _UID.search(line), _SIZE.search(line)
        if uid and size:
            sizes[int(uid[1])] = int(size[1])
    return sizes


def _raw(client: _Client, uid: int) -> bytes | None:
    _, answers = client.uid("FETCH", str(uid), "(BODY.PEEK[])")
    return next((bytes(cast(Any, part)[1]) for part in answers if isinstance(part, tuple)), None)


def _quoted(folder: str) -> str:
    escaped = _modified_utf7(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _modified_utf7(text: str) -> str:
    """Folder names beyond ASCII as IMAP writes them: `Entwürfe` is `Entw&APw-rfe`."""
    return re.sub(
        r"[^\x20-\x7e]+|&",
        lambda run: "&-" if run[0] == "&" else f"&{_base64(run[0])}-",
        text,
    )


def _base64(text: str) -> str:
    return b64encode(text.encode("utf-16-be")).rstrip(b"=").replace(b"/", b",").decode()


def _first(values: Any) -> bytes:
    return next((value for value in values or () if isinstance(value, bytes)), b"")


def _said(error: object) -> str:
    said: Any = error.args[0] if isinstance(error, imaplib.IMAP4.error) and error.args else error
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return " ".join(text.split())[:200]

"""Read new mails from an IMAP folder: read-only, within limits, behind the guard.

Uses the standard library's client in a thread. It connects to an IP address that the guard has already
checked, so a name that resolves differently a moment later (DNS rebinding) has no effect.
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

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.newsletters import MailboxFailure, MailboxLogin, MailboxMail, MailboxResult

TIMEOUT_SECONDS = 20.0
MAX_MAILS = 20
MAX_BYTES = 40 * 1024 * 1024
"""Of one check."""
FIRST_CHECK_MAILS = 50
"""How many of the newest existing mails are imported when a folder is added."""

_UID = re.compile(rb"\bUID (\d{1,10})\b")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,12})\b")


def read_mailbox(
    login: MailboxLogin, ip: str, *, uid_validity: int | None, last_uid: int, max_bytes: int
) -> MailboxResult | MailboxFailure:
    """Read the mails above `last_uid`, or the newest ones if UIDVALIDITY changed. Blocks: call it in a
    thread.
    """
    client: _Client | None = None
    try:
        client = _Client(login, ip, max_bytes)
        _log_in(client, login)
        return _read_folder(client, login.folder, uid_validity, last_uid, max_bytes)
    except imaplib.IMAP4.abort as error:
        disconnected = Failure(FailureCode.MAILBOX_DISCONNECTED)
        return MailboxFailure(disconnected if "EOF" in str(error) else _refused(error))
    except imaplib.IMAP4.error as error:
        return MailboxFailure(_refused(error))
    except (ssl.SSLError, OSError, EOFError) as error:
        return MailboxFailure(Failure(FailureCode.MAILBOX_UNREACHABLE, {"reason": _error_text(error)}))
    except (ValueError, IndexError, AttributeError):
        return MailboxFailure(Failure(FailureCode.MAILBOX_UNREADABLE))
    finally:
        if client is not None:
            with suppress(Exception):
                client.shutdown()


class _Client(imaplib.IMAP4):
    """Connects to the given IP address and limits how much it reads."""

    def __init__(self, login: MailboxLogin, ip: str, max_bytes: int) -> None:
        self._login, self._ip, self._max_bytes = login, ip, max_bytes
        super().__init__(login.host, login.port, TIMEOUT_SECONDS)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        plain = socket.create_connection((self._ip, self._login.port), timeout)
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


def _read_folder(
    client: _Client, folder: str, uid_validity: int | None, last_uid: int, max_bytes: int
) -> MailboxResult | MailboxFailure:
    status, data = client.select(_quoted(folder), readonly=True)
    if status != "OK":
        reason = _error_text(_first(data))
        return MailboxFailure(Failure(FailureCode.MAILBOX_FOLDER_REFUSED, {"reason": reason}))
    validity = int(_first(client.response("UIDVALIDITY")[1]) or b"0")
    since = last_uid if uid_validity in (None, validity) else 0
    uids = [uid for uid in _uids(client, since) if uid > since]
    if uid_validity != validity:  # first check, or the UIDs were reassigned
        uids = uids[-FIRST_CHECK_MAILS:]
    batch = uids[:MAX_MAILS]
    mails = tuple(_fetch_mails(client, batch, max_bytes))
    return MailboxResult(validity, mails, len(uids) > len(mails))


def _uids(client: _Client, since: int) -> list[int]:
    _, data = client.uid("SEARCH", f"UID {since + 1}:*")
    return sorted(int(uid) for uid in (_first(data) or b"").split())


def _fetch_mails(client: _Client, uids: Sequence[int], max_bytes: int) -> Iterator[MailboxMail]:
    if not uids:
        return
    sizes = _sizes(client, uids)
    total = 0
    for uid in uids:
        size = sizes.get(uid, 0)
        if size > max_bytes:
            yield MailboxMail(uid, None)
            continue
        if total and total + size > MAX_BYTES:
            return
        total += size
        yield MailboxMail(uid, _fetch_raw(client, uid))


def _sizes(client: _Client, uids: Sequence[int]) -> dict[int, int]:
    _, responses = client.uid("FETCH", ",".join(map(str, uids)), "(RFC822.SIZE)")
    sizes: dict[int, int] = {}
    for response in responses:
        line = response if isinstance(response, bytes) else b""
        uid, size = _UID.search(line), _SIZE.search(line)
        if uid and size:
            sizes[int(uid[1])] = int(size[1])
    return sizes


def _fetch_raw(client: _Client, uid: int) -> bytes | None:
    _, responses = client.uid("FETCH", str(uid), "(BODY.PEEK[])")
    return next((bytes(cast(Any, part)[1]) for part in responses if isinstance(part, tuple)), None)


def _quoted(folder: str) -> str:
    escaped = _modified_utf7(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _modified_utf7(text: str) -> str:
    """Encode folder names beyond ASCII as IMAP does: `Entwürfe` is `Entw&APw-rfe`."""
    return re.sub(r"[^\x20-\x7e]+|&", lambda run: "&-" if run[0] == "&" else f"&{_base64(run[0])}-", text)


def _base64(text: str) -> str:
    return b64encode(text.encode("utf-16-be")).rstrip(b"=").replace(b"/", b",").decode()


def _first(values: Any) -> bytes:
    return next((value for value in values or () if isinstance(value, bytes)), b"")


def _refused(error: imaplib.IMAP4.error) -> Failure:
    return Failure(FailureCode.MAILBOX_REFUSED, {"reason": _error_text(error)})


def _error_text(error: object) -> str:
    message: Any = error.args[0] if isinstance(error, imaplib.IMAP4.error) and error.args else error
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return " ".join(text.split())[:200]

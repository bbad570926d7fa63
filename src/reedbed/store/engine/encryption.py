"""Encrypts the passwords and tokens that Reedbed sends to others, with a key that is not in the database.

Each transaction has the vault of its database. `tx.vault.encrypt("feeds.password", text)` gives what is
stored; `tx.vault.decrypt("feeds.password", stored)` gives the text back, or None without the key. Only store
functions call these: everything above them sees plain texts. `encrypted_columns.COLUMNS` lists the places.

The key comes from `REEDBED_SECRET_KEY` or from a key file. A stored value names its key, so that several keys
work side by side: the current one encrypts, all of them decrypt. A value without the prefix is a clear text
from before 0.2, or one that was stored while there was no key.
"""

import binascii
import fcntl
import hmac
import os
import secrets
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from reedbed.domain.errors import CannotStart
from reedbed.domain.records import record

PREFIX = "enc:v1:"
_KEY_BYTES, _NONCE_BYTES = 32, 12
_HEADER = """\
# The keys of the passwords in Reedbed's database. Without this file they have to be entered again.
# Keep a copy of it, apart from the backups of the database. The first key encrypts, the others only decrypt.
"""


@record
class Key:
    value: bytes = field(repr=False)
    from_file: bool = False

    @property
    def id(self) -> str:
        return sha256(b"reedbed key id\0" + self.value).hexdigest()[:12]


def key_from_setting(secret: str) -> Key:
    return Key(hmac.digest(secret.encode(), b"reedbed stored secrets\0v1", "sha256"))


class Vault:
    def __init__(
        self, given: Key | None = None, *, former: Iterable[Key] = (), file: Path | None = None
    ) -> None:
        """The key given encrypts, else the first of the file. Without one, texts are stored as they are."""
        self.current = given
        self.file = file
        self._given = given
        self._former = tuple(former)
        self._seen: tuple[int, int, int] | None = None
        self._keys: Mapping[str, Key] = {}
        self._take(())
        self.look_at_file()

    def encrypt(self, purpose: str, text: str) -> str:
        self.look_at_file()
        key = self.current
        if key is None:
            return text
        # Loaded with the first password: many servers have none.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + AESGCM(key.value).encrypt(nonce, text.encode(), purpose.encode())
        return f"{PREFIX}{key.id}:{urlsafe_b64encode(sealed).decode()}"

    def encrypt_optional(self, purpose: str, text: str | None) -> str | None:
        return None if text is None else self.encrypt(purpose, text)

    def decrypt(self, purpose: str, stored: str) -> str | None:
        """None: encrypted with a key that is not here, or not for this purpose."""
        if not stored.startswith(PREFIX):
            return stored
        key_id, _, sealed = stored.removeprefix(PREFIX).partition(":")
        if key_id not in self._keys:
            self.look_at_file()
        key = self._keys.get(key_id)
        return None if key is None else _opened(key, purpose, sealed)

    def is_outdated(self, stored: str) -> bool:
        """Whether it is in clear, or encrypted with another key than the current one."""
        return self.current is not None and not stored.startswith(f"{PREFIX}{self.current.id}:")

    def look_at_file(self) -> None:
        """Another process may have put a new key into the file."""
        if self.file is None:
            return
        try:
            found = self.file.stat()
        except FileNotFoundError:
            return
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._take(read_key_file(self.file))
            self._seen = seen

    def _take(self, of_file: Sequence[Key]) -> None:
        first = [self._given] if self._given else []
        self.current = next(iter([*first, *of_file]), None)
        self._keys = {key.id: key for key in (*first, *of_file, *self._former)}


def make_key_file(path: Path) -> None:
    """With one new key, readable by its owner alone. A file that is there already stays."""
    if not path.exists():
        with _locked(path.parent):
            _write(path, [Key(secrets.token_bytes(_KEY_BYTES))], replace=False)


def add_key(path: Path) -> None:
    """Put a new key before those of the file, which stay: older backups need them."""
    with _locked(path.parent):
        keys = read_key_file(path) if path.exists() else []
        _write(path, [Key(secrets.token_bytes(_KEY_BYTES)), *keys], replace=True)


def read_key_file(path: Path) -> list[Key]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise CannotStart(
            f"The key file {path} cannot be read: {error.strerror}. "
            "It must be readable by the user who runs Reedbed."
        ) from error
    except UnicodeDecodeError:
        raise _damaged(path) from None
    found = [line.split()[-1] for line in lines if line.strip() and not line.startswith("#")]
    try:
        keys = [Key(urlsafe_b64decode(text), from_file=True) for text in found]
    except (binascii.Error, ValueError):
        raise _damaged(path) from None
    if not keys or any(len(key.value) != _KEY_BYTES for key in keys):
        raise _damaged(path)
    return keys


def _opened(key: Key, purpose: str, sealed: str) -> str | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        raw = urlsafe_b64decode(sealed)
        return AESGCM(key.value).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode()).decode()
    except (InvalidTag, ValueError):
        return None


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Two processes that change the file at once would each drop a key of the other that may be in use."""
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not every kind of disk can
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
        os.fsync(number)
    finally:
        os.close(number)


def _write(path: Path, keys: Sequence[Key], *, replace: bool) -> None:
    """On the disk before anything is encrypted with it, and never half of it."""
    lines = "".join(f"{key.id} {urlsafe_b64encode(key.value).decode()}\n" for key in keys)
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # has mode 0600
    unfinished = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(_HEADER + lines)
            file.flush()
            os.fsync(file.fileno())
        _give_to_owner_of(path.parent, unfinished)
        if replace:
            unfinished.replace(path)
        else:
            _link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _link(unfinished: Path, path: Path) -> None:
    """Of two processes that make the file at once, the second takes that of the first."""
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        return
    except OSError:  # not every kind of disk can
        unfinished.replace(path)


def _give_to_owner_of(folder: Path, file: Path) -> None:
    """A command that root runs must not leave a file that the service cannot read."""
    owner = folder.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(file, owner.st_uid, owner.st_gid)


def _damaged(path: Path) -> CannotStart:
    return CannotStart(
        f"The key file {path} is damaged. Put your copy of it back. If there is none, move the file away: "
        "Reedbed makes a new one, and the passwords of feeds and mailboxes have to be entered again."
    )

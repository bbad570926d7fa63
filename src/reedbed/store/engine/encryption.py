"""Encrypts the passwords and tokens that Reedbed sends to other services, with a key outside the database.

Each transaction has the vault of its database. `tx.vault.encrypt("feeds.password", text)` returns the value
to store; `tx.vault.decrypt("feeds.password", stored)` returns the text, or None without the key. Only store
functions call these: the layers above see plain text. `store.secrets.COLUMNS` lists the encrypted columns.

The key comes from `REEDBED_SECRET_KEY` or from a key file. A stored value contains the id of its key, so
several keys can coexist: the current one encrypts, all of them decrypt. A value without the prefix is plain
text, stored before 0.2 or while there was no key.
"""

import asyncio
import binascii
import fcntl
import hmac
import os
import secrets
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from reedbed.domain.errors import CannotStart
from reedbed.domain.records import record
from reedbed.store.engine.decryption import NONCE_BYTES, decrypt

PREFIX = "enc:v1:"
_KEY_BYTES = 32
_CHILD_SECONDS = 10.0
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
    def __init__(self, given: Key | None = None, *, former: Iterable[Key] = (), file: Path | None = None) -> None:
        """Encrypt with this key, or else with the first key of the file. Without any, store plain text."""
        self.current = given
        self.file = file
        self._own_key = given
        self._former = tuple(former)
        self._file_version: tuple[int, int, int] | None = None
        self._keys: Mapping[str, Key] = {}
        self._set_keys(())
        self.reload_key_file()

    def encrypt(self, purpose: str, text: str) -> str:
        self.reload_key_file()
        key = self.current
        if key is None:
            return text
        # Imported when the first password is stored: many servers have none.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(NONCE_BYTES)
        ciphertext = nonce + AESGCM(key.value).encrypt(nonce, text.encode(), purpose.encode())
        return f"{PREFIX}{key.id}:{urlsafe_b64encode(ciphertext).decode()}"

    def encrypt_optional(self, purpose: str, text: str | None) -> str | None:
        return None if text is None else self.encrypt(purpose, text)

    def decrypt(self, purpose: str, stored: str) -> str | None:
        """None if it was encrypted with a key we do not have, or for another purpose."""
        if not stored.startswith(PREFIX):
            return stored
        key, ciphertext = self._find_key(stored)
        return None if key is None else _decrypt(key, purpose, ciphertext)

    async def decrypt_apart(self, purpose: str, stored: str) -> str | None:
        """As `decrypt`, without loading the cryptography library into this process. None also if that fails."""
        if not stored.startswith(PREFIX):
            return stored
        key, ciphertext = self._find_key(stored)
        return None if key is None else await _decrypt_apart(key, purpose, ciphertext)

    def _find_key(self, stored: str) -> tuple[Key | None, str]:
        key_id, _, ciphertext = stored.removeprefix(PREFIX).partition(":")
        if key_id not in self._keys:
            self.reload_key_file()
        return self._keys.get(key_id), ciphertext

    def is_outdated(self, stored: str) -> bool:
        """Whether it is plain text, or encrypted with a key other than the current one."""
        return self.current is not None and not stored.startswith(f"{PREFIX}{self.current.id}:")

    def reload_key_file(self) -> None:
        """Reload the file if it changed: another process may have added a key."""
        if self.file is None:
            return
        try:
            status = self.file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return
        version = (status.st_ino, status.st_mtime_ns, status.st_size)
        if version != self._file_version:
            self._set_keys(read_key_file(self.file))
            self._file_version = version

    def _set_keys(self, file_keys: Sequence[Key]) -> None:
        own_key = [self._own_key] if self._own_key else []
        self.current = next(iter([*own_key, *file_keys]), None)
        self._keys = {key.id: key for key in (*own_key, *file_keys, *self._former)}


def make_key_file(path: Path) -> bool:
    """Create the file with one new key, readable only by its owner. An existing file is left alone: False."""
    if path.exists():
        return False
    with _locked(path.parent):
        if path.exists():
            return False
        _write(path, [Key(secrets.token_bytes(_KEY_BYTES))], replace=False)
    return True


def add_key(path: Path) -> None:
    """Add a new key before the others of the file, which stay: older backups need them."""
    with _locked(path.parent):
        keys = read_key_file(path) if path.exists() else []
        _write(path, [Key(secrets.token_bytes(_KEY_BYTES)), *keys], replace=True)


def read_key_file(path: Path) -> list[Key]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise CannotStart(
            f"The key file {path} cannot be read: {error.strerror}. It must be readable by the user who runs Reedbed."
        ) from error
    except UnicodeDecodeError:
        raise _damaged_error(path) from None
    encoded = [line.split()[-1] for line in lines if line.strip() and not line.startswith("#")]
    try:
        keys = [Key(urlsafe_b64decode(text), from_file=True) for text in encoded]
    except (binascii.Error, ValueError):
        raise _damaged_error(path) from None
    if not keys or any(len(key.value) != _KEY_BYTES for key in keys):
        raise _damaged_error(path)
    return keys


def _decrypt(key: Key, purpose: str, ciphertext: str) -> str | None:
    try:
        return decrypt(key.value, purpose.encode(), urlsafe_b64decode(ciphertext))
    except ValueError:
        return None


async def _decrypt_apart(key: Key, purpose: str, ciphertext: str) -> str | None:
    try:
        parts = (key.value, purpose.encode(), urlsafe_b64decode(ciphertext))
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", decrypt.__module__, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
    except (ValueError, OSError):
        return None
    try:
        asked = child.communicate("\n".join(part.hex() for part in parts).encode())
        output, _ = await asyncio.wait_for(asked, _CHILD_SECONDS)
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            child.kill()
    return output.decode() if child.returncode == 0 else None


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Lock out other processes: with two writers at once, one would drop a key the other already uses."""
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems do not support it
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
        os.fsync(number)
    finally:
        os.close(number)


def _write(path: Path, keys: Sequence[Key], *, replace: bool) -> None:
    """Write atomically and sync to disk, before anything is encrypted with the new key."""
    lines = "".join(f"{key.id} {urlsafe_b64encode(key.value).decode()}\n" for key in keys)
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # has mode 0600
    unfinished = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(_HEADER + lines)
            file.flush()
            os.fsync(file.fileno())
        _chown_like(path.parent, unfinished)
        if replace:
            unfinished.replace(path)
        else:
            _link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _link(unfinished: Path, path: Path) -> None:
    """Publish the new file. If another process was faster, keep its file."""
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        return
    except OSError:  # some file systems do not support hard links
        unfinished.replace(path)


def _chown_like(folder: Path, file: Path) -> None:
    """A command run as root must not leave a file that the service cannot read."""
    owner = folder.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(file, owner.st_uid, owner.st_gid)


def _damaged_error(path: Path) -> CannotStart:
    return CannotStart(
        f"The key file {path} is damaged. Put your copy of it back. If there is none, move the file away: "
        "Reedbed makes a new one, and the passwords of feeds and mailboxes have to be entered again."
    )

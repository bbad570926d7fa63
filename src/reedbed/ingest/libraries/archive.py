"""Zip archives of exports. They may be hostile, so everything about them is bounded.

Nothing is unpacked under a name from the archive, archives inside the archive are not opened, and the number
of files, the size of the directory and the unpacked bytes have limits whatever the archive claims.
"""

import re
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from reedbed.domain.errors import Invalid
from reedbed.domain.texts import shown_line

LARGEST = 200_000_000
MOST_UNPACKED = 200_000_000
MOST_MEMBERS = 10_000
_LARGEST_DIRECTORY = 3_000_000
_CHUNK = 1_000_000
_LONGEST_NAME = 100

_END = struct.Struct("<4s4H2LH")
"""The record that ends an archive: among others its number of files and the size of its directory."""
_LONGEST_COMMENT = 65_535
_ZIP64_LOCATOR = 20
_ENCRYPTED = 0x1
_KNOWN_START = re.compile(rb"SQLite format 3\0|(?:\xef\xbb\xbf)?[ \t\r\n]*[{\[<]")
_NOT_READ = re.compile(r"(?:^|/)(?:__MACOSX/|\._)|\.html?$", re.IGNORECASE)

_TOO_LARGE = "This zip archive holds too much. Unpack it and bring in its OPML and JSON files one by one."
_DAMAGED = "This zip archive is damaged or not complete. Download it again."
_LOCKED = "This zip archive needs a password. Unpack it and bring in its files."


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def readable_members(path: Path) -> Iterator[tuple[str, Path]]:
    """Name and unpacked copy of each file that may be an export. A copy is gone when the next one comes."""
    _check_directory(path)
    try:
        with ZipFile(path) as archive:
            yield from _unpacked(archive)
    except (BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        raise Invalid(_DAMAGED, field="file") from error


def _check_directory(path: Path) -> None:
    """`ZipFile` reads the whole directory into memory, so its size is looked at before."""
    size = path.stat().st_size
    if size > LARGEST:
        raise Invalid(_TOO_LARGE, field="file")
    with path.open("rb") as file:
        file.seek(max(0, size - _END.size - _LONGEST_COMMENT - _ZIP64_LOCATOR))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise Invalid(_DAMAGED, field="file")
    _, _, _, _, count, directory, _, _ = _END.unpack_from(tail, at)
    # What needs the 64-bit form is larger than anything that is accepted.
    is_64_bit = tail[max(0, at - _ZIP64_LOCATOR) : at].startswith(b"PK\x06\x07")
    if is_64_bit or count > MOST_MEMBERS or directory > _LARGEST_DIRECTORY:
        raise Invalid(_TOO_LARGE, field="file")


def _unpacked(archive: ZipFile) -> Iterator[tuple[str, Path]]:
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise Invalid(_TOO_LARGE, field="file")
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise Invalid(_LOCKED, field="file")
    room = MOST_UNPACKED
    for member in members:
        if not _may_be_export(archive, member):
            continue
        with tempfile.NamedTemporaryFile(prefix="reedbed-", suffix=".import") as copy:
            room -= _copy(archive, member, copy.file, room)
            yield _shown_name(member), Path(copy.name)


def _may_be_export(archive: ZipFile, member: ZipInfo) -> bool:
    if member.is_dir() or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return False
    if _NOT_READ.search(member.filename):
        return False
    with archive.open(member) as file:
        return _KNOWN_START.match(file.read(200)) is not None


def _copy(archive: ZipFile, member: ZipInfo, copy: IO[bytes], room: int) -> int:
    copied = 0
    with archive.open(member) as file:
        while some := file.read(_CHUNK):
            copied += len(some)
            if copied > room:
                raise Invalid(_TOO_LARGE, field="file")
            copy.write(some)
    copy.flush()
    return copied


def _shown_name(member: ZipInfo) -> str:
    return shown_line(member.filename.rpartition("/")[2])[:_LONGEST_NAME]

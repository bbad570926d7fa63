"""Read the exports in a zip archive.

Files are unpacked under temporary names, never under a name from the archive. Archives in archives are not
opened. The number of files, the size of the directory and the unpacked bytes are limited, whatever the
archive declares.
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
from reedbed.domain.text import clean_line

MAX_BYTES = 200_000_000
MAX_UNPACKED = 200_000_000
MAX_MEMBERS = 10_000
_MAX_DIRECTORY = 3_000_000
_CHUNK = 1_000_000
_MAX_NAME_LENGTH = 100

_ZIP_END = struct.Struct("<4s4H2LH")
"""End-of-central-directory record; holds the number of files and the size of the directory."""
_MAX_COMMENT_LENGTH = 65_535
_ZIP64_LOCATOR = 20
_ENCRYPTED = 0x1
_EXPORT_START = re.compile(rb"SQLite format 3\0|(?:\xef\xbb\xbf)?[ \t\r\n]*[{\[<]")
_SKIPPED_NAME = re.compile(r"(?:^|/)(?:__MACOSX/|\._)|\.html?$", re.IGNORECASE)

_TOO_LARGE = "This zip archive holds too much. Unpack it and import its OPML and JSON files one by one."
_DAMAGED = "This zip archive is damaged or not complete. Download it again."
_PROTECTED = "This zip archive needs a password. Unpack it and import its files."


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def readable_members(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and unpacked copy of each possible export. Each copy is deleted before the next."""
    _check_directory(path)
    try:
        with ZipFile(path) as archive:
            yield from _unpacked_members(archive)
    except (BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        raise Invalid(_DAMAGED, field="file") from error


def _check_directory(path: Path) -> None:
    """Check the size of the directory first, because `ZipFile` reads all of it into memory."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Invalid(_TOO_LARGE, field="file")
    with path.open("rb") as file:
        file.seek(max(0, size - _ZIP_END.size - _MAX_COMMENT_LENGTH - _ZIP64_LOCATOR))
        tail = file.read()
    position = tail.rfind(b"PK\x05\x06")
    if position < 0 or len(tail) - position < _ZIP_END.size:
        raise Invalid(_DAMAGED, field="file")
    _, _, _, _, count, directory, _, _ = _ZIP_END.unpack_from(tail, position)
    # Only archives larger than any limit here need the 64-bit format.
    is_64_bit = tail[max(0, position - _ZIP64_LOCATOR) : position].startswith(b"PK\x06\x07")
    if is_64_bit or count > MAX_MEMBERS or directory > _MAX_DIRECTORY:
        raise Invalid(_TOO_LARGE, field="file")


def _unpacked_members(archive: ZipFile) -> Iterator[tuple[str, Path]]:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise Invalid(_TOO_LARGE, field="file")
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise Invalid(_PROTECTED, field="file")
    remaining = MAX_UNPACKED
    for member in members:
        if not _may_be_export(archive, member):
            continue
        with tempfile.NamedTemporaryFile(prefix="reedbed-", suffix=".import") as copy:
            remaining -= _copy(archive, member, copy.file, remaining)
            yield clean_line(member.filename.rpartition("/")[2])[:_MAX_NAME_LENGTH], Path(copy.name)


def _may_be_export(archive: ZipFile, member: ZipInfo) -> bool:
    if member.is_dir() or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return False
    if _SKIPPED_NAME.search(member.filename):
        return False
    with archive.open(member) as file:
        return _EXPORT_START.match(file.read(200)) is not None


def _copy(archive: ZipFile, member: ZipInfo, copy: IO[bytes], limit: int) -> int:
    copied = 0
    with archive.open(member) as file:
        while chunk := file.read(_CHUNK):
            copied += len(chunk)
            if copied > limit:
                raise Invalid(_TOO_LARGE, field="file")
            copy.write(chunk)
    copy.flush()
    return copied

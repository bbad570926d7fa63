"""Pictures handed on, kept as files for a while. What cannot be kept is only slower."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import structlog

log = structlog.get_logger()

_ROOM_AFTER_TRIMMING = 0.8


class ImageCache:
    """Blocking: call it in a thread. Several processes may share a folder."""

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._held: int | None = None

    def get(self, url: str) -> bytes | None:
        path = self._path(url)
        try:
            data = path.read_bytes()
            os.utime(path)  # the least lately shown go first
        except OSError:
            return None
        return data

    def put(self, url: str, data: bytes) -> None:
        path = self._path(url)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.part")
            draft.write_bytes(data)
            draft.replace(path)
        except OSError as error:
            log.warning("a picture could not be kept", folder=str(self._folder), error=error.strerror)
            return
        self._held = (self._sum() if self._held is None else self._held) + len(data)
        if self._held > self._max_bytes:
            self._held = self._trim()

    def _trim(self) -> int:
        held = self._sum()
        for path, size in sorted(self._files(), key=lambda file: _last_shown(file[0])):
            if held <= self._max_bytes * _ROOM_AFTER_TRIMMING:
                break
            with suppress(OSError):
                path.unlink()
                held -= size
        return held

    def _sum(self) -> int:
        return sum(size for _, size in self._files())

    def _files(self) -> list[tuple[Path, int]]:
        found: list[tuple[Path, int]] = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                found.append((path, path.stat().st_size))
        return found

    def _path(self, url: str) -> Path:
        name = sha256(url.encode("utf-8", "replace")).hexdigest()
        return self._folder / name[:2] / name


def _last_shown(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0

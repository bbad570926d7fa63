"""Pictures kept as files: found again, bounded, and never in the way."""

import os
from pathlib import Path

from reedbed.ingest.images import ImageCache


def test_a_picture_is_found_again(tmp_path: Path) -> None:
    cache = ImageCache(tmp_path, max_bytes=10_000)
    cache.put("https://a.example/1.png", b"one")
    assert cache.get("https://a.example/1.png") == b"one"
    assert cache.get("https://a.example/2.png") is None


def test_the_least_lately_shown_go_first(tmp_path: Path) -> None:
    cache = ImageCache(tmp_path, max_bytes=1000)
    for number in range(4):
        cache.put(str(number), bytes(200))
        for path in tmp_path.glob("*/*"):
            os.utime(path, (path.stat().st_atime - 10, path.stat().st_mtime - 10))
    cache.get("0")
    cache.put("large", bytes(400))
    assert cache.get("0") is not None
    assert cache.get("large") is not None
    assert cache.get("1") is None
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= 1000


def test_a_folder_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = ImageCache(blocked, max_bytes=1000)
    cache.put("https://a.example/1.png", b"one")
    assert cache.get("https://a.example/1.png") is None

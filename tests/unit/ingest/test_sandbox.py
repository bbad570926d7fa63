"""A child process that floods its output or says nothing is ended in time."""

import time
from pathlib import Path

import pytest

from reedbed.ingest.sandbox import Sandbox

FLOOD = "import sys\nwhile True:\n    sys.stdout.buffer.write(bytes(65536))\n"
SILENT = "import time\ntime.sleep(60)\n"
DEAF = "import sys, time\nsys.stdout.buffer.write(bytes(300_000))\nsys.stdout.flush()\ntime.sleep(60)\n"
ECHO = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"


@pytest.mark.parametrize(
    ("program", "request_size"), [(FLOOD, 10), (SILENT, 10), (DEAF, 5_000_000)], ids=["flood", "silent", "deaf"]
)
async def test_what_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, request_size: int
) -> None:
    (tmp_path / "one_child.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    began = time.monotonic()
    assert await Sandbox("one_child", timeout=0.7).ask(bytes(request_size)) == b""
    assert time.monotonic() - began < 10


async def test_a_child_that_answers_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one_child.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert await Sandbox("one_child", timeout=30).ask(b"heron", b"s") == b"herons"

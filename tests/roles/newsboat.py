"""newsboat in its FreshRSS or FeedHQ mode, on a terminal of its own."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

ROWS, COLUMNS = 24, 100
_CONTROLS = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


@dataclass
class Newsboat:
    program: str
    directory: Path
    mode: str = "freshrss"

    def configure(self, url: str, login: str, password: str) -> None:
        (self.directory / "config").write_text(
            f'urls-source "{self.mode}"\n'
            f'{self.mode}-url "{url}"\n{self.mode}-login "{login}"\n{self.mode}-password "{password}"\n'
            f'{self.mode}-flag-star "s"\n{self.mode}-min-items 100\n{self.mode}-show-special-feeds no\n'
            "show-read-feeds yes\nshow-read-articles yes\nrefresh-on-startup no\n"
            "confirm-mark-feed-read no\n"
        )

    def execute(self, *commands: str) -> str:
        """Run without a terminal; what it prints."""
        ran = subprocess.run(
            [*self._command(), "-x", *commands],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    @contextmanager
    def on_a_terminal(self) -> Iterator["Screen"]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(
            self._command(), env=self._environment(), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        try:
            yield Screen(ours)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()
            os.close(ours)

    def _command(self) -> list[str]:
        place = self.directory
        return [self.program, "-C", str(place / "config"), "-c", str(place / "cache.db")]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.directory), "TERM": "linux", "LC_ALL": "C.UTF-8"}


@dataclass
class Screen:
    """What the terminal shows, read all the while: a program whose screen nobody reads stands still."""

    terminal: int
    text: str = field(default="")

    def __post_init__(self) -> None:
        Thread(target=self._read, daemon=True).start()

    def press(self, keys: str) -> None:
        self.text = ""
        os.write(self.terminal, keys.encode())

    def wait_for(self, words: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < deadline, f"{words!r} never came; the screen said {self.text[-2_000:]!r}"
            time.sleep(0.02)

    def _read(self) -> None:
        with suppress(OSError):  # the terminal was closed
            while raw := os.read(self.terminal, 65_536):
                self.text += _CONTROLS.sub("", raw.decode("utf-8", "replace"))

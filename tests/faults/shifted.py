"""The program with a clock that is off by what a file says, in milliseconds: `shifted.py FILE ARGUMENTS…`."""

import sys
from pathlib import Path

from reedbed.cli import main
from reedbed.domain.times import Instant
from reedbed.roles import build

_real = build.system_clock
_file = Path(sys.argv.pop(1))


def shifted() -> Instant:
    return _real() + int(_file.read_text())


if __name__ == "__main__":
    build.system_clock = shifted
    sys.exit(main())

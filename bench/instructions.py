"""Instructions of a first crawl, against `reader`, counted by valgrind.

CPU seconds swing by a third with what else a machine has to do, even with what its neighbours do.
Instructions hardly do. Both programs crawl a small and a larger site; the difference is what more feeds take,
without what it takes to start.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.crawl import site
from bench.table import record

DESCRIPTION = "Instructions of a crawl, against reader, by valgrind: the same on any day."

FEW, MANY = 20, 60
_HERE = Path(__file__).parents[1]
_COUNTED = re.compile(r"I +refs: +([0-9,]+)")


def main() -> None:
    if shutil.which("valgrind") is None:
        print("There is no valgrind here (`apt install valgrind`), so nothing is counted.")
        return
    ours, theirs = (_per_feed(name) for name in ("crawl_with_reedbed", "crawl_with_reader"))
    record("instructions, one feed", ours / 1e6, "M", compared_to="reader", other=theirs / 1e6)


def _per_feed(program: str) -> float:
    return (_counted(program, MANY) - _counted(program, FEW)) / (MANY - FEW)


def _counted(program: str, feeds: int) -> int:
    with site(feeds) as url:
        call = f"from bench.crawl import {program}; {program}({url!r}, ('first',))"
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run(
            [*command, sys.executable, "-c", call],
            cwd=_HERE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    counted = _COUNTED.search(done.stderr)
    assert counted is not None, done.stderr
    return int(counted[1].replace(",", ""))

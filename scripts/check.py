"""Run every check, the slow ones side by side, and show the output of those that complain."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
CHECKS = {
    "types": ["pyright"],
    "imports": ["lint-imports", "--no-logo"],
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
}


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    name: str
    passed: bool
    seconds: float
    output: str


def main() -> int:
    with ThreadPoolExecutor(max_workers=2) as pool:
        verdicts = list(pool.map(_run, CHECKS))
    for verdict in verdicts:
        _show(verdict)
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _run(name: str) -> MatchOutcome:
    program, *arguments = CHECKS[name]
    started = time.monotonic()
    done = subprocess.run(
        [str(BIN / program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return MatchOutcome(name, done.returncode == 0, time.monotonic() - started, done.stdout)


def _show(verdict: MatchOutcome) -> None:
    word = "ok" if verdict.passed else "FAILED"
    print(f"{verdict.name:<8} {word:<7} {verdict.seconds:5.1f} s")
    if not verdict.passed:
        print(verdict.output)


if __name__ == "__main__":
    sys.exit(main())

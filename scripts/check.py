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
class CheckResult:
    name: str
    passed: bool
    seconds: float
    output: str


def main() -> int:
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(_run, CHECKS))
    for result in results:
        _show(result)
    return 0 if all(result.passed for result in results) else 1


def _run(name: str) -> CheckResult:
    program, *arguments = CHECKS[name]
    started = time.monotonic()
    done = subprocess.run(
        [str(BIN / program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return CheckResult(name, done.returncode == 0, time.monotonic() - started, done.stdout)


def _show(result: CheckResult) -> None:
    word = "ok" if result.passed else "FAILED"
    print(f"{result.name:<8} {word:<7} {result.seconds:5.1f} s")
    if not result.passed:
        print(result.output)


if __name__ == "__main__":
    sys.exit(main())

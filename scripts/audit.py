"""Ask the package registries about known holes in what is locked.

Exit code 1: a hole is known. Exit code 2: a registry could not be asked, so nothing was proved.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
UV = str(Path(sys.executable).parent / "uv")
HOLES, UNPROVED = 1, 2
LOCKS = ["run.txt", "extras.txt", "test.txt", "build.txt", "uv.txt"]


def main() -> int:
    verdicts = [_audit_python(), _audit_front_end()]
    if UNPROVED in verdicts:
        print("A registry did not answer, so nothing is proved for what it was not asked about.")
    return HOLES if HOLES in verdicts else max(verdicts)


def _audit_python() -> int:
    report = _ask_pip_audit()
    if report is None:
        print("python: the registry could not be asked")
        return UNPROVED
    packages = {package["name"]: package for package in report["dependencies"]}
    holes = [package for package in packages.values() if package.get("vulns")]
    unknown = [package for package in packages.values() if "skip_reason" in package]
    for package in holes:
        for hole in package["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {hole['id']}, fixed in {fixed}")
    print(f"python: {len(packages)} packages, {len(holes)} with holes, {len(unknown)} unknown to the registry")
    return HOLES if holes else UNPROVED if unknown else 0


def _ask_pip_audit() -> dict[str, Any] | None:
    command = [UV, "run", "--quiet", "--no-project", "--with-requirements", "requirements/audit.txt", "pip-audit"]
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    locks = [argument for name in LOCKS for argument in ("-r", f"requirements/{name}")]
    return _json_of([*command, *options, *locks], ROOT)


def _audit_front_end() -> int:
    report = _json_of(["sh", "scripts/npm.sh", UV, "audit", "--json"], ROOT)
    if report is None or "metadata" not in report:
        print("front end: the registry could not be asked")
        return UNPROVED
    holes = report["metadata"]["vulnerabilities"]["total"]
    for name, hole in report.get("vulnerabilities", {}).items():
        print(f"{name}: {hole['severity']}, versions {hole['range']}")
    print(f"front end: {holes} holes")
    return HOLES if holes else 0


def _json_of(command: list[str], directory: Path) -> dict[str, Any] | None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        print(done.stderr, file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())

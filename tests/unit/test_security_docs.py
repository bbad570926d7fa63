"""The threat model names its tests; a test that is renamed or gone takes its promise with it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`((?:tests|scripts)/[\w/]+\.py)(?:::(\w+))?`")
DOCUMENT = (ROOT / "docs" / "security.md").read_text()


def test_every_threat_names_a_test() -> None:
    table = DOCUMENT.partition("| threat |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("|--")]
    assert len(rows) >= 40
    assert [row for row in rows if not NAMED.search(row)] == []


def test_every_named_test_is_there() -> None:
    found = NAMED.findall(DOCUMENT)
    assert found
    assert [f"{path}::{name}" for path, name in found if not _is_there(path, name)] == []


def _is_there(path: str, name: str) -> bool:
    file = ROOT / path
    return file.exists() and (not name or re.search(rf"^(?:async )?def {name}\(", file.read_text(), re.M) is not None)

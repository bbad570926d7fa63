"""Each request that the documentation calls met names a test that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\| (\d+) \| .+ \| (?:`(test_\w+)` in `(tests/[\w/]+\.py)`|–) \|")


def test_each_request_that_is_met_names_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "coming-from.md").read_text("utf-8")
    rows = [row for line in page.splitlines() if (row := ROW.fullmatch(line))]
    assert [int(row[1]) for row in rows] == list(range(1, 41))
    met = [(row[2], row[3]) for row in rows if row[2]]
    missing = [name for name, file in met if f"def {name}(" not in (ROOT / file).read_text("utf-8")]
    assert missing == []
    assert len(met) >= 39

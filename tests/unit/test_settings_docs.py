"""A setting nobody can look up does not exist for the people who run Reedbed."""

import re
from pathlib import Path

import pytest

from reedbed.settings import Settings

DOCUMENTED = Path(__file__).parents[2] / "docs/settings.md"


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_a_setting_is_documented(name: str) -> None:
    assert f"`REEDBED_{name.upper()}`" in DOCUMENTED.read_text()


def test_no_setting_is_documented_that_does_not_exist() -> None:
    documented = set(re.findall(r"`REEDBED_([A-Z0-9_]+)`", DOCUMENTED.read_text()))
    assert documented - {name.upper() for name in Settings.model_fields} == set()

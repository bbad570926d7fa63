"""Whatever is written into the event log can be told in words."""

import ast
from pathlib import Path

from reedbed.services.mcp import CALL
from reedbed.web.users import WORDS, event_words

SERVICES = Path(__file__).parents[2] / "src" / "reedbed" / "services"
NOTING = ("users.record_event",)
BY_NAME = {CALL, "user_registered", "register_again"}


def test_every_kind_of_event_has_words_and_none_is_left_over() -> None:
    noted = {kind for path in SERVICES.rglob("*.py") for kind in _noted_in(path)}
    assert len(noted) > 20
    assert noted | BY_NAME == set(WORDS)


def test_a_kind_from_another_version_is_still_shown() -> None:
    assert event_words("user_promoted_twice") == "user promoted twice"


def _noted_in(path: Path) -> set[str]:
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {
        call.args[2].value
        for call in calls
        if ast.unparse(call.func) in NOTING and isinstance(call.args[2], ast.Constant)
    }

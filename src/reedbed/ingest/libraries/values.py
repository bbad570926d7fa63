"""Values of a foreign document: what they should be, or nothing."""

from collections.abc import Mapping
from typing import Any, cast

from reedbed.domain.libraries import LONGEST_TEXT


def text(value: Any) -> str:
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}

"""Reads the keys of a table in a file one by one, and collects what is wrong instead of stopping at the first."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from reedbed.domain.errors import Invalid

Fields = Mapping[str, Any]


class FileTable:
    def __init__(self, fields: Fields, problems: list[Invalid], path: str = "") -> None:
        self._fields, self.problems, self._path = fields, problems, path
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    def text(self, key: str, *, limit: int = 200, required: bool = False, pattern: str = "", example: str = "") -> str:
        """Empty if it is missing or wrong."""
        value = self._get(key, required=required)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > limit or not value.strip() or not _is_printable(value):
            return self.wrong(key, Invalid("This must be a text of at most %(limit)s characters.", limit=limit))
        if pattern and not re.fullmatch(pattern, value):
            return self.wrong(key, Invalid("This must look like %(example)s.", example=example))
        return value.strip()

    def choice(self, key: str, choices: Sequence[str], *, required: bool = False) -> str:
        """Empty if it is missing or wrong."""
        value = self._get(key, required=required)
        if value is None:
            return ""
        if value not in choices:
            return self.wrong(key, Invalid("Choose one of: %(choices)s.", choices=", ".join(choices)))
        return cast(str, value)

    def flag(self, key: str, *, otherwise: bool) -> bool:
        value = self._get(key)
        if value is not None and not isinstance(value, bool):
            self.wrong(key, Invalid("This must be true or false."))
            return otherwise
        return otherwise if value is None else value

    def number(self, key: str, least: float, most: float, *, otherwise: float) -> float:
        value = self._get(key)
        if value is None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            self.wrong(
                key, Invalid("This must be a number from %(least)s to %(most)s.", least=f"{least:g}", most=f"{most:g}")
            )
            return otherwise
        return value

    def texts(self, key: str, *, most: int, limit: int = 200, required: bool = False) -> tuple[str, ...]:
        value = self._get(key, required=required)
        if value is None:
            return ()
        items = cast("list[Any]", value) if isinstance(value, list) else []
        are_texts = all(isinstance(item, str) and item.strip() and len(item) <= limit for item in items)
        if not items or len(items) > most or not are_texts:
            self.wrong(key, Invalid("This must be a list of 1 to %(most)s texts.", most=most))
            return ()
        return tuple(" ".join(item.split()) for item in items)

    def numbers(self, key: str, least: int, largest: int, *, most: int) -> tuple[int, ...]:
        value = self._get(key)
        if value is None:
            return ()
        items = cast("list[Any]", value) if isinstance(value, list) else []
        if not 1 <= len(items) <= most or not all(type(item) is int and least <= item <= largest for item in items):
            self.wrong(
                key, Invalid("This must be a list of numbers from %(least)s to %(most)s.", least=least, most=largest)
            )
            return ()
        return tuple(items)

    def table(self, key: str) -> "FileTable":
        """Empty if it is missing or wrong."""
        value = self._get(key)
        if value is not None and not isinstance(value, dict):
            self.wrong(key, Invalid("This must be a table: [%(name)s].", name=self.key(key)))
            value = None
        return FileTable(cast(Fields, value or {}), self.problems, self.key(key))

    def tables(self, key: str, *, most: int, required: bool = False) -> list["FileTable"]:
        value = self._get(key, required=required)
        if value is None:
            return []
        items = cast("list[Any]", value) if isinstance(value, list) else []
        if not items or len(items) > most or not all(isinstance(item, dict) for item in items):
            self.wrong(key, Invalid("This must be 1 to %(most)s tables: [[%(name)s]].", most=most, name=self.key(key)))
            return []
        return [
            FileTable(cast(Fields, item), self.problems, f"{self.key(key)}[{number}]")
            for number, item in enumerate(items, 1)
        ]

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        """A table with keys of its author's choice."""
        value = self._get(key)
        if value is not None and not isinstance(value, dict):
            self.wrong(key, Invalid("This must be a table: [%(name)s].", name=self.key(key)))
            return None
        return cast("Mapping[str, Any] | None", value)

    def end(self) -> None:
        """Call after all keys were read: any that is left is wrong."""
        for name in self._fields:
            if name not in self._known:
                choices = ", ".join(self._known)
                self.wrong(name, Invalid("There is no such key here. There are: %(choices)s.", choices=choices))

    def wrong(self, key: str, error: Invalid) -> str:
        error.field = self.key(key)
        self.problems.append(error)
        return ""

    def key(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _get(self, key: str, *, required: bool = False) -> Any:
        self._known.append(key)
        if required and key not in self._fields:
            self.wrong(key, Invalid("This key is missing."))
        return self._fields.get(key)


def _is_printable(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)

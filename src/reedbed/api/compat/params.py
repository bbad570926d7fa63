"""Parameters as reader apps send them: in the query, in the body, in both, in any encoding of a form.

A name that stands in the body counts there alone. Names may be repeated, and every value is kept.
"""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from reedbed.domain.errors import Invalid

MOST_FIELDS = 50_000

Pairs = Iterable[tuple[str, str]]


class Params:
    __slots__ = ("_values",)

    def __init__(self, query: Pairs, body: Pairs = ()) -> None:
        self._values = {**_gathered(query), **_gathered(body)}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def one(self, name: str, default: str = "") -> str:
        """The last one given."""
        values = self._values.get(name)
        return values[-1] if values else default


def _gathered(pairs: Pairs) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        # PostgreSQL takes no text with this sign, and nobody means it.
        values.setdefault(name, []).append(value.replace("\0", ""))
    return values


def read_query(request: Request) -> Params:
    return Params(_pairs(request.scope["query_string"]))


async def read_params(request: Request) -> Params:
    query = _pairs(request.scope["query_string"])
    if request.method not in ("POST", "PUT"):
        return Params(query)
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return Params(query, await _multipart(request))
    return Params(query, _pairs(await request.body()))


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            encoded.strip().decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Invalid(f"There can be at most {MOST_FIELDS} parameters.") from None


async def _multipart(request: Request) -> list[tuple[str, str]]:
    try:
        async with request.form(max_fields=MOST_FIELDS, max_files=10) as form:
            return [(name, await _text(value)) for name, value in form.multi_items()]
    except HTTPException as error:
        raise Invalid(f"The form cannot be read: {error.detail}") from None


async def _text(value: UploadFile | str) -> str:
    return value if isinstance(value, str) else (await value.read()).decode("utf-8", "replace")

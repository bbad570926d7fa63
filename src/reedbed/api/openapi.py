"""The OpenAPI document: how callers prove who they are, and the errors of every door.

Errors are added to the finished document: declared at each route they would cost a validator each, some
hundreds of them at every start.
"""

import asyncio
from typing import Any

import orjson
from fastapi import FastAPI, Response
from pydantic import Field

from reedbed.http.auth import SESSION_COOKIE
from reedbed.http.models import ApiModel


class ErrorDetails(ApiModel):
    field: str | None = Field(None, description="The field that is wrong, when one is.", examples=["email"])


class ErrorRequest(ApiModel):
    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is nothing with this id."])
    details: ErrorDetails


class ErrorResponse(ApiModel):
    error: ErrorRequest


_WORDS = {
    "400": "Something sent is wrong; the message says what.",
    "401": "Nobody is logged in.",
    "403": "Known, and not allowed.",
    "404": "It is not there, or not yours.",
    "409": "It is there already, or something stands in the way.",
    "413": "More bytes than this door takes.",
    "429": "Too many requests; `Retry-After` says how many seconds to wait.",
    "503": "A part the program needs does not answer; try again later.",
    "default": "Anything unexpected.",
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}

ANSWERS: dict[str, dict[str, Any]] = {
    f"Error{status}": {
        "description": words,
        "content": _CONTENT,
        **({"headers": _RETRY} if status in ("429", "503") else {}),
    }
    for status, words in _WORDS.items()
}
REFERENCES = {status: {"$ref": f"#/components/responses/Error{status}"} for status in _WORDS}


def error_schemas() -> dict[str, Any]:
    whole = ErrorResponse.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**whole.pop("$defs"), "ErrorOut": whole}


ADDRESS = "/api/v1/openapi.json"

SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of a login, or an API token with scopes.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": "For our own pages; changes must come from the same origin or bring X-CSRF-Token.",
    },
}


def describe(app: FastAPI) -> None:
    build = app.openapi

    def described() -> dict[str, Any]:
        document = build()
        if "security" not in document:
            _complete(document)
        return document

    app.openapi = described
    document = _Document(app)
    app.add_api_route(ADDRESS, document.answer, include_in_schema=False)


class _Document:
    """Written once, and not by the loop: it takes a second of CPU, for which nobody else should wait."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._writing: asyncio.Future[bytes] | None = None

    async def answer(self) -> Response:
        if self._writing is None:
            self._writing = asyncio.ensure_future(asyncio.to_thread(self._write))
        return Response(await asyncio.shield(self._writing), media_type="application/json")

    def _write(self) -> bytes:
        return orjson.dumps(self._app.openapi())


def _complete(document: dict[str, Any]) -> None:
    document["security"] = [{"token": []}, {"session": []}]
    parts = document["components"]
    parts["securitySchemes"] = SCHEMES
    parts["responses"] = ANSWERS
    parts["schemas"].update(error_schemas())
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            # What the framework would answer to a malformed request, we answer with 400.
            operation["responses"].pop("422", None)
            operation["responses"] = {**REFERENCES, **operation["responses"]}

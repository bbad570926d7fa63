"""The OpenAPI document, with security schemes and the error responses of every route.

Errors are added to the finished document. Declared on each route, they would create hundreds of validators
at every start.
"""

import asyncio
from typing import Any

import orjson
from fastapi import FastAPI, Response
from pydantic import Field

from reedbed.http.auth import SESSION_COOKIE
from reedbed.http.models import ApiModel


class ErrorDetails(ApiModel):
    field: str | None = Field(None, description="The invalid field, if there is one.", examples=["email"])


class ErrorBody(ApiModel):
    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is nothing with this id."])
    details: ErrorDetails


class ErrorResponse(ApiModel):
    error: ErrorBody


_DESCRIPTIONS = {
    "400": "The request is invalid; the message says why.",
    "401": "Not logged in.",
    "403": "Logged in, but not allowed.",
    "404": "It does not exist or is not yours.",
    "409": "It already exists or conflicts with the current state.",
    "413": "The request body is too large.",
    "429": "Too many requests; `Retry-After` says how many seconds to wait.",
    "503": "A service that is needed does not respond; try again later.",
    "default": "Unexpected error.",
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}

ERROR_RESPONSES: dict[str, dict[str, Any]] = {
    f"Error{status}": {
        "description": description,
        "content": _CONTENT,
        **({"headers": _RETRY} if status in ("429", "503") else {}),
    }
    for status, description in _DESCRIPTIONS.items()
}
REFERENCES = {status: {"$ref": f"#/components/responses/Error{status}"} for status in _DESCRIPTIONS}


def error_schemas() -> dict[str, Any]:
    schema = ErrorResponse.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "ErrorOut": schema}


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
        "description": "For the web pages; changes must come from the same origin or send X-CSRF-Token.",
    },
}


def describe(app: FastAPI) -> None:
    build = app.openapi

    def described() -> dict[str, Any]:
        document = build()
        if "security" not in document:
            _add_security_and_errors(document)
        return document

    app.openapi = described
    document = _Document(app)
    app.add_api_route(ADDRESS, document.respond, include_in_schema=False)


class _Document:
    """Builds the document once, in a thread: it takes a second of CPU time and would block the event loop."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._content: asyncio.Future[bytes] | None = None

    async def respond(self) -> Response:
        if self._content is None:
            self._content = asyncio.ensure_future(asyncio.to_thread(self._build))
        return Response(await asyncio.shield(self._content), media_type="application/json")

    def _build(self) -> bytes:
        return orjson.dumps(self._app.openapi())


def _add_security_and_errors(document: dict[str, Any]) -> None:
    document["security"] = [{"token": []}, {"session": []}]
    components = document["components"]
    components["securitySchemes"] = SCHEMES
    components["responses"] = ERROR_RESPONSES
    components["schemas"].update(error_schemas())
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            # FastAPI documents 422 for malformed requests; we return 400.
            operation["responses"].pop("422", None)
            operation["responses"] = {**REFERENCES, **operation["responses"]}

"""The OpenAPI document: how callers prove who they are, and the errors of every door.

Errors are added to the finished document: declared at each route they would cost a validator each, some
hundreds of them at every start.
"""

from typing import Any

from fastapi import FastAPI

from reedbed.api.errors_out import ANSWERS, REFERENCES, error_schemas
from reedbed.http.cookies import SESSION_COOKIE

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

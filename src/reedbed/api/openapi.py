"""The OpenAPI document: how callers prove who they are."""

from typing import Any

from fastapi import FastAPI

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
        document["components"]["securitySchemes"] = SCHEMES
        document["security"] = [{"token": []}, {"session": []}]
        return document

    app.openapi = described

"""The page: server-rendered first, htmx after; every action is a plain form that works without a script."""

from fastapi import FastAPI

from reedbed.web import assets_out, doors, marking, reading


def register(app: FastAPI) -> None:
    """Put the page's doors on the application."""
    for part in (assets_out, doors, reading, marking):
        app.include_router(part.router)

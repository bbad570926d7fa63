"""JSON v1: everything the page can do, for programs."""

from fastapi import FastAPI

from reedbed.api import bookmarks, events, feeds, folders, health, highlights, opml, subscriptions


def register(app: FastAPI) -> None:
    """Put the API's doors on the application."""
    for part in (health, events, feeds, folders, subscriptions, opml, bookmarks, highlights):
        app.include_router(part.router)

"""Doors for reader apps: the Google Reader API and the Fever API, over the same services as the page."""

from fastapi import FastAPI

from reedbed.api.reader_apps import common as icons
from reedbed.api.reader_apps import fever, greader
from reedbed.api.reader_apps.common import EtagCache


def register(app: FastAPI) -> None:
    app.state.reader_etags = EtagCache()
    # Icons first: the other doors take every path below theirs.
    for part in (
        icons.router,
        fever.router,
        greader.router,
    ):
        app.include_router(part)

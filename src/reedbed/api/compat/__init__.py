"""Doors for reader apps: the Google Reader API and the Fever API, over the same services as the page."""

from fastapi import FastAPI

from reedbed.api.compat import fever, greader, icons
from reedbed.api.compat.answers import Stamps


def register(app: FastAPI) -> None:
    app.state.reader_stamps = Stamps()
    # Icons first: the other doors take every path below theirs.
    for part in (icons, fever, greader):
        app.include_router(part.router)

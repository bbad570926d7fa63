"""Google Reader and Fever APIs for reader apps."""

from fastapi import FastAPI

from reedbed.api.reader_apps import common, fever, greader
from reedbed.api.reader_apps.common import EtagCache


def register(app: FastAPI) -> None:
    app.state.reader_etags = EtagCache()
    # Icons first: the other routers match every path below their prefix.
    for router in (common.router, fever.router, greader.router):
        app.include_router(router)

"""All doors of the API."""

from fastapi import FastAPI

from reedbed.api import (
    ai,
    article_proxy,
    article_selectors,
    auth,
    bookmarks,
    cleanups,
    compat,
    counts,
    deframer,
    digests,
    entries,
    events,
    export,
    feeds,
    folders,
    framing,
    full_articles,
    highlights,
    images,
    imports,
    inbound,
    mcp,
    members,
    newsletters,
    operator_feeds,
    opml,
    published,
    published_feeds,
    pushes,
    questions,
    rules,
    saved_pages,
    searches,
    sharing,
    sign_in,
    status,
    stories,
    subscriptions,
    summaries,
    tags,
    tokens,
    undo,
    users,
    webhooks,
    websub,
)
from reedbed.api.openapi import describe
from reedbed.http import probes
from reedbed.http.limits import count_request
from reedbed.http.switchboard import put_before

PARTS = (
    summaries,
    digests,
    questions,
    stories,
    ai,
    article_proxy,
    article_selectors,
    status,
    auth,
    sign_in,
    users,
    tokens,
    events,
    feeds,
    folders,
    subscriptions,
    websub,
    opml,
    imports,
    entries,
    framing,
    full_articles,
    undo,
    counts,
    tags,
    bookmarks,
    highlights,
    rules,
    saved_pages,
    searches,
    published_feeds,
    published,
    newsletters,
    pushes,
    webhooks,
    sharing,
    export,
    members,
    operator_feeds,
    cleanups,
)


def register(app: FastAPI) -> None:
    """Put the API's doors on the application; each counts the requests of its callers."""
    # First, because routes are tried in turn and strangers knock here; it counts by address.
    app.include_router(deframer.router)
    for part in PARTS:
        app.include_router(part.router, dependencies=[count_request])
    app.include_router(probes.router)  # asks nobody who they are: it must answer when nobody can know
    app.include_router(websub.callbacks)
    app.include_router(inbound.router)
    app.include_router(images.router)  # a page may show more of them than a program may ask questions
    compat.register(app)
    mcp.register(app)
    describe(app)
    put_before(app.router)

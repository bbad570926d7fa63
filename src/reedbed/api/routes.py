"""All routers of the API."""

from fastapi import FastAPI

from reedbed.api import (
    ai,
    articles,
    auth,
    bookmarks,
    digests,
    entries,
    feeds,
    folders,
    framing,
    highlights,
    images,
    instance,
    live,
    mcp,
    newsletters,
    published_feeds,
    push,
    questions,
    read_state,
    reader_apps,
    retention,
    rules,
    search,
    sharing,
    sign_in,
    stories,
    subscriptions,
    summaries,
    tags,
    transfer,
    users,
    webhooks,
    websub,
)
from reedbed.api.openapi import describe
from reedbed.http import probes
from reedbed.http.dependencies import count_request
from reedbed.http.routing import install_route_index

ROUTERS = (
    summaries.router,
    digests.router,
    questions.router,
    stories.router,
    ai.router,
    articles.proxy_router,
    articles.selectors_router,
    instance.router,
    auth.router,
    sign_in.router,
    users.router,
    auth.tokens_router,
    live.router,
    feeds.router,
    folders.router,
    subscriptions.router,
    websub.router,
    transfer.router,
    transfer.imports_router,
    entries.router,
    framing.router,
    articles.router,
    read_state.router,
    read_state.counts_router,
    tags.router,
    bookmarks.router,
    highlights.router,
    rules.router,
    articles.saved_pages_router,
    search.router,
    published_feeds.settings_router,
    published_feeds.router,
    newsletters.router,
    push.router,
    webhooks.router,
    sharing.router,
    transfer.export_router,
    users.members_router,
    feeds.admin_router,
    retention.router,
)


def register(app: FastAPI) -> None:
    """Add the API routes to the application. Most count the requests of each caller."""
    # Callers are anonymous, so it counts requests by IP address.
    app.include_router(framing.public_router)
    for router in ROUTERS:
        app.include_router(router, dependencies=[count_request])
    app.include_router(probes.router)  # without a caller: must respond while the database is down
    app.include_router(websub.callbacks)
    app.include_router(newsletters.inbound_router)
    app.include_router(images.router)  # a page may show more images than the API's limit allows
    reader_apps.register(app)
    mcp.register(app)
    describe(app)
    install_route_index(app.router)

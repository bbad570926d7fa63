"""Register the routers of all pages."""

from fastapi import Depends, FastAPI

from reedbed.web import (
    ai,
    articles,
    assets,
    auth,
    bookmarks,
    digests,
    errors,
    folders,
    framing,
    highlights,
    instance,
    newsletters,
    published_feeds,
    push,
    questions,
    read_state,
    retention,
    rules,
    search,
    settings,
    sharing,
    sidebar,
    sign_in,
    stories,
    summaries,
    tokens,
    transfer,
    users,
    webhooks,
)
from reedbed.web.entries import routes as entries
from reedbed.web.feeds import add, admin
from reedbed.web.feeds import routes as feeds
from reedbed.web.i18n import choose_language

ROUTERS = (
    assets.router,
    errors.router,
    auth.router,
    sign_in.router,
    auth.account_router,
    entries.router,
    sidebar.router,
    search.router,
    read_state.router,
    articles.router,
    summaries.router,
    framing.router,
    digests.unsubscribe_router,
    digests.router,
    questions.router,
    stories.router,
    add.router,
    feeds.router,
    feeds.changes_router,
    articles.selectors_router,
    folders.router,
    transfer.router,
    transfer.imports_router,
    rules.router,
    articles.saved_pages_router,
    search.saved_router,
    bookmarks.router,
    highlights.router,
    entries.versions_router,
    settings.router,
    users.router,
    tokens.router,
    push.router,
    newsletters.router,
    published_feeds.router,
    webhooks.router,
    sharing.router,
    instance.router,
    instance.database_router,
    admin.router,
    users.admin_router,
    ai.router,
    retention.router,
)


def register(app: FastAPI) -> None:
    """Add the routes of the pages to the application."""
    translated = [Depends(choose_language)]
    for router in ROUTERS:
        app.include_router(router, dependencies=[] if router is assets.router else translated)

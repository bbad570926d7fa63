"""The page: server-rendered first, htmx after; every action is a plain form that works without a script."""

from fastapi import Depends, FastAPI

from reedbed.web import (
    account_doors,
    add,
    ai_admin,
    assets_out,
    bookmarks,
    cleanups,
    digests,
    doors,
    feed_changes,
    feeds,
    folders,
    framing,
    full_articles,
    highlights,
    imports,
    marking,
    offline,
    operator,
    opml,
    reading,
    rules,
    search_view,
    searches,
    settings,
    settings_account,
    settings_apps,
    settings_newsletters,
    settings_notifications,
    settings_published,
    settings_webhooks,
    sharing,
    sidebar_out,
    sign_in,
    stories,
    summaries,
    versions,
)
from reedbed.web.languages import choose_language

PARTS = (
    assets_out,
    offline,
    doors,
    sign_in,
    account_doors,
    reading,
    sidebar_out,
    search_view,
    marking,
    full_articles,
    summaries,
    framing,
    digests,
    stories,
    add,
    feeds,
    feed_changes,
    folders,
    opml,
    imports,
    rules,
    searches,
    bookmarks,
    highlights,
    versions,
    settings,
    settings_account,
    settings_apps,
    settings_notifications,
    settings_newsletters,
    settings_published,
    settings_webhooks,
    sharing,
    operator,
    ai_admin,
    cleanups,
)


def register(app: FastAPI) -> None:
    """Put the page's doors on the application."""
    speaking = [Depends(choose_language)]
    for part in PARTS:
        app.include_router(part.router, dependencies=[] if part is assets_out else speaking)

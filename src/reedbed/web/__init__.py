"""The page: server-rendered first, htmx after; every action is a plain form that works without a script."""

from fastapi import FastAPI

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
    settings_notifications,
    settings_published,
    settings_webhooks,
    sidebar_out,
    sign_in,
    summaries,
    versions,
)

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
    add,
    feeds,
    feed_changes,
    folders,
    opml,
    rules,
    searches,
    bookmarks,
    highlights,
    versions,
    settings,
    settings_account,
    settings_apps,
    settings_notifications,
    settings_published,
    settings_webhooks,
    operator,
    ai_admin,
    cleanups,
)


def register(app: FastAPI) -> None:
    """Put the page's doors on the application."""
    for part in PARTS:
        app.include_router(part.router)

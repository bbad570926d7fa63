"""The routers of all pages, with the starts of their paths."""

from fastapi import Depends

from reedbed.http.routing import RouterName
from reedbed.web.pages import choose_language

_TRANSLATED = (Depends(choose_language),)

ROUTERS = (
    RouterName("reedbed.web.assets:router", ("assets", "manifest.webmanifest", "sw.js")),
    RouterName("reedbed.web.errors:router", ("offline",), _TRANSLATED),
    RouterName("reedbed.web.auth:router", ("", "login", "logout", "setup"), _TRANSLATED),
    RouterName("reedbed.web.confirmation:router", ("confirm",), _TRANSLATED),
    RouterName("reedbed.web.sign_in:router", ("login", "settings"), _TRANSLATED),
    RouterName("reedbed.web.auth:account_router", ("forgot", "register", "reset", "verify"), _TRANSLATED),
    RouterName(
        "reedbed.web.entries.routes:router",
        ("all", "entry", "feed", "folder", "history", "later", "starred", "tag", "unread"),
        _TRANSLATED,
    ),
    RouterName("reedbed.web.entries.settings:router", ("list-settings",), _TRANSLATED),
    RouterName("reedbed.web.sidebar:router", ("sidebar",), _TRANSLATED),
    RouterName("reedbed.web.search:router", ("saved", "search"), _TRANSLATED),
    RouterName("reedbed.web.read_state:router", ("entry", "mark-read", "refresh", "undo"), _TRANSLATED),
    RouterName("reedbed.web.articles:router", ("entry",), _TRANSLATED),
    RouterName("reedbed.web.summaries:router", ("entry",), _TRANSLATED),
    RouterName("reedbed.web.framing:router", ("entry", "feeds", "settings"), _TRANSLATED),
    RouterName("reedbed.web.digests:unsubscribe_router", ("digests",), _TRANSLATED),
    RouterName("reedbed.web.digests:router", ("digests", "summaries"), _TRANSLATED),
    RouterName("reedbed.web.questions:router", ("ask",), _TRANSLATED),
    RouterName("reedbed.web.stories:router", ("stories",), _TRANSLATED),
    RouterName("reedbed.web.feeds.add:router", ("add",), _TRANSLATED),
    RouterName("reedbed.web.page_feeds:router", ("make-a-feed",), _TRANSLATED),
    RouterName("reedbed.web.feeds.routes:router", ("dashboard", "feeds"), _TRANSLATED),
    RouterName("reedbed.web.feeds.routes:changes_router", ("feeds",), _TRANSLATED),
    RouterName("reedbed.web.articles:selectors_router", ("feeds",), _TRANSLATED),
    RouterName("reedbed.web.folders:router", ("folders",), _TRANSLATED),
    RouterName("reedbed.web.transfer:router", ("opml",), _TRANSLATED),
    RouterName("reedbed.web.transfer:imports_router", ("import",), _TRANSLATED),
    RouterName("reedbed.web.rules:router", ("rules",), _TRANSLATED),
    RouterName("reedbed.web.images:router", ("icons.css",)),
    RouterName("reedbed.web.articles:player_router", ("player",), _TRANSLATED),
    RouterName("reedbed.web.articles:saved_pages_router", ("saved-pages",), _TRANSLATED),
    RouterName("reedbed.web.search:saved_router", ("searches",), _TRANSLATED),
    RouterName("reedbed.web.bookmarks:router", ("bookmarks", "entry"), _TRANSLATED),
    RouterName("reedbed.web.highlights:router", ("entry", "highlights"), _TRANSLATED),
    RouterName("reedbed.web.entries.routes:versions_router", ("entry",), _TRANSLATED),
    RouterName("reedbed.web.settings:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.users:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.security:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.tokens:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.push:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.newsletters:router", ("newsletters", "settings"), _TRANSLATED),
    RouterName("reedbed.web.published_feeds:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.webhooks:router", ("settings",), _TRANSLATED),
    RouterName("reedbed.web.sharing:router", ("entry", "settings"), _TRANSLATED),
    RouterName("reedbed.web.instance:router", ("admin",), _TRANSLATED),
    RouterName("reedbed.web.instance:database_router", ("admin",), _TRANSLATED),
    RouterName("reedbed.web.feeds.admin:router", ("admin",), _TRANSLATED),
    RouterName("reedbed.web.users:admin_router", ("admin",), _TRANSLATED),
    RouterName("reedbed.web.ai:router", ("admin",), _TRANSLATED),
    RouterName("reedbed.web.retention:router", ("admin", "cleanup-notice"), _TRANSLATED),
)

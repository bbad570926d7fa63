"""The routers of the API, with the starts of their paths. Most count the requests of each caller."""

from reedbed.http.dependencies import count_request
from reedbed.http.routing import RouterName

_COUNTED = (count_request,)

ROUTERS = (
    # Callers are anonymous, so it counts requests by IP address.
    RouterName("reedbed.api.framing:public_router", ("api/item", "api/site", "rss")),
    RouterName("reedbed.api.summaries:router", ("api/v1/entries",), _COUNTED),
    RouterName("reedbed.api.translations:router", ("api/v1/entries", "api/v1/subscriptions"), _COUNTED),
    RouterName("reedbed.api.digests:router", ("api/v1/digests",), _COUNTED),
    RouterName("reedbed.api.questions:router", ("api/v1/questions",), _COUNTED),
    RouterName("reedbed.api.stories:router", ("api/v1/stories",), _COUNTED),
    RouterName("reedbed.api.ai:router", ("api/v1/admin",), _COUNTED),
    RouterName("reedbed.api.articles:proxy_router", ("api/proxy",), _COUNTED),
    RouterName("reedbed.api.articles:selectors_router", ("api/v1/subscriptions",), _COUNTED),
    RouterName("reedbed.api.instance:router", ("api/v1/status",), _COUNTED),
    RouterName("reedbed.api.auth:router", ("api/v1/auth",), _COUNTED),
    RouterName("reedbed.api.confirmation:router", ("api/v1/auth",), _COUNTED),
    RouterName("reedbed.api.sign_in:router", ("api/v1/auth", "api/v1/users"), _COUNTED),
    RouterName("reedbed.api.users:router", ("api/v1/users",), _COUNTED),
    RouterName("reedbed.api.passkeys:login_router", ("api/v1/auth",), _COUNTED),
    RouterName("reedbed.api.passkeys:router", ("api/v1/users",), _COUNTED),
    RouterName("reedbed.api.codes:router", ("api/v1/users",), _COUNTED),
    RouterName("reedbed.api.auth:tokens_router", ("api/v1/users",), _COUNTED),
    RouterName("reedbed.api.live:router", ("api/v1/events",), _COUNTED),
    RouterName("reedbed.api.feeds:router", ("api/v1/feeds", "icons"), _COUNTED),
    RouterName("reedbed.api.page_feeds:router", ("api/v1/page-feeds",), _COUNTED),
    RouterName("reedbed.api.folders:router", ("api/v1/folders",), _COUNTED),
    RouterName("reedbed.api.subscriptions:router", ("api/v1/subscriptions",), _COUNTED),
    RouterName("reedbed.api.websub:router", ("api/v1/subscriptions",), _COUNTED),
    RouterName("reedbed.api.transfer:router", ("api/v1/opml",), _COUNTED),
    RouterName("reedbed.api.transfer:imports_router", ("api/v1/import",), _COUNTED),
    RouterName("reedbed.api.entries:router", ("api/v1/entries",), _COUNTED),
    RouterName("reedbed.api.entries:settings_router", ("api/v1/list-settings",), _COUNTED),
    RouterName("reedbed.api.framing:router", ("api/v1/entries", "api/v1/framing", "api/v1/subscriptions"), _COUNTED),
    RouterName("reedbed.api.articles:router", ("api/v1/entries",), _COUNTED),
    RouterName("reedbed.api.read_state:router", ("api/v1/undo",), _COUNTED),
    RouterName("reedbed.api.read_state:counts_router", ("api/v1/counts",), _COUNTED),
    RouterName("reedbed.api.tags:router", ("api/v1/tags",), _COUNTED),
    RouterName("reedbed.api.bookmarks:router", ("api/v1/bookmarks",), _COUNTED),
    RouterName("reedbed.api.books:router", ("api/v1/books",), _COUNTED),
    RouterName("reedbed.api.highlights:router", ("api/v1/highlights",), _COUNTED),
    RouterName("reedbed.api.interest:router", ("api/v1/interest",), _COUNTED),
    RouterName("reedbed.api.playback:router", ("api/v1/playback",), _COUNTED),
    RouterName("reedbed.api.listening:router", ("api/v1/listening",), _COUNTED),
    RouterName("reedbed.api.listening:podcast_router", ("podcast",), _COUNTED),
    RouterName("reedbed.api.rules:router", ("api/v1/rules",), _COUNTED),
    RouterName("reedbed.api.articles:saved_pages_router", ("api/v1/saved-pages",), _COUNTED),
    RouterName("reedbed.api.search:router", ("api/v1/searches",), _COUNTED),
    RouterName("reedbed.api.published_feeds:settings_router", ("api/v1/published-feeds",), _COUNTED),
    RouterName("reedbed.api.shared_stories:router", ("api/v1/shared-stories",), _COUNTED),
    RouterName("reedbed.api.published_feeds:router", ("published",), _COUNTED),
    RouterName("reedbed.api.newsletters:router", ("api/v1/newsletters",), _COUNTED),
    RouterName("reedbed.api.push:router", ("api/v1/push",), _COUNTED),
    RouterName("reedbed.api.webhooks:router", ("api/v1/webhooks",), _COUNTED),
    RouterName(
        "reedbed.api.sharing:router", ("api/v1/entries", "api/v1/share-services", "api/v1/share-targets"), _COUNTED
    ),
    RouterName("reedbed.api.transfer:export_router", ("api/v1/export",), _COUNTED),
    RouterName("reedbed.api.users:members_router", ("api/v1/admin",), _COUNTED),
    RouterName("reedbed.api.feeds:admin_router", ("api/v1/admin",), _COUNTED),
    RouterName("reedbed.api.retention:router", ("api/v1/admin", "api/v1/cleanup-notice"), _COUNTED),
    # Without a caller: must respond while the database is down.
    RouterName("reedbed.http.probes:router", ("healthz", "metrics", "readyz")),
    RouterName("reedbed.api.websub:callbacks", ("websub",)),
    RouterName("reedbed.api.newsletters:inbound_router", ("inbound",)),
    # A page may show more images than the API's limit allows.
    RouterName("reedbed.api.images:router", ("images",)),
    # Icons first: the other routers match every path below their prefix.
    RouterName("reedbed.api.reader_apps.common:router", ("greader",)),
    RouterName("reedbed.api.reader_apps.fever:router", ("api/fever.php", "fever", "fever.php")),
    RouterName("reedbed.api.reader_apps.greader:router", ("", "accounts", "api/greader.php", "greader", "reader")),
    RouterName("reedbed.api.reader_apps.gpodder:router", ("api/2", "clientconfig.json", "index.php", "subscriptions")),
    RouterName("reedbed.api.mcp.routes:router", ("mcp",)),
    RouterName("reedbed.api.openapi:router", ("api/v1/openapi.json",)),
)

"""Feed URLs of sites that follow a known pattern, derived from a page's URL without any request.

`known_feeds` returns feeds that the site guarantees; `likely_feeds` those that common self-hosted software
would serve, which must be tried; `feeds_in_page` those that can only be read from the page's HTML.
"""

import re
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, quote, urlsplit

from reedbed.domain.records import record
from reedbed.domain.subscriptions import FeedCandidate

_NAME = re.compile(r"[\w.~@-]{1,160}")
_CHANNEL = re.compile(r"UC[\w-]{22}")
_YOUTUBE_FEED = "https://www.youtube.com/feeds/videos.xml"
_CHANNEL_IN_PAGE = (
    re.compile(r'"externalId":"(UC[\w-]{22})"'),
    re.compile(r'itemprop="(?:channelId|identifier)" content="(UC[\w-]{22})"'),
    re.compile(r'href="https://www\.youtube\.com/channel/(UC[\w-]{22})"'),
    re.compile(r'"channelId":"(UC[\w-]{22})"'),
)
_PODCAST_IN_PAGE = re.compile(r'"feedUrl":"(https?:(?:[^"\\\s]|\\u002[Ff]|\\/){1,1000})"')
_SOUNDCLOUD_USER = re.compile(r"soundcloud://users:(\d{1,20})")

_GITHUB_PAGES = frozenset(
    {"about", "apps", "collections", "customer-stories", "enterprise", "events", "explore", "features", "login"}
    | {"marketplace", "new", "notifications", "orgs", "pricing", "search", "security", "settings", "site"}
    | {"signup", "sponsors", "stars", "team", "topics", "trending"}
)
_MEDIUM_PAGES = frozenset({"feed", "m", "me", "p", "tag", "search", "membership", "about", "plans"})
_VIMEO_PAGES = frozenset({"channels", "groups", "categories", "watch", "features", "upgrade", "search", "blog"})
_STACK_HOSTS = frozenset(
    {"stackoverflow.com", "serverfault.com", "superuser.com", "askubuntu.com", "mathoverflow.net", "stackapps.com"}
)


@record
class _Page:
    origin: str
    host: str
    """Lower case, without www."""
    parts: tuple[str, ...]
    """Non-empty segments of the path."""
    query: dict[str, list[str]]

    def part(self, index: int) -> str:
        part = "".join(self.parts[index : index + 1])
        return part if _NAME.fullmatch(part) else ""

    def param(self, name: str) -> str:
        value = self.query.get(name, [""])[0]
        return value if _NAME.fullmatch(value) else ""


def known_feeds(url: str) -> tuple[FeedCandidate, ...]:
    page = _page(url)
    if page is None:
        return ()
    site = _SITES.get(page.host) or next(
        (family for suffix, family in _SITE_FAMILIES if page.host.endswith(suffix)), None
    )
    return tuple(site(page)) if site else ()


def likely_feeds(url: str) -> tuple[FeedCandidate, ...]:
    """Mastodon and compatible servers, Lemmy, and PeerTube-like paths, which are the same on any host."""
    page = _page(url)
    if page is None or page.host in _SITES:
        return ()
    return tuple(_fediverse_feeds(page))


def feeds_in_page(url: str, html: str) -> tuple[FeedCandidate, ...]:
    page = _page(url)
    match page.host if page else "":
        case "youtube.com" | "youtu.be":
            matches = (pattern.search(html) for pattern in _CHANNEL_IN_PAGE)
            channel = next((match[1] for match in matches if match), None)
            return (_candidate(f"{_YOUTUBE_FEED}?channel_id={channel}", "Videos", "atom"),) if channel else ()
        case "podcasts.apple.com" | "itunes.apple.com":
            feed = _PODCAST_IN_PAGE.search(html)
            return (_candidate(re.sub(r"\\(?:u002[Ff]|/)", "/", feed[1]), "Podcast", "rss"),) if feed else ()
        case "soundcloud.com":
            user = _SOUNDCLOUD_USER.search(html)
            feed_url = "https://feeds.soundcloud.com/users/soundcloud:users:{}/sounds.rss"
            return (_candidate(feed_url.format(user[1]), "Sounds", "rss"),) if user else ()
        case _:
            return ()


def _page(url: str) -> _Page | None:
    try:
        split = urlsplit(url)
        host = (split.hostname or "").removeprefix("www.")
    except ValueError:
        return None
    if split.scheme not in ("http", "https") or not host:
        return None
    parts = tuple(part for part in split.path.split("/") if part)[:12]
    origin = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
    return _Page(origin, _HOST_ALIASES.get(host, host), parts, parse_qs(split.query[:1000], max_num_fields=20))


def _candidate(url: str, title: str, kind: str = "atom") -> FeedCandidate:
    return FeedCandidate(url, title, kind, "known")


def _youtube(page: _Page) -> Iterator[FeedCandidate]:
    if playlist := page.param("list"):
        yield _candidate(f"{_YOUTUBE_FEED}?playlist_id={playlist}", "Playlist")
    elif page.part(0) == "channel" and _CHANNEL.fullmatch(page.part(1)):
        yield _candidate(f"{_YOUTUBE_FEED}?channel_id={page.part(1)}", "Videos")
    elif page.part(0) == "user" and page.part(1):
        yield _candidate(f"{_YOUTUBE_FEED}?user={page.part(1)}", "Videos")


def _bluesky(page: _Page) -> Iterator[FeedCandidate]:
    handle = page.parts[1] if len(page.parts) > 1 else ""
    if page.part(0) == "profile" and len(page.parts) < 3 and re.fullmatch(r"[\w.:-]{3,253}", handle):
        yield _candidate(f"https://bsky.app/profile/{handle}/rss", handle, "rss")


def _reddit(page: _Page) -> Iterator[FeedCandidate]:
    if any(part.endswith(".rss") for part in page.parts) or page.part(0) in ("api", "login", "settings"):
        return
    path = "/".join(("user", *page.parts[1:]) if page.part(0) == "u" else page.parts)
    span = f"?t={page.param('t')}" if page.param("t") else ""
    feed_url = "https://www.reddit.com/" + (f"{quote(path)}/" if path else "") + ".rss" + span
    yield _candidate(feed_url, "/".join(page.parts[:2]) or "Reddit")


def _github(page: _Page) -> Iterator[FeedCandidate]:
    owner, repository = page.part(0), page.part(1).removesuffix(".git")
    if not re.fullmatch(r"[\w-]+", owner) or owner.lower() in _GITHUB_PAGES:
        return
    if not repository:
        yield _candidate(f"https://github.com/{owner}.atom", f"{owner}: activity")
        return
    base, name = f"https://github.com/{owner}/{repository}", f"{owner}/{repository}"
    branch = "/" + quote("/".join(page.parts[3:])) if len(page.parts) > 3 else ""
    feeds = {
        "releases": _candidate(f"{base}/releases.atom", f"{name}: releases"),
        "commits": _candidate(f"{base}/commits{branch if page.part(2) == 'commits' else ''}.atom", f"{name}: commits"),
        "tags": _candidate(f"{base}/tags.atom", f"{name}: tags"),
        "discussions": _candidate(f"{base}/discussions.atom", f"{name}: discussions"),
    }
    if page.part(2) in feeds:
        yield feeds[page.part(2)]
    elif len(page.parts) == 2 or page.part(2) in ("tree", "blob", "issues", "pulls", "wiki"):
        yield from (feeds["releases"], feeds["commits"], feeds["tags"])


def _gitlab(page: _Page) -> Iterator[FeedCandidate]:
    path = page.parts[: page.parts.index("-")] if "-" in page.parts else page.parts
    if not path or any("." in part for part in path[-1:]) or path[0] in ("explore", "users", "help", "search"):
        return
    base, name = f"https://gitlab.com/{quote('/'.join(path))}", "/".join(path)
    yield _candidate(f"{base}.atom", f"{name}: activity")
    if len(path) > 1:
        yield _candidate(f"{base}/-/tags?format=atom", f"{name}: tags")


def _medium(page: _Page) -> Iterator[FeedCandidate]:
    if page.part(0) and page.part(0) not in _MEDIUM_PAGES:
        yield _candidate(f"https://medium.com/feed/{page.part(0)}", page.part(0), "rss")
    elif page.part(0) == "tag" and page.part(1):
        yield _candidate(f"https://medium.com/feed/tag/{page.part(1)}", page.part(1), "rss")


def _tumblr(page: _Page) -> Iterator[FeedCandidate]:
    if re.fullmatch(r"[\w-]+", page.part(0)) and page.part(0) not in ("dashboard", "explore", "tagged", "search"):
        yield _candidate(f"https://{page.part(0)}.tumblr.com/rss", page.part(0), "rss")


def _vimeo(page: _Page) -> Iterator[FeedCandidate]:
    if page.part(0) in ("channels", "groups") and page.part(1):
        yield _candidate(f"https://vimeo.com/{page.part(0)}/{page.part(1)}/videos/rss", page.part(1), "rss")
    elif page.part(0) and not page.part(0).isdigit() and page.part(0) not in _VIMEO_PAGES:
        yield _candidate(f"https://vimeo.com/{page.part(0)}/videos/rss", page.part(0), "rss")


def _stack_exchange(page: _Page) -> Iterator[FeedCandidate]:
    tags = "".join(page.parts[2:3])
    if page.part(0) == "questions" and page.part(1) == "tagged" and tags:
        feed_url = f"https://{page.host}/feeds/tag?tagnames={quote(tags, safe='+%')}&sort=newest"
        yield _candidate(feed_url, f"{page.host}: {tags}")
    elif page.part(0) == "questions" and page.part(1).isdigit():
        yield _candidate(f"https://{page.host}/feeds/question/{page.part(1)}", f"{page.host}: one question")
    elif page.part(0) == "users" and page.part(1).isdigit():
        yield _candidate(f"https://{page.host}/feeds/user/{page.part(1)}", f"{page.host}: one user")
    elif page.part(0) in ("", "questions"):
        yield _candidate(f"https://{page.host}/feeds", page.host)


def _hacker_news(page: _Page) -> Iterator[FeedCandidate]:
    if page.part(0) in ("", "news", "newest"):
        yield _candidate("https://news.ycombinator.com/rss", "Hacker News", "rss")


def _lobsters(page: _Page) -> Iterator[FeedCandidate]:
    if page.part(0) == "t" and page.part(1) and not page.part(1).endswith(".rss"):
        yield _candidate(f"https://lobste.rs/t/{page.part(1)}.rss", f"Lobsters: {page.part(1)}", "rss")
    elif not page.parts:
        yield _candidate("https://lobste.rs/rss", "Lobsters", "rss")


def _dev_to(page: _Page) -> Iterator[FeedCandidate]:
    if page.part(0) == "t" and page.part(1):
        yield _candidate(f"https://dev.to/feed/tag/{page.part(1)}", page.part(1), "rss")
    elif page.part(0) and page.part(0) not in ("feed", "search", "about", "t"):
        yield _candidate(f"https://dev.to/feed/{page.part(0)}", page.part(0), "rss")


def _feed_at(path: str, kind: str) -> "Callable[[_Page], Iterator[FeedCandidate]]":
    """One feed for the whole host, for any page on it except the feed itself."""

    def site(page: _Page) -> Iterator[FeedCandidate]:
        if page.part(0) not in ("feed", "feeds", "rss", "comments"):
            yield _candidate(f"https://{page.host}{path}", page.host.split(".")[0], kind)

    return site


def _fediverse_feeds(page: _Page) -> Iterator[FeedCandidate]:
    first, second = page.part(0), page.part(1)
    if first.startswith("@") and len(first) > 1:
        name, _, home_host = first[1:].partition("@")
        origin = f"https://{home_host}" if home_host else page.origin
        yield _candidate(f"{origin}/@{name}.rss", f"@{name}@{home_host or page.host}", "rss")
    elif first == "users" and second:
        yield _candidate(f"{page.origin}/users/{second}.rss", f"@{second}@{page.host}", "rss")
    elif first in ("c", "u") and second:
        yield _candidate(f"{page.origin}/feeds/{first}/{second}.xml?sort=New", f"/{first}/{second}", "rss")


_HOST_ALIASES = {
    "m.youtube.com": "youtube.com",
    "music.youtube.com": "youtube.com",
    "old.reddit.com": "reddit.com",
    "new.reddit.com": "reddit.com",
    "m.reddit.com": "reddit.com",
    "np.reddit.com": "reddit.com",
    "m.soundcloud.com": "soundcloud.com",
}
_SITES: dict[str, Callable[[_Page], Iterator[FeedCandidate]]] = {
    "youtube.com": _youtube,
    "youtu.be": _youtube,
    "bsky.app": _bluesky,
    "reddit.com": _reddit,
    "github.com": _github,
    "gitlab.com": _gitlab,
    "medium.com": _medium,
    "tumblr.com": _tumblr,
    "vimeo.com": _vimeo,
    "news.ycombinator.com": _hacker_news,
    "lobste.rs": _lobsters,
    "dev.to": _dev_to,
    **dict.fromkeys(_STACK_HOSTS, _stack_exchange),
}
_SITE_FAMILIES: tuple[tuple[str, Callable[[_Page], Iterator[FeedCandidate]]], ...] = (
    (".stackexchange.com", _stack_exchange),
    (".substack.com", _feed_at("/feed", "rss")),
    (".medium.com", _feed_at("/feed", "rss")),
    (".tumblr.com", _feed_at("/rss", "rss")),
    (".wordpress.com", _feed_at("/feed/", "rss")),
    (".blogspot.com", _feed_at("/feeds/posts/default", "atom")),
)

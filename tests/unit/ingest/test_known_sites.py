import pytest

from reedbed.ingest.known_sites import feeds_in_page, known_feeds, likely_feeds

CHANNEL = "UCabcdefghijklmnopqrstuv"
VIDEOS = "https://www.youtube.com/feeds/videos.xml"


@pytest.mark.parametrize(
    ("page", "feeds"),
    [
        (f"https://www.youtube.com/channel/{CHANNEL}", [f"{VIDEOS}?channel_id={CHANNEL}"]),
        (f"https://m.youtube.com/channel/{CHANNEL}/videos", [f"{VIDEOS}?channel_id={CHANNEL}"]),
        ("https://youtube.com/user/reeds", [f"{VIDEOS}?user=reeds"]),
        ("https://www.youtube.com/playlist?list=PL123_-x", [f"{VIDEOS}?playlist_id=PL123_-x"]),
        ("https://www.youtube.com/watch?v=abc&list=PL123", [f"{VIDEOS}?playlist_id=PL123"]),
        ("https://www.youtube.com/@reeds", []),
        ("https://youtu.be/abc", []),
        (f"{VIDEOS}?channel_id={CHANNEL}", []),
        ("https://bsky.app/profile/reeds.example.org", ["https://bsky.app/profile/reeds.example.org/rss"]),
        ("https://bsky.app/profile/did:plc:abc", ["https://bsky.app/profile/did:plc:abc/rss"]),
        ("https://www.reddit.com/r/marsh/", ["https://www.reddit.com/r/marsh/.rss"]),
        ("https://old.reddit.com/r/marsh/top?t=week", ["https://www.reddit.com/r/marsh/top/.rss?t=week"]),
        ("https://reddit.com/u/reed", ["https://www.reddit.com/user/reed/.rss"]),
        ("https://www.reddit.com/r/marsh.rss", []),
        ("https://www.reddit.com/r/marsh/.rss", []),
        ("https://github.com/reed", ["https://github.com/reed.atom"]),
        (
            "https://github.com/reed/bed",
            [f"https://github.com/reed/bed/{kind}.atom" for kind in ("releases", "commits", "tags")],
        ),
        ("https://github.com/reed/bed/releases", ["https://github.com/reed/bed/releases.atom"]),
        ("https://github.com/reed/bed/commits/dev/next", ["https://github.com/reed/bed/commits/dev/next.atom"]),
        ("https://github.com/reed/bed/releases.atom", []),
        ("https://github.com/reed.atom", []),
        ("https://github.com/topics/rss", []),
        (
            "https://gitlab.com/marsh/reed/bed/-/issues",
            ["https://gitlab.com/marsh/reed/bed.atom", "https://gitlab.com/marsh/reed/bed/-/tags?format=atom"],
        ),
        ("https://gitlab.com/reed.atom", []),
        ("https://medium.com/@reed/a-story-1", ["https://medium.com/feed/@reed"]),
        ("https://medium.com/marsh-weekly", ["https://medium.com/feed/marsh-weekly"]),
        ("https://medium.com/feed/@reed", []),
        ("https://reed.medium.com/", ["https://reed.medium.com/feed"]),
        ("https://reed.substack.com/p/one", ["https://reed.substack.com/feed"]),
        ("https://reed.substack.com/feed", []),
        ("https://reed.tumblr.com/post/1", ["https://reed.tumblr.com/rss"]),
        ("https://www.tumblr.com/reed/1/x", ["https://reed.tumblr.com/rss"]),
        ("https://reed.wordpress.com/2024/", ["https://reed.wordpress.com/feed/"]),
        ("https://reed.blogspot.com/", ["https://reed.blogspot.com/feeds/posts/default"]),
        ("https://reed.blogspot.com/feeds/posts/default", []),
        ("https://vimeo.com/reed", ["https://vimeo.com/reed/videos/rss"]),
        ("https://vimeo.com/channels/marsh", ["https://vimeo.com/channels/marsh/videos/rss"]),
        ("https://vimeo.com/12345", []),
        (
            "https://stackoverflow.com/questions/tagged/python+c%2b%2b",
            ["https://stackoverflow.com/feeds/tag?tagnames=python+c%2b%2b&sort=newest"],
        ),
        ("https://unix.stackexchange.com/questions/12/x", ["https://unix.stackexchange.com/feeds/question/12"]),
        ("https://news.ycombinator.com/newest", ["https://news.ycombinator.com/rss"]),
        ("https://lobste.rs/t/rust", ["https://lobste.rs/t/rust.rss"]),
        ("https://dev.to/reed/a-post", ["https://dev.to/feed/reed"]),
        ("https://example.org/", []),
        ("ftp://github.com/reed", []),
        ("https://[broken/", []),
        ("https://github.com.evil.example/reed", []),
    ],
)
def test_a_page_of_a_known_site_leads_to_its_feeds(page: str, feeds: list[str]) -> None:
    assert [feed.url for feed in known_feeds(page)] == feeds


@pytest.mark.parametrize(
    ("page", "feeds"),
    [
        ("https://social.example.org/@reed", ["https://social.example.org/@reed.rss"]),
        ("https://social.example.org/@reed@far.example.net", ["https://far.example.net/@reed.rss"]),
        ("https://social.example.org/users/reed", ["https://social.example.org/users/reed.rss"]),
        ("https://lemmy.example.org/c/marsh", ["https://lemmy.example.org/feeds/c/marsh.xml?sort=New"]),
        ("https://lemmy.example.org/u/reed", ["https://lemmy.example.org/feeds/u/reed.xml?sort=New"]),
        ("https://www.youtube.com/c/reeds", []),
        ("https://example.org/blog", []),
    ],
)
def test_software_that_runs_anywhere_is_worth_a_try(page: str, feeds: list[str]) -> None:
    assert [feed.url for feed in likely_feeds(page)] == feeds


@pytest.mark.parametrize(
    ("page", "html", "feed"),
    [
        (
            "https://www.youtube.com/@reeds",
            f'<script>{{"channelId":"UCother_other_other_oth","externalId":"{CHANNEL}"}}</script>',
            f"{VIDEOS}?channel_id={CHANNEL}",
        ),
        (
            "https://www.youtube.com/watch?v=abc",
            f'<meta itemprop="channelId" content="{CHANNEL}">',
            f"{VIDEOS}?channel_id={CHANNEL}",
        ),
        (
            "https://podcasts.apple.com/us/podcast/reeds/id1",
            '{"feedUrl":"https://pod.example.org/feed.xml","x":1}',
            "https://pod.example.org/feed.xml",
        ),
        (
            "https://podcasts.apple.com/us/podcast/reeds/id1",
            r'{"feedUrl":"https:\u002F\u002Fpod.example.org\u002Ffeed.xml"}',
            "https://pod.example.org/feed.xml",
        ),
        (
            "https://soundcloud.com/reeds",
            '<meta property="al:ios:url" content="soundcloud://users:123">',
            "https://feeds.soundcloud.com/users/soundcloud:users:123/sounds.rss",
        ),
        ("https://www.youtube.com/@reeds", "<html>nothing", None),
        ("https://example.org/", f'"externalId":"{CHANNEL}"', None),
    ],
)
def test_some_pages_name_their_feed_in_their_own_way(page: str, html: str, feed: str | None) -> None:
    assert [found.url for found in feeds_in_page(page, html)] == ([feed] if feed else [])

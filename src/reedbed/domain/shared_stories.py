"""A shared story: a public, unlisted copy with short quotes and links, without anything of the reader's own."""

from reedbed.domain.records import record
from reedbed.domain.stories.story import Outlet, Story
from reedbed.domain.times import Instant
from reedbed.domain.urls import has_userinfo

MAX_REPORTS = 40
MAX_QUOTE = 240
MAX_TITLE = 300
MAX_NAME = 100
MAX_LINK = 2_000


@record
class CopiedReport:
    """What one outlet wrote, as a headline, a short quote and a link."""

    feed: str
    title: str
    url: str
    language: str
    at: Instant
    quote: str


@record
class CopiedSentence:
    text: str
    language: str
    feeds: tuple[str, ...]


@record
class StoryCopy:
    title: str
    language: str
    reports: tuple[CopiedReport, ...]
    """In order of publication."""
    shared: tuple[CopiedSentence, ...]


@record
class SharedStory:
    id: int
    title: str
    created_at: Instant
    last_used_at: Instant | None


def copy_story(story: Story) -> StoryCopy:
    """Copy what is public: `story` may only have outlets that anybody may see, under the feeds' own titles."""
    names = {outlet.row.id: _short(outlet.feed, MAX_NAME) for outlet in story.outlets}
    return StoryCopy(
        title=_short(story.headline.title, MAX_TITLE),
        language=story.headline.language or "",
        reports=tuple(map(_copied, story.outlets)),
        shared=tuple(
            CopiedSentence(
                _short(sentence.text, MAX_QUOTE),
                sentence.language,
                tuple(dict.fromkeys(names[id_] for id_ in sentence.entry_ids)),
            )
            for sentence in story.shared
        ),
    )


def _copied(outlet: Outlet) -> CopiedReport:
    row = outlet.row
    return CopiedReport(
        feed=_short(outlet.feed, MAX_NAME),
        title=_short(row.title, MAX_TITLE),
        url=_link(row.url or ""),
        language=row.language or "",
        at=row.sort_at,
        quote=_short(outlet.opening or row.summary, MAX_QUOTE),
    )


def _link(url: str) -> str:
    is_web = url.startswith(("http://", "https://")) and len(url) <= MAX_LINK
    return url if is_web and not has_userinfo(url) else ""


def _short(text: str, limit: int) -> str:
    """The text, or as many of its words as fit."""
    if len(text) <= limit:
        return text
    words = text[:limit].rpartition(" ")[0]
    return f"{words or text[: limit - 1]}…"

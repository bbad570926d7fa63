"""A fetched article takes the place of an entry only if nothing that the entry says is lost."""

import pytest

from reedbed.domain.articles import content_for_programs, shown_content, video_at
from reedbed.domain.entries import Entry, EntryRow, States
from reedbed.ingest.sanitize.cleaner import clean_html
from reedbed.ingest.text import digest_content

BASE = "https://site.example/posts/1"
STORY = " ".join(f"Sentence {number} tells how reeds clean the water of a lake." for number in range(20))


def _entry(content: str, article: str | None, *, comments_url: str | None = None) -> Entry:
    content = clean_html(content, BASE)
    digest = digest_content(content)
    row = EntryRow(
        id=1,
        feed_id=1,
        title="Reeds",
        url=BASE,
        author=None,
        summary=digest.preview,
        image=None,
        language=None,
        words=digest.words,
        version=1,
        published_at=None,
        fetched_at=1,
        changed_at=None,
        sort_at=1,
        states=States(read=False, starred=False, later=False),
    )
    fetched = None if article is None else clean_html(article, BASE)
    return Entry(row, content, fetched, comments_url=comments_url)


def _shown(entry: Entry, mode: str) -> str:
    """What the reader gets: the entry, the article, or both."""
    shown = shown_content(entry, mode)
    both = f"{entry.content}<hr>{entry.full_content}"
    return {both: "both", entry.full_content: "article", entry.content: "entry"}[shown]


TEASER = "<p>Sentence 3 tells how reeds clean the water…</p>"
CASES = {
    "a teaser": (TEASER, f"<p>{STORY}</p>", "article", "article"),
    "a teaser with a link to the entry": (
        f'{TEASER}<p><a href="{BASE}">Read all of it on our site</a></p>',
        f"<p>{STORY}</p>",
        "article",
        "article",
    ),
    "an entry without a text": ("", f"<p>{STORY}</p>", "article", "article"),
    "no article": (TEASER, None, "entry", "entry"),
    "a post and a log-in page": (
        "<p>Seven herons at the lake this morning.</p>",
        "<p>Sign in to follow</p>",
        "entry",
        "entry",
    ),
    "a post and a long page about something else": (
        "<p>Seven herons came at dawn.</p>",
        f"<p>{STORY}</p>",
        "entry",
        "both",
    ),
    "a comic and its page": (
        '<img src="https://site.example/comics/reeds.png" alt="Reeds">',
        f"<p>{STORY}</p>",
        "entry",
        "entry",
    ),
    "a comic and its page with the comic": (
        '<img src="https://site.example/comics/reeds.png" alt="Reeds">',
        f'<img src="https://site.example/comics/reeds.png"><p>{STORY}</p>',
        "entry",
        "entry",
    ),
    "a comic with a caption and a log-in page": (
        '<img src="https://site.example/comics/reeds.png"><p>The heron was late for work again today</p>',
        f"<p>{STORY}</p>",
        "entry",
        "entry",
    ),
    "a comic with a short caption": (
        '<img src="https://site.example/comics/reeds.png"><p>The water</p>',
        f"<p>{STORY}</p>",
        "entry",
        "entry",
    ),
    "a short teaser with a picture": (
        f'<img src="https://site.example/lake.jpg">{TEASER}',
        f"<p>{STORY}</p>",
        "entry",
        "both",
    ),
    "a short teaser with a picture that is on the page": (
        f'<img src="https://site.example/lake.jpg">{TEASER}',
        f'<img src="https://site.example/lake.jpg"><p>{STORY}</p>',
        "entry",
        "article",
    ),
    "a teaser whose picture is not on the page": (
        f'<img src="https://site.example/lake.jpg">{TEASER * 3}',
        f"<p>{STORY}</p>",
        "entry",
        "both",
    ),
    "a teaser whose picture has another size on the page": (
        f'<img src="https://cdn.example/lake-300x200.jpg?w=300">{TEASER * 3}',
        f'<img src="https://site.example/img/lake.jpg"><p>{STORY}</p>',
        "article",
        "article",
    ),
    "pictures that differ only by their query": (
        f'<img src="https://site.example/image?id=7">{TEASER * 3}',
        f'<img src="https://site.example/image?id=8"><p>{STORY}</p>',
        "entry",
        "both",
    ),
    "a teaser with a link that is not on the page": (
        f'{TEASER}<p><a href="https://lake.example/">reeds</a></p>',
        f"<p>{STORY}</p>",
        "entry",
        "both",
    ),
    "the same text": (f"<p>{STORY[:150]}</p>", f"<p>{STORY[:150]}</p>", "entry", "entry"),
    "a long entry": (f"<p>{STORY[:400]}</p>", f"<p>{STORY}</p>", "entry", "article"),
    "Japanese": (
        "<p>葦は湖の水をきれいにする。</p>",
        "<p>昔から、葦は湖の水をきれいにする。だから湖の人は葦を守る。</p>",
        "article",
        "article",
    ),
}


@pytest.mark.parametrize(("content", "article", "auto", "always"), CASES.values(), ids=CASES)
def test_nothing_that_an_entry_says_is_lost(content: str, article: str | None, auto: str, always: str) -> None:
    entry = _entry(content, article)
    assert _shown(entry, "auto") == auto
    assert _shown(entry, "always") == always
    assert _shown(entry, "never") == "entry"


def test_the_link_to_the_comments_is_no_text() -> None:
    comments = "https://talk.example/item?id=1"
    entry = _entry(f'<a href="{comments}">Comments</a>', f"<p>{STORY}</p>", comments_url=comments)
    assert _shown(entry, "auto") == "article"


def test_programs_get_the_article_only_where_it_was_chosen() -> None:
    entry = _entry(TEASER, f"<p>{STORY}</p>")
    assert content_for_programs(entry, "auto") == entry.content
    assert content_for_programs(entry, "always") == entry.full_content


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    for content in ("a" * 300_000 + "…", "<a>" * 20_000, '<img src="' + "x" * 200_000 + '">', "…" * 200_000):
        assert shown_content(_entry(content[:150], content), "always") is not None


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://www.youtube.com/watch?v=abcdefghijk&t=3", "https://www.youtube.com/watch?v=abcdefghijk"),
        ("https://www.youtube.com/shorts/abcdefghijk", "https://www.youtube.com/watch?v=abcdefghijk"),
        ("https://youtu.be/abcdefghijk", "https://www.youtube.com/watch?v=abcdefghijk"),
        ("https://vimeo.com/76979871", "https://vimeo.com/76979871"),
        ("https://vimeo.com/about", None),
        ("https://www.youtube.com.evil.example/watch?v=abcdefghijk", None),
        ("https://www.youtube.com/@channel", None),
        (None, None),
    ],
)
def test_a_video_is_known_by_the_address_of_its_page(url: str | None, page: str | None) -> None:
    found = video_at(url)
    assert (found.page_url if found else None) == page

"""What is suggested while a search is typed."""

import pytest

from reedbed.domain.search.query import SavedSearch
from reedbed.domain.search.suggestions import Name, suggest, typed_query

NAMES = [
    Name("feed", 1, "The Marrowby Courier", "https://courier.example/feed"),
    Name("feed", 2, "Marble Runs Weekly"),
    Name("feed", 3, 'Say "hello"'),
    Name("feed", 4, "Kiosk am Kanal"),
    Name("folder", 5, "Märkte"),
    Name("tag", 6, "marsh"),
]
SAVED = [SavedSearch(7, "Marshes", "marsh* OR reed", 0, 0)]


def texts(text: str) -> list[str]:
    typed = typed_query(text)
    names = [name for name in NAMES if not typed.operator or name.kind == typed.operator]
    return [suggestion.query for suggestion in suggest(typed, names, SAVED)]


@pytest.mark.parametrize(
    ("typed", "queries"),
    [
        ("bridge feed:mar", ['bridge feed:"Marble Runs Weekly"', 'bridge feed:"The Marrowby Courier"']),
        ("bridge -feed:kio", ['bridge -feed:"Kiosk am Kanal"']),
        ("feed:hello", ["feed:3"]),
        ("folder:mark", ["folder:Märkte"]),
        ("tag:", ["tag:marsh"]),
        ('feed:"marrowby c', ['feed:"The Marrowby Courier"']),
        ("feed:marowby", ['feed:"The Marrowby Courier"']),
        ("is:st", ["is:starred"]),
        ("is:unred", ["is:unread"]),
        ("reed since:yes", ["reed after:yesterday"]),
        ("fedd:x tag:mar", ["fedd:x tag:marsh"]),
        ("autor:Holm", ["author:Holm"]),
        ("aft", ["after:"]),
        ("done with this ", []),
        ("http://x.example", []),
    ],
)
def test_a_word_is_completed_by_what_there_is(typed: str, queries: list[str]) -> None:
    assert texts(typed) == queries


def test_a_word_alone_suggests_saved_searches_and_names() -> None:
    queries = texts("mar")
    assert queries[0] == "marsh* OR reed"
    assert set(queries[1:]) == {
        'feed:"Marble Runs Weekly"',
        'feed:"The Marrowby Courier"',
        "folder:Märkte",
        "tag:marsh",
    }

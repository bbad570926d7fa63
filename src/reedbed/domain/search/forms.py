"""Word forms: a search for a word also finds its other forms, such as plurals and tenses.

The vocabulary of all texts is kept as rows of language, stem and word. A query looks its words up there; each form
becomes an alternative of the word. So the index holds the words as written, and phrases stay exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reedbed.domain.records import record
from reedbed.domain.search.indexing import SearchWords
from reedbed.domain.search.query import SearchQuery, Term
from reedbed.domain.text import is_cjk

LANGUAGES = frozenset(("da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "tr"))
_SAME = {"nb": "no", "nn": "no"}
_MIN_LENGTH, _MAX_LENGTH = 3, 40
MAX_FORMS = 24
"""Forms of one word in a query; the shortest are taken."""
MAX_KNOWN = 60_000
"""Words that a process remembers as being in the vocabulary: about 6 MB."""


@record
class WordForm:
    language: str
    stem: str
    word: str


def language_of(language: str | None, words: SearchWords) -> str | None:
    """The language whose forms these words have. Unknown text in plain Latin letters counts as English."""
    if language is None:
        return "en" if words.text.isascii() and words.title.isascii() else None
    base = language.partition("-")[0].lower()
    base = _SAME.get(base, base)
    return base if base in LANGUAGES else None


def has_forms(word: str) -> bool:
    return _MIN_LENGTH <= len(word) <= _MAX_LENGTH and word.isalpha() and not is_cjk(word)


class KnownWords:
    """Words that are in the vocabulary, so that a new entry writes only the others."""

    def __init__(self) -> None:
        self._words: dict[str, set[str]] = {}

    def unknown(self, language: str, words: Iterable[SearchWords]) -> set[str]:
        found = set[str]()
        for indexed in words:
            found.update(indexed.text.split())
            found.update(indexed.title.split())
        found -= self._words.get(language, set())
        return found

    def remember(self, forms: Iterable[WordForm]) -> None:
        for form in forms:
            self._words.setdefault(form.language, set()).add(form.word)
        if sum(map(len, self._words.values())) > MAX_KNOWN:
            self._words.clear()


# --- Queries


def words_with_forms(query: SearchQuery) -> tuple[str, ...]:
    """The words of a query whose other forms are wanted."""
    terms = (term for group in query.groups for term in group)
    return tuple(dict.fromkeys(term.tokens[0] for term in terms if _takes_forms(term)))


def with_forms(query: SearchQuery, forms: Mapping[str, Sequence[str]]) -> SearchQuery:
    """The query with the forms of each word as alternatives of it."""
    if not any(forms.values()):
        return query
    groups = tuple(
        tuple(alternative for term in group for alternative in _alternatives(term, forms)) for group in query.groups
    )
    return replace(query, groups=groups)


def _alternatives(term: Term, forms: Mapping[str, Sequence[str]]) -> Iterable[Term]:
    yield term
    if _takes_forms(term):
        for form in forms.get(term.tokens[0], ()):
            yield replace(term, text=form, tokens=(form,), is_form=True)


def _takes_forms(term: Term) -> bool:
    return not term.exact and not term.prefix and len(term.tokens) == 1 and has_forms(term.tokens[0])


def chosen_forms(word: str, found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The forms of a word among rows of language and word.

    Only those of languages that have the word itself, if any has: German "news" would share its stem with "new".
    """
    by_language: dict[str, set[str]] = {}
    for language, form in found:
        by_language.setdefault(language, set()).add(form)
    having = [forms for forms in by_language.values() if word in forms] or list(by_language.values())
    forms = set[str]().union(*having) - {word}
    return tuple(sorted(forms, key=_shortest_first)[:MAX_FORMS])


def _shortest_first(word: str) -> tuple[int, str]:
    return len(word), word

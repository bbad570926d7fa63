"""Feeds made from pages: the list on a page and the recipe that finds it again, or the changes of its text."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, cast

from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.urls import normalize_url

MAX_ENTRIES = 1_000
"""A longer list is refused: it would be an archive, not news."""
MAX_SELECTOR = 500
WATCH = "watch"


@record
class PageEntry:
    url: str
    title: str
    published: Instant | None = None
    """None if the page gives no date; a date is never made up."""
    image: str | None = None
    teaser: str = ""

    @property
    def key(self) -> str:
        """Identifies the entry. A link to a section of a page keeps its fragment."""
        return entry_key(self.url)


@lru_cache(maxsize=2048)
def entry_key(url: str) -> str:
    """The normalized link; with the fragment if that is all that distinguishes entries of one page."""
    address, _, fragment = url.partition("#")
    normal = normalize_url(address) or address
    return f"{normal}#{fragment}" if fragment else normal


@record
class PageSelectors:
    """CSS selectors, or XPath 1.0 if they start with `/`, `./` or `(`. Fields are relative to the item.

    An empty field is picked from the item automatically.
    """

    item: str = ""
    title: str = ""
    link: str = ""
    date: str = ""
    image: str = ""
    teaser: str = ""


@record
class PageFingerprints:
    """Other ways to find the list when the selectors no longer match."""

    path: str = ""
    """Tags from the root to an item, without classes."""
    classes: tuple[str, ...] = ()
    """Classes of items that have a meaning, not those that a build tool made up."""
    link_pattern: str = ""
    """`https://example.org/2026/*/*`: what the links have in common."""


@record
class PageRecipe:
    source: str
    """Where the list is: `json-ld`, `page-data`, `h-feed`, `news-sitemap`, `telegram`, `sections` or `markup`.

    `watch`: there is no list; the item is the element whose text is watched, empty for the whole page.
    """
    selectors: PageSelectors = PageSelectors()
    fingerprints: PageFingerprints = PageFingerprints()
    data_path: str = ""
    """For `page-data`: the keys that lead to the list."""

    @property
    def watches(self) -> bool:
        return self.source == WATCH


def recipe_as_fields(recipe: PageRecipe) -> dict[str, Any]:
    """The JSON form of the recipe."""
    fields = asdict(cast(Any, recipe))
    return fields | {"fingerprints": fields["fingerprints"] | {"classes": list(recipe.fingerprints.classes)}}


def recipe_from_fields(fields: Mapping[str, Any]) -> PageRecipe:
    """Read the JSON form of a recipe. Raise KeyError, TypeError or ValueError if it is not one."""
    prints = dict(fields["fingerprints"])
    return PageRecipe(
        source=str(fields["source"]),
        selectors=PageSelectors(**{name: str(value) for name, value in dict(fields["selectors"]).items()}),
        fingerprints=PageFingerprints(
            str(prints["path"]), tuple(map(str, prints["classes"])), str(prints["link_pattern"])
        ),
        data_path=str(fields["data_path"]),
    )


@record
class PageList:
    entries: tuple[PageEntry, ...]
    recipe: PageRecipe
    score: float = 0.0


@record
class PageLists:
    """The lists of a page, best first; `reason` says why there is none."""

    lists: tuple[PageList, ...] = ()
    title: str = ""
    language: str | None = None
    reason: Failure | None = None


@record
class PagePart:
    """A place that occurs in many items of a list, or another list of the page."""

    selector: str
    matches: int
    """In how many items it is found."""
    example: str


@record
class PageBlocks:
    """The page as markup without behaviour, in which elements are known by the numbers of `parts` and `lists`."""

    html: str
    item: str
    """The selector of the items."""
    items: int
    parts: tuple[PagePart, ...]
    lists: tuple[PagePart, ...]
    """Lists that were not chosen."""
    cut: bool = False
    """The page is longer."""


MIN_KNOWN = 3


def looks_rebuilt(keys: Collection[str], known: Collection[str]) -> bool:
    """Whether the list is gone, or all of it is new at once: then the page was probably rebuilt."""
    return not keys or (len(known) >= MIN_KNOWN and len(keys) >= MIN_KNOWN and not set(keys) & set(known))


def changed_shape(before: PageRecipe, after: PageRecipe) -> tuple[tuple[str, str, str], ...]:
    """What differs between two recipes: name, before, after."""
    pairs = (
        ("source", before.source, after.source),
        ("item", before.selectors.item, after.selectors.item),
        ("path", before.fingerprints.path, after.fingerprints.path),
        ("links", before.fingerprints.link_pattern, after.fingerprints.link_pattern),
    )
    return tuple((name, old, new) for name, old, new in pairs if old != new)


@record
class WatchedPage:
    """The text that is watched, by paragraphs, headings, lines of lists and rows of tables."""

    passages: tuple[str, ...] = ()
    title: str = ""
    language: str | None = None
    reason: Failure | None = None
    """Why there is no text to watch."""


@record
class PageChange:
    at: Instant
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"change:{self.at}"


@record
class WatchState:
    """The text at the last check, and its last change."""

    passages: tuple[str, ...]
    change: PageChange | None = None


def watch_state_from_fields(fields: Mapping[str, Any]) -> WatchState:
    change = fields["change"]
    last = PageChange(change["at"], tuple(change["removed"]), tuple(change["added"])) if change else None
    return WatchState(tuple(fields["passages"]), last)


def after_reading(before: WatchState | None, passages: tuple[str, ...], now: Instant) -> WatchState:
    """The state with the new text. Passages that only stand at another place are no change."""
    if before is None:
        return WatchState(passages)
    removed, added = _missing(before.passages, passages), _missing(passages, before.passages)
    if not removed and not added:
        return WatchState(passages, before.change)
    return WatchState(passages, PageChange(now, removed, added))


def _missing(passages: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The passages that the others lack, in their order."""
    left = Counter(passages) - Counter(others)
    found: list[str] = []
    for passage in passages:
        if left[passage] > 0:
            left[passage] -= 1
            found.append(passage)
    return tuple(found)


@record
class PageFeed:
    """What is stored about a feed that is made from a page."""

    recipe: PageRecipe
    former: PageRecipe | None = None
    """Before the page was rebuilt."""
    rebuilt_at: Instant | None = None
    watched: WatchState | None = None
    """For a page that is watched, once it was read."""

"""Recipes: write down how a list was found, apply it to a newer page, and find the list again on a rebuilt page."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from reedbed.domain.page_feeds import PageFingerprints, PageRecipe, PageSelectors
from reedbed.ingest.page_feeds.detection import DetectedList
from reedbed.ingest.page_feeds.document import PageDocument, link_pattern

_STABLE_CLASS = re.compile(r"[A-Za-z][A-Za-z]{2,}(?:[-_]{1,2}[A-Za-z]{2,})*")
_MADE_UP = re.compile(r"^(?:css|sc|jsx|svelte|emotion|styled|chakra|mui)-|[A-Z]{2}|[a-z][A-Z][a-z]?[A-Z]|^[^aeiouy]+$")
_MAX_CLASSES = 4
_MAX_KINDS = 4
_MAX_CONTAINERS = 12


def recipe_for(page: PageDocument, found: DetectedList) -> PageRecipe:
    classes = _common_classes(page, found.roots)
    fingerprints = PageFingerprints(
        path=_common_path(page, found.roots),
        classes=classes,
        link_pattern=link_pattern([entry.url for entry in found.entries]),
    )
    selector = _selector_of_groups(page, found.roots, classes)
    return PageRecipe("sections" if found.sections else "markup", PageSelectors(selector), fingerprints)


def selector_for(page: PageDocument, roots: Sequence[int]) -> str:
    """A selector for these items."""
    return _selector_of_groups(page, roots, _common_classes(page, roots))


def tag_path(page: PageDocument, number: int) -> str:
    steps: list[str] = []
    while number >= 0:
        steps.append(page.tags[number])
        number = page.parents[number]
    return " > ".join(reversed(steps))


def _common_path(page: PageDocument, roots: Sequence[int]) -> str:
    return Counter(tag_path(page, root) for root in roots).most_common(1)[0][0]


def _common_classes(page: PageDocument, roots: Sequence[int]) -> tuple[str, ...]:
    """Classes with a meaning that nine of ten items have."""
    counts = Counter(word for root in roots for word in set(page.attribute(root, "class").split()))
    return tuple(word for word, count in counts.most_common(20) if count >= 0.9 * len(roots) and is_stable(word))[
        :_MAX_CLASSES
    ]


def is_stable(word: str) -> bool:
    """Whether a class or id looks like a word that a person chose."""
    return _STABLE_CLASS.fullmatch(word) is not None and _MADE_UP.search(word) is None


def _selector_of_groups(page: PageDocument, roots: Sequence[int], classes: tuple[str, ...]) -> str:
    """One selector for all items, or one for each kind of item."""
    single = _item_selector(page, roots, classes)
    if single is not None:
        return single
    kinds: defaultdict[str, list[int]] = defaultdict(list)
    for root in roots:
        kinds[tag_path(page, root)].append(root)
    selectors = [
        _item_selector(page, members, _common_classes(page, members)) or path
        for path, members in sorted(kinds.items(), key=lambda kind: -len(kind[1]))[:_MAX_KINDS]
    ]
    return ", ".join(dict.fromkeys(selectors))


def _item_selector(page: PageDocument, roots: Sequence[int], classes: tuple[str, ...]) -> str | None:
    """The shortest selector for exactly these items."""
    wanted = set(roots)
    tag = Counter(page.tags[root] for root in roots).most_common(1)[0][0]
    above = _container_selectors(page, roots)
    names = ["." + word for word in classes]
    for own in [tag + name for name in names] + ([tag + "".join(names)] if len(names) > 1 else []) + [tag]:
        # A bare tag would match anything on a rebuilt page.
        for outer in ("", *above) if own != tag else above:
            selector = f"{outer}{own}"
            matches = matching(page, selector)
            if wanted <= matches and len(matches) <= len(wanted) * 1.1 + 1:
                return selector
    return None


def _container_selectors(page: PageDocument, roots: Sequence[int]) -> list[str]:
    """`main#news ` or `ul.list > ` for the elements above the items."""
    found: list[str] = []
    number, steps = page.parents[roots[0]], [""]
    for _ in range(5):
        if number < 0 or page.tags[number] in ("html", "body"):
            break
        identity = page.attribute(number, "id")
        words = [word for word in page.attribute(number, "class").split() if is_stable(word)]
        names = ([f"#{identity}"] if is_stable(identity) else []) + [f".{word}" for word in words[:2]]
        found += [f"{page.tags[number]}{name} > {''.join(steps)}" for name in names]
        if page.tags[number] in ("main", "article", "ul", "ol", "dl", "tbody"):
            found.append(f"{page.tags[number]} > {''.join(steps)}")
        steps.insert(0, f"{page.tags[number]} > ")
        number = page.parents[number]
    return found[:_MAX_CONTAINERS]


def matching(page: PageDocument, selector: str) -> set[int]:
    """The elements for a selector of the form `tag.class > tag`; user-written ones go to the real parsers."""
    steps = [_step(part) for part in selector.split(" > ")]
    last = steps[-1]
    return {
        number
        for number in range(len(page.tags))
        if _fits_step(page, number, last) and _fits_above(page, number, steps[:-1])
    }


def _step(text: str) -> tuple[str, str, frozenset[str]]:
    tag = re.match(r"\w*", text)
    identity = re.search(r"#([\w-]+)", text)
    return tag[0] if tag else "", identity[1] if identity else "", frozenset(re.findall(r"\.([\w-]+)", text))


def _fits_step(page: PageDocument, number: int, step: tuple[str, str, frozenset[str]]) -> bool:
    tag, identity, classes = step
    if tag and page.tags[number] != tag:
        return False
    if identity and page.attribute(number, "id") != identity:
        return False
    return not classes or classes <= set(page.attribute(number, "class").split())


def _fits_above(page: PageDocument, number: int, steps: Sequence[tuple[str, str, frozenset[str]]]) -> bool:
    for step in reversed(steps):
        number = page.parents[number]
        if number < 0 or not _fits_step(page, number, step):
            return False
    return True

"""What the links of a list have in common, and the sections of a page that links lead to."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from urllib.parse import urlsplit

from reedbed.ingest.page_feeds.document import PageDocument, PageLink

_SENTENCE = 30
"""Characters."""


def link_pattern(urls: Sequence[str]) -> str:
    """`https://example.org/2026/*/*`: the parts of the paths that all links share; empty for links to many sites."""
    hosts = Counter(urlsplit(url).netloc for url in urls)
    if not hosts:
        return ""
    host, count = hosts.most_common(1)[0]
    if count < 0.8 * len(urls):
        return ""
    paths = [urlsplit(url).path.strip("/").split("/") for url in urls if urlsplit(url).netloc == host]
    length = Counter(map(len, paths)).most_common(1)[0][0]
    same = [path for path in paths if len(path) == length]
    if len(same) < 0.8 * len(paths):
        same, length = paths, min(map(len, paths))
    steps = [next(iter(values)) if len(values := {path[at] for path in same}) == 1 else "*" for at in range(length)]
    return f"//{host}/" + "/".join(steps)


def link_shape(url: str) -> str:
    """The address with `#` in place of each number; empty if it has none."""
    shape = re.sub(r"\d+", "#", url.partition("//")[2].partition("#")[0])
    return shape if "#" in shape else ""


def common_shape(urls: Sequence[str], *, share: float = 0.9) -> str:
    """The shape of nine of ten links; empty if they differ."""
    shapes = Counter(map(link_shape, urls))
    shape, count = shapes.most_common(1)[0] if shapes else ("", 0)
    return shape if count >= share * len(urls) else ""


def leads_to_own_page(url: str, page_url: str) -> bool:
    """Whether the link of a version leads to a page about it, not to a repository with its changes."""
    return urlsplit(url).netloc == urlsplit(page_url).netloc and "/compare/" not in url


def fits(url: str, pattern: str) -> bool:
    host, _, path = pattern.removeprefix("//").partition("/")
    parts = urlsplit(url)
    if parts.netloc != host:
        return False
    steps, own = path.split("/"), parts.path.strip("/").split("/")
    return len(own) >= len(steps) and all(step in ("*", part) for step, part in zip(steps, own, strict=False))


def is_in_sentence(page: PageDocument, link: PageLink) -> bool:
    """Whether the link is a few words of a text that goes on behind it, not the way to an entry."""
    element = page.elements[link.index]
    before, after = element.getprevious(), (element.tail or "").strip()
    start = (element.getparent().text if before is None else before.tail) or ""
    return page.tags[page.parents[link.index]] == "p" and len(start.strip()) >= _SENTENCE and bool(after)


def section_roots(page: PageDocument, least: int) -> list[tuple[int, ...]]:
    """Sections of one page whose headings can be linked to, as in changelogs."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, tag in enumerate(page.tags):
        if tag in ("h2", "h3", "h4") and section_anchor(page, number):
            groups[page.paths[number]].append(number)
    return [_around_headings(page, found) for found in groups.values() if len(found) >= least]


def _around_headings(page: PageDocument, headings: Sequence[int]) -> tuple[int, ...]:
    """The boxes that each heading begins, such as `<section>`; the headings themselves if they have none."""
    boxes = tuple(page.parents[heading] for heading in headings)
    first = all(box + 1 == heading for box, heading in zip(boxes, headings, strict=True))
    return boxes if first and len(set(boxes)) == len(headings) else tuple(headings)


def section_anchor(page: PageDocument, heading: int) -> str:
    """What to add to the address of the page to reach a section: an id at its heading, around it or as a link of it."""
    if identity := page.attribute(heading, "id"):
        return identity
    box = page.parents[heading]
    if box < 0 or box + 1 != heading:
        return ""
    if page.tags[box] in ("section", "div", "article") and (identity := page.attribute(box, "id")):
        return identity
    alone = page.text(box) == page.text(heading)
    inside = range(heading + 1, page.ends[box] if alone else page.ends[heading])
    links = (page.attribute(number, "href") for number in inside if page.tags[number] == "a")
    return next((href[1:] for href in links if href.startswith("#") and len(href) > 1), "")


def is_file(url: str) -> bool:
    return url.partition("?")[0].lower().endswith((".pdf", ".zip", ".mp3", ".doc", ".docx", ".jpg", ".png"))

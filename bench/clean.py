"""What cleaning an entry costs beside bare nh3, which judges no attribute and settles no picture."""

import random
import time
from collections.abc import Callable

import nh3

from bench.table import record
from reedbed.ingest.language import detect_language
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import digest_content

DESCRIPTION = "cleaning an entry, and its digest and language, against bare nh3"

ENTRIES = 300
ROUNDS = 7
PAGE = "https://site.example/blog/post"
SYLLABLES = ("ba", "re", "ni", "to", "la", "mo", "du", "ke", "si", "fa", "ler", "und", "ing", "on")


def main() -> None:
    rng = random.Random(1)
    entries = [entry(rng) for _ in range(ENTRIES)]
    cleaned = [clean_html(html, None) for html in entries]
    links = [link_list(rng) for _ in range(ENTRIES)]
    kinds = {
        "well-formed": entries,
        "unclosed": [html.replace("</p>", "").replace("</li>", "") for html in entries],
        "links and pictures": links,
        "links, unclosed": [html.replace("</p>", "").replace("</li>", "") for html in links],
        "as editors write it": [editor_markup(rng) for _ in range(ENTRIES)],
    }
    for name, texts in kinds.items():
        print(f"{name}: {len(texts)} entries of {sum(map(len, texts)) / len(texts):.0f} characters")
        record(
            f"clean, {name}",
            cost(lambda html: clean_html(html, PAGE), texts),
            "µs CPU",
            compared_to="nh3 alone",
            other=cost(nh3.clean, texts),
        )
    bare = cost(nh3.clean, entries)
    texts = [digest_content(html).text for html in cleaned]
    record("digest", cost(digest_content, cleaned), "µs CPU", compared_to="nh3 alone", other=bare)
    record("language", cost(detect_language, texts), "µs CPU", compared_to="nh3 alone", other=bare)


def cost(work: Callable[[str], object], texts: list[str]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for text in texts:
            work(text)
        best = min(best, time.process_time() - started)
    return best / len(texts) * 1e6


def entry(rng: random.Random) -> str:
    return "\n".join(paragraph(rng) for _ in range(rng.randint(5, 18)))


def paragraph(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.1:
        address = f"https://img.example/{rng.randrange(10**6)}.jpg"
        return f'<p><img src="{address}" width="640" alt="{words(rng, 4)}"></p>'
    if kind < 0.2:
        return "<ul>" + "".join(f"<li>{words(rng, 7)}</li>" for _ in range(4)) + "</ul>"
    if kind < 0.25:
        return f'<div class="box" style="color:red" onclick="x()"><p>{words(rng, 20)}</p></div>'
    link = f'<a href="https://site.example/{rng.randrange(10**6)}?a=1&amp;b=2">{words(rng, 3)}</a>'
    return f"<p>{words(rng, 22)} {link} {words(rng, 14)} <em>{words(rng, 2)}</em>.</p>"


def link_list(rng: random.Random) -> str:
    return "\n".join(links_or_picture(rng) for _ in range(rng.randint(5, 15)))


def links_or_picture(rng: random.Random) -> str:
    number = rng.randrange(10**6)
    if rng.random() < 0.3:
        return (
            f'<p><a class="more" href="https://site.example/{number}?utm=1&b=2" title="{words(rng, 3)}">'
            f'<img class="alignleft" src="https://img.example/{number}.jpg" alt="{words(rng, 3)}" width="300"'
            ' srcset="https://img.example/a-300.jpg 300w, https://img.example/a-600.jpg 600w"></a></p>'
        )
    items = (
        f'<li><a rel="nofollow" href="/p/{number + item}">{words(rng, 3)}</a> '
        f'<a href="https://site.example/tag/{words(rng, 1)}" rel="tag">{words(rng, 1)}</a></li>'
        for item in range(5)
    )
    return f'<ul class="links">{"".join(items)}</ul>'


def editor_markup(rng: random.Random) -> str:
    """Spans, line breaks, comments, classes and values without quotes."""
    return "\n".join(
        f"<!-- block --><div class=box><span style='color:red'>{words(rng, 12)}&nbsp;</span><br><br>"
        f"<font size=2>{words(rng, 9)} &amp; {words(rng, 3)}</font><section>{words(rng, 5)}</section></div>"
        for _ in range(rng.randint(3, 9))
    )


def words(rng: random.Random, count: int) -> str:
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(count))

"""What cleaning an entry costs beside bare nh3, which judges no attribute and settles no picture."""

import random
import time
from collections.abc import Callable

import nh3

from bench.table import record
from reedbed.ingest.clean import clean_html
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import digest_content

DESCRIPTION = "cleaning an entry, and its digest and language, against bare nh3"

ENTRIES = 300
ROUNDS = 7
SYLLABLES = ("ba", "re", "ni", "to", "la", "mo", "du", "ke", "si", "fa", "ler", "und", "ing", "on")


def main() -> None:
    rng = random.Random(1)
    entries = [entry(rng) for _ in range(ENTRIES)]
    cleaned = [clean_html(html, None) for html in entries]
    messy = [html.replace("</p>", "") for html in entries]
    print(f"{ENTRIES} entries of {sum(map(len, entries)) / ENTRIES:.0f} characters")
    bare = cost(nh3.clean, entries)
    for name, took in {
        "clean, well-formed": cost(lambda html: clean_html(html, None), entries),
        "clean, broken markup": cost(lambda html: clean_html(html, None), messy),
        "digest": cost(digest_content, cleaned),
        "language": cost(detect_language, [digest_content(html).text for html in cleaned]),
    }.items():
        record(name, took, "µs CPU", compared_to="nh3 alone", other=bare)


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


def words(rng: random.Random, count: int) -> str:
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(count))

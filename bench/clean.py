"""What cleaning an entry costs beside bare nh3, which judges no attribute and settles no picture.

python bench/clean.py [entries]
"""

import random
import sys
import time
from collections.abc import Callable

import nh3

from reedbed.ingest.clean import clean_html
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import digest_content

ROUNDS = 7
SYLLABLES = ("ba", "re", "ni", "to", "la", "mo", "du", "ke", "si", "fa", "ler", "und", "ing", "on")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rng = random.Random(1)
    entries = [entry(rng) for _ in range(count)]
    cleaned = [clean_html(html, None) for html in entries]
    messy = [html.replace("</p>", "") for html in entries]
    size = sum(map(len, entries)) / count
    bare = cost(nh3.clean, entries)
    print(f"{count} entries of {size:.0f} characters; microseconds of CPU for each, best of {ROUNDS}")
    print(f"  nh3 alone            {bare:7.0f}")
    for name, took in {
        "clean, well-formed": cost(lambda html: clean_html(html, None), entries),
        "clean, broken markup": cost(lambda html: clean_html(html, None), messy),
        "digest": cost(digest_content, cleaned),
        "language": cost(detect_language, [digest_content(html).text for html in cleaned]),
    }.items():
        print(f"  {name:20} {took:7.0f}   {took / bare:4.2f} of nh3 alone")


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


if __name__ == "__main__":
    main()

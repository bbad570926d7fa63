"""How well and how fast articles are read, against a corpus of pages with the articles people expect.

BENCH_ARTICLES names the corpus: one folder for each page with `source.html` and `expected.html`.
"""

import os
import re
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from bench.table import record
from reedbed.ingest.article.extract import NotAnArticle, extract_article

DESCRIPTION = "full articles: token F1, images and links kept, CPU per page"

PAGE = "http://fakehost/test/page.html"


@dataclass(frozen=True, slots=True)
class Score:
    name: str
    f1: float
    images: tuple[int, int]
    links: tuple[int, int]
    took: float


def main() -> None:
    corpus = os.environ.get("BENCH_ARTICLES")
    pages = sorted(path.parent for path in Path(corpus).glob("*/source.html")) if corpus else []
    if not pages:
        print("BENCH_ARTICLES names no folder of pages: nothing is measured.")
        return
    extract_article("<p>The first page pays for what is loaded only once.</p>", PAGE)
    scores = [score(page) for page in pages]
    times = sorted(one.took * 1000 for one in scores)
    print(f"{len(scores)} pages")
    f1 = statistics.mean(one.f1 for one in scores)
    record("token F1", f1, "", compared_to="promise (at least 1)", other=0.93)
    images, links = ([one.images for one in scores], [one.links for one in scores])
    record("images kept", share(images) * 100, "%", compared_to="promise (at least 1)", other=78)
    record("links kept", share(links) * 100, "%", compared_to="promise (at least 1)", other=88)
    record("a page, median", statistics.median(times), "ms CPU", compared_to="promise", other=40)
    record("the slowest page", times[-1], "ms CPU", compared_to="median", other=statistics.median(times))
    for one in sorted(scores, key=lambda one: one.f1)[:5]:
        print(f"    {one.f1:.3f}  {one.name}")


def score(page: Path) -> Score:
    source = (page / "source.html").read_bytes()
    expected = (page / "expected.html").read_text("utf-8")
    started = time.process_time()
    found = extract_article(source, PAGE)
    took = time.process_time() - started
    content = "" if isinstance(found, NotAnArticle) else found.content_html
    return Score(
        page.name,
        token_f1(tokens(content), tokens(expected)),
        kept(addresses(content, "img", ("src", "data-http-src")), addresses(expected, "img", ("src",))),
        kept(addresses(content, "a", ("href",)), addresses(expected, "a", ("href",))),
        took,
    )


def tokens(html: str) -> Counter[str]:
    body = LexborHTMLParser(html).body
    return Counter(re.findall(r"\w+", body.text(separator=" ").lower()) if body else ())


def token_f1(found: Counter[str], expected: Counter[str]) -> float:
    total = found.total() + expected.total()
    return 2 * (found & expected).total() / total if total else 1.0


def addresses(html: str, tag: str, names: tuple[str, ...]) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in LexborHTMLParser(html).css(tag):
        value = next((node.attributes[name] for name in names if node.attributes.get(name)), None)
        if value:
            # Places within the article carry our prefix.
            found[urljoin(PAGE, value.replace("#fn-", "#"))] += 1
    return found


def kept(found: Counter[str], expected: Counter[str]) -> tuple[int, int]:
    return (found & expected).total(), expected.total()


def share(parts: list[tuple[int, int]]) -> float:
    return sum(got for got, _ in parts) / max(1, sum(wanted for _, wanted in parts))

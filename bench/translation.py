"""How much of the markup of articles survives a translation that changes every word and sometimes misbehaves."""

import os
import random
import re
import time
from collections import Counter
from pathlib import Path

from bench.table import record
from reedbed.domain.translations import Translation
from reedbed.ingest.sanitize.cleaner import clean_html
from reedbed.services.translations.blocks import check_blocks, cut_article, put_translation, to_translate
from reedbed.store.translations import TranslationSource
from tests.translationserver import translated

DESCRIPTION = "links, pictures and code that a translation keeps; TRANSLATION_ARTICLES names a folder of pages"
OWN = Path(__file__).parent / "data"
LINK, PICTURE = re.compile(r'<a [^>]*href="([^"]*)"'), re.compile(r'<(?:img|source|video|audio)[^>]* src="([^"]*)"')
CODE = re.compile(r"<(code|pre|kbd|samp)[ >].*?</\1>", re.DOTALL)
SPOILED = 0.2
"""The share of blocks that the translator spoils."""


def main() -> None:
    folder = Path(os.environ.get("TRANSLATION_ARTICLES") or OWN)
    pages = sorted(path for path in folder.rglob("*.html") if path.name != "expected.html") or sorted(folder.rglob("*"))
    articles = [
        clean_html(page.read_text(errors="replace"), "https://site.example/") for page in pages if page.is_file()
    ]
    began = time.process_time()
    made = [_translate(article, random.Random(number)) for number, article in enumerate(articles)]
    took = time.process_time() - began
    for name, pattern in (("links", LINK), ("pictures", PICTURE), ("code", CODE)):
        share, total = _kept(pattern, articles, made)
        record(f"{name} kept, of {total}", 100 * share, "%", compared_to="promise", other=100)
    blocks, kept = sum(one.blocks for one in made), sum(one.kept for one in made)
    record(
        f"blocks that stay in the original, of {blocks}",
        100 * kept / max(1, blocks),
        "%",
        compared_to="spoiled",
        other=100 * SPOILED,
    )
    record(
        f"cutting, checking and joining, of {len(articles)} articles",
        1000 * took / max(1, len(articles)),
        "ms",
        compared_to="promise",
        other=200,
    )


def _translate(article: str, chance: random.Random) -> Translation:
    markup = cut_article(article)
    texts = to_translate(None, markup, "de")
    answers = {key: _answer(text, chance) for key, text in texts.items()}
    checked = check_blocks(texts, answers, source="en", target="de")
    source = TranslationSource(1, 1, "", article, "en", 1, False, "")
    return put_translation(source, None, markup, checked, language="en", target="de", provider="bench", now=0)


def _answer(text: str, chance: random.Random) -> str | None:
    good = translated(text, "de")
    if chance.random() > SPOILED:
        return good
    spoiled = (
        None,
        translated(text, "fr"),
        f'{good} <a href="https://evil.example/">more</a>',
        f"{good} https://evil.example/",
        re.sub(r"⟦/?\d+⟧", "", good, count=1),
        f"⟦1⟧{good}",
        re.sub(r"⟦(\d+)⟧", lambda found: f"⟦{int(found[1]) + 1}⟧", good),
        good[: len(good) // 5],
    )
    return chance.choice(spoiled)


def _kept(pattern: re.Pattern[str], articles: list[str], made: list[Translation]) -> tuple[float, int]:
    """The share of what the pattern finds in the originals that the translations have too, and nothing else."""
    before = [Counter(found[0] for found in pattern.finditer(article)) for article in articles]
    after = [Counter(found[0] for found in pattern.finditer(_unmarked(one.content))) for one in made]
    total = sum(map(Counter.total, before))
    lost = sum((old - new).total() + (new - old).total() for old, new in zip(before, after, strict=True))
    return (total - lost) / max(1, total), total


def _unmarked(content: str) -> str:
    """Without the elements around blocks that stay in the original."""
    return re.sub(r'<span class="kept"[^>]*>', "", content)

"""Stories, Ask, digests, summaries and search without a model, judged on labelled texts.

The splits of `bench/data/intelligence` are printed apart: tune on `dev`, `later` and `later2`, never on
`test` and `latest`; Ask and summaries are tuned on `asked` and `kept`, too.
REEDBED_CORPORA may name a folder with `headlines/news.csv`, `stories/dev.tsv` and `articles/`, which are not part of
the program.
INTELLIGENCE=stories,ask runs some parts only; INTELLIGENCE_FIGURES names a file that gets the figures as JSON.
"""

import os
import statistics
from pathlib import Path

from bench import article
from bench.judged.asking import judge_ask
from bench.judged.data import ASKED, SPLITS, corpus, labelled_articles, questions, related_pairs
from bench.judged.digesting import judge_digests
from bench.judged.figures import Judged, print_judged, write_judged
from bench.judged.grounding import judge_grounding
from bench.judged.grouping import judge_corpus_stories, judge_stories, judge_story_cost
from bench.judged.relating import judge_related
from bench.judged.searching import judge_search
from bench.judged.summarising import judge_summaries

DESCRIPTION = "stories, Ask, digests, summaries and search without a model, on labelled texts"

PARTS = ("stories", "related", "ask", "digest", "summaries", "grounding", "search", "articles")


def judge_articles(folder: Path) -> list[Judged]:
    scores = [article.score(page.parent) for page in sorted(folder.glob("*/source.html"))]
    return [Judged("corpora", "articles: token F1", statistics.mean(one.f1 for one in scores))]


async def main() -> None:
    parts = os.environ.get("INTELLIGENCE", ",".join(PARTS)).split(",")
    figures: list[Judged] = []
    for half in SPLITS:
        if "stories" in parts:
            figures += await judge_stories(half)
        if "related" in parts and related_pairs(half):
            figures += await judge_related(half)
        if "ask" in parts and questions(half):
            figures += await judge_ask(half)
        if "digest" in parts:
            figures += await judge_digests(half)
        if "summaries" in parts and labelled_articles(half):
            figures += await judge_summaries(half)
    if "ask" in parts:
        figures += await judge_ask(ASKED)
    if "summaries" in parts and labelled_articles(ASKED):
        figures += await judge_summaries(ASKED)
    if "grounding" in parts:
        figures += await judge_grounding()
    if "search" in parts:
        figures += await judge_search()
    if "articles" in parts and (folder := corpus("articles")) is not None:
        figures += judge_articles(folder)
    if "stories" in parts:
        if (file := corpus("stories", "dev.tsv")) is not None:
            figures += await judge_corpus_stories(file)
        figures += judge_story_cost()
    print_judged(figures)
    if file := os.environ.get("INTELLIGENCE_FIGURES"):
        write_judged(figures, Path(file))

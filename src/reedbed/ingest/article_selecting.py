"""What a feed's selectors choose of a page.

A harmless selector on a page made for it takes hours: `h2 ~ p` looks from each paragraph at all before it. So
the page is searched in a process of its own, which has its limits and is stopped when it takes too long.
"""

import subprocess
import sys

import orjson
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.ingest.sandbox import bare_environment

SECONDS = 8.0


@record
class Chosen:
    kept: str
    """What is the article; empty where nothing was to be kept, or nothing fitted."""
    rest: str
    """The page without what was dropped."""


def check_selector(selector: str, field: str) -> None:
    try:
        LexborHTMLParser("<p></p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise Invalid(f"“{selector}” is no CSS selector.", field) from error


def choose(source: str, keep: str | None, drop: str | None) -> Chosen | None:
    """None when it could not be told in time. Blocks: not for the event loop."""
    for selector, field in ((keep, "keep"), (drop, "drop")):
        if selector:
            check_selector(selector, field)
    order = orjson.dumps({"keep": keep, "drop": drop, "source": source})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "reedbed.ingest.article_sandbox"],
            input=order,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environment(),
            timeout=SECONDS,
            check=True,
        )
        return Chosen(**orjson.loads(done.stdout))
    except (subprocess.SubprocessError, ValueError, TypeError):
        return None

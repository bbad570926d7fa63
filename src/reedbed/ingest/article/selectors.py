"""A process in which a page is searched by CSS selectors: `python -m reedbed.ingest.article.selectors`.

It reads one JSON object (keep, drop, source) from standard input and writes one (kept, rest) to standard
output. The parent may kill it at any time.
"""

import subprocess
import sys
from collections.abc import Iterator

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.ingest.sandbox import accept_limits, bare_environment
from reedbed.ingest.sanitize.cleaner import bounded

SECONDS = 8.0


@record
class SelectedText:
    kept: str
    """What is the article; empty where nothing was to be kept, or nothing fitted."""
    rest: str
    """The page without what was dropped."""


def check_selector(selector: str, field: str) -> None:
    try:
        LexborHTMLParser("<p></p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise Invalid(f"“{selector}” is no CSS selector.", field) from error


def choose(source: str, keep: str | None, drop: str | None) -> SelectedText | None:
    """None when it could not be told in time. Blocks: not for the event loop."""
    for selector, field in ((keep, "keep"), (drop, "drop")):
        if selector:
            check_selector(selector, field)
    order = orjson.dumps({"keep": keep, "drop": drop, "source": source})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "reedbed.ingest.article.selectors"],
            input=order,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environment(),
            timeout=SECONDS,
            check=True,
        )
        return SelectedText(**orjson.loads(done.stdout))
    except (subprocess.SubprocessError, ValueError, TypeError):
        return None


_MEMORY = 1 << 29


def main() -> None:
    accept_limits(_MEMORY)
    order = orjson.loads(sys.stdin.buffer.read())
    tree = LexborHTMLParser(bounded(order["source"]))
    for node in _outermost(tree, order["drop"]):
        node.decompose()
    kept = "".join(node.html or "" for node in _outermost(tree, order["keep"]))
    sys.stdout.buffer.write(orjson.dumps({"kept": kept, "rest": tree.html or ""}))


def _outermost(tree: LexborHTMLParser, selector: str | None) -> list[LexborNode]:
    """What lies in another that was found goes along with it."""
    found = tree.css(selector) if selector else []
    ids = {node.mem_id for node in found}
    return [node for node in found if not any(above.mem_id in ids for above in _above(node))]


def _above(node: LexborNode) -> Iterator[LexborNode]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


if __name__ == "__main__":
    main()

"""Select parts of a page with CSS selectors, in a process that can be killed.

`python -m reedbed.ingest.article.selectors` is that process. It reads one JSON object (keep, drop, source)
from standard input and writes one (kept, rest) to standard output.
"""

import subprocess
import sys
from collections.abc import Iterator

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.ingest.sandbox import apply_limits, minimal_environment
from reedbed.ingest.sanitize.cleaner import bounded

SECONDS = 8.0


@record
class SelectedText:
    kept: str
    """The selected elements; empty if there is no `keep` selector or nothing matched."""
    rest: str
    """The page without the dropped elements."""


def check_selector(selector: str, field: str) -> None:
    try:
        LexborHTMLParser("<p></p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise Invalid("“%(selector)s” is not a CSS selector.", field, selector=selector) from error


def choose(source: str, keep: str | None, drop: str | None) -> SelectedText | None:
    """None if it took too long. Blocks: do not call it on the event loop."""
    for selector, field in ((keep, "keep"), (drop, "drop")):
        if selector:
            check_selector(selector, field)
    request = orjson.dumps({"keep": keep, "drop": drop, "source": source})
    try:
        process = subprocess.run(
            [sys.executable, "-m", "reedbed.ingest.article.selectors"],
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=minimal_environment(),
            timeout=SECONDS,
            check=True,
        )
        return SelectedText(**orjson.loads(process.stdout))
    except (subprocess.SubprocessError, ValueError, TypeError):
        return None


_MEMORY = 1 << 29


def main() -> None:
    apply_limits(_MEMORY)
    request = orjson.loads(sys.stdin.buffer.read())
    tree = LexborHTMLParser(bounded(request["source"]))
    for node in _outermost(tree, request["drop"]):
        node.decompose()
    kept = "".join(node.html or "" for node in _outermost(tree, request["keep"]))
    sys.stdout.buffer.write(orjson.dumps({"kept": kept, "rest": tree.html or ""}))


def _outermost(tree: LexborHTMLParser, selector: str | None) -> list[LexborNode]:
    """The matching elements that are not inside another match."""
    matches = tree.css(selector) if selector else []
    ids = {node.mem_id for node in matches}
    return [node for node in matches if not any(ancestor.mem_id in ids for ancestor in _ancestors(node))]


def _ancestors(node: LexborNode) -> Iterator[LexborNode]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


if __name__ == "__main__":
    main()

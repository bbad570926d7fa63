"""A process in which a page is searched by CSS selectors: `python -m reedbed.ingest.article_sandbox`.

It reads one JSON object (keep, drop, source) from standard input and writes one (kept, rest) to standard
output. The parent may kill it at any time.
"""

import sys
from collections.abc import Iterator

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

from reedbed.ingest.clean.bounds import bounded
from reedbed.ingest.sandbox_limits import accept_limits

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

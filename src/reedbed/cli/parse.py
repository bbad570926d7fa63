"""`reedbed parse` and `reedbed extract`: print a feed, the article of a page or the list on it as JSON."""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feed_writer import JsonFields, json_feed
from reedbed.domain.feeds import NotAFeed
from reedbed.domain.page_feeds import PageEntry, PageLists
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest, NotModified
from reedbed.domain.times import rfc3339
from reedbed.ingest.article.extract import ExtractedArticle, NotAnArticle, extract_article
from reedbed.ingest.discovery import fetch_first, urls_from_typed
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.parse.jsonfeed import as_json_feed
from reedbed.ingest.sanitize.media import standalone_html
from reedbed.settings import load

_FILE_ENDINGS = frozenset((".xml", ".rss", ".atom", ".json", ".html", ".htm"))

UNKNOWN_BASE = "https://page.invalid/"
"""Stands for the address of a file that came without one."""


@record
class ParseSource:
    body: bytes
    content_type: str | None
    url: str


@click.command("parse")
@click.argument("sources", nargs=-1, required=True, metavar="FILE|URL|-")
@click.option("--url", "base", default=None, metavar="BASE", help="Where the feed came from, for relative addresses.")
@click.option("--content-type", default=None, metavar="TYPE", help="The Content-Type it was served with.")
def parse_command(sources: tuple[str, ...], base: str | None, content_type: str | None) -> None:
    """Print a feed as JSON Feed 1.1; several feeds as one document a line."""
    failed = False
    for name in sources:
        output = _parse(name, base, content_type)
        if isinstance(output, NotAFeed):
            failed = True
            click.echo(output.reason.message if len(sources) == 1 else f"{name}: {output.reason.message}", err=True)
        else:
            click.echo(output)
    if failed:
        sys.exit(1)


def _parse(name: str, base: str | None, content_type: str | None) -> bytes | NotAFeed:
    urls = _urls_of(name)
    source = asyncio.run(_fetch(urls)) if urls else _read_source(name)
    if isinstance(source, NotAFeed):
        return source
    url = base or source.url
    kind = content_type or source.content_type
    feed = asyncio.run(parse_safely(source.body, content_type=kind, url=url))
    return feed if isinstance(feed, NotAFeed) else orjson.dumps(as_json_feed(feed, url=url))


def _read_source(name: str) -> ParseSource | NotAFeed:
    try:
        body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        return NotAFeed(_unreadable(error))
    return ParseSource(body, None, "")


def _urls_of(name: str) -> tuple[str, ...]:
    """The addresses to try; none for a file, that is, what exists or is named like one."""
    is_file_name = "/" not in name and Path(name).suffix in _FILE_ENDINGS
    if name == "-" or ("://" not in name and (is_file_name or Path(name).exists())):
        return ()
    return urls_from_typed(name)


async def _fetch(urls: Sequence[str], *, page: bool = False) -> ParseSource | NotAFeed:
    from reedbed.ingest.http.client import ACCEPT_FEED, ACCEPT_PAGE, Fetcher
    from reedbed.ingest.http.guard import Guard
    from reedbed.services.page_feeds import failure_of_page

    fetcher = Fetcher(Guard(load().allow_networks))
    accept = ACCEPT_PAGE if page else ACCEPT_FEED
    try:
        _, outcome = await fetch_first(urls, lambda url: fetcher.fetch(FetchRequest(url, accept=accept)))
    finally:
        await fetcher.close()
    if isinstance(outcome, Fetched):
        return ParseSource(outcome.body, outcome.content_type, outcome.url)
    if page and not isinstance(outcome, NotModified):
        return NotAFeed(failure_of_page(outcome))
    return NotAFeed(outcome.failure)


@click.command("extract")
@click.argument("file", metavar="FILE|ADDRESS|-")
@click.option("--url", default=None, metavar="BASE", help="Where the page came from, for relative addresses.")
@click.option("--list", "as_list", is_flag=True, help="Print the list of entries on the page as JSON Feed 1.1.")
@click.option("--keep", default=None, metavar="CSS", help="Selector of what the article is.")
@click.option("--drop", default=None, metavar="CSS", help="Selector of what it is not.")
def extract_command(file: str, url: str | None, as_list: bool, keep: str | None, drop: str | None) -> None:
    """Print the article of a page as JSON: title, byline, date, picture, sanitised content and text.

    With --list, print the entries of the best list on the page as JSON Feed instead: title, address, date and
    picture. Without a list, there are no items, and the reason is printed on standard error.
    """
    if as_list:
        _extract_list(file, url or "")
        return
    if url is None and not _urls_of(file):
        raise click.UsageError("The article of a file needs the option --url.")
    source = _read_page(file)
    try:
        article = extract_article(source.body, url or source.url, keep=keep, drop=drop)
    except Invalid as error:
        article = NotAnArticle(error.failure)
    if isinstance(article, NotAnArticle):
        click.echo(article.reason.message, err=True)
        sys.exit(1)
    click.echo(orjson.dumps(_article_json(article)))


def _read_page(name: str) -> ParseSource:
    urls = _urls_of(name)
    source = asyncio.run(_fetch(urls, page=True)) if urls else _read_source(name)
    if isinstance(source, NotAFeed):
        click.echo(source.reason.message, err=True)
        sys.exit(1)
    return source


def _extract_list(name: str, base: str) -> None:
    from reedbed.ingest.page_feeds.sandbox import find_lists_safely

    source = _read_page(name)
    url = base or source.url or UNKNOWN_BASE
    now = int(time.time() * 1000)
    lists = asyncio.run(find_lists_safely(source.body, url, now=now, content_type=source.content_type))
    if lists.reason is not None:
        click.echo(lists.reason.message, err=True)
    click.echo(orjson.dumps(_list_json(lists, base or source.url)))


def _list_json(lists: PageLists, url: str) -> JsonFields:
    best = lists.lists[0] if lists.lists else None
    about: dict[str, Any] = {"source": best.recipe.source, "recipe": best.recipe} if best is not None else {}
    if lists.reason is not None:
        about["reason"] = lists.reason.message
    entries = best.entries if best is not None else ()
    title = lists.title or url or "Untitled"
    return json_feed(map(_entry_json, entries), title=title, home_page_url=url or None, _reedbed=about)


def _entry_json(entry: PageEntry) -> JsonFields:
    # Without a base, addresses stay as relative as they are in the file.
    url = entry.url.removeprefix(UNKNOWN_BASE.rstrip("/"))
    return {
        "id": url,
        "url": url,
        "title": entry.title,
        "content_text": entry.teaser,
        "image": None if entry.image is None else entry.image.removeprefix(UNKNOWN_BASE.rstrip("/")),
        "date_published": None if entry.published is None else rfc3339(entry.published),
    }


def _unreadable(error: OSError) -> Failure:
    return Failure(FailureCode.FILE_UNREADABLE, {"reason": error.strerror or type(error).__name__})


def _article_json(article: ExtractedArticle) -> dict[str, str | None]:
    return {
        "title": article.title,
        "byline": article.byline,
        "site_name": article.site_name,
        "published": None if article.published is None else rfc3339(article.published),
        "lang": article.lang,
        "image": article.image,
        "content_html": standalone_html(article.content_html),
        "text": article.text,
    }

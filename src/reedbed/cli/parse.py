"""`reedbed parse` and `reedbed extract`: print a feed or the article of a page as JSON."""

import asyncio
import sys
from pathlib import Path

import click
import orjson

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import NotAFeed
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest, NotModified
from reedbed.domain.times import rfc3339
from reedbed.ingest.article.extract import ExtractedArticle, NotAnArticle, extract_article
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.parse.jsonfeed import as_json_feed
from reedbed.ingest.sanitize.media import standalone_html
from reedbed.settings import load


@record
class ParseSource:
    body: bytes
    content_type: str | None
    url: str


@click.command("parse")
@click.argument("sources", nargs=-1, required=True, metavar="FILE|URL|-")
@click.option(
    "--url", "base", default=None, metavar="BASE", help="Where the feed came from, for relative addresses."
)
@click.option("--content-type", default=None, metavar="TYPE", help="The Content-Type it was served with.")
def parse_command(sources: tuple[str, ...], base: str | None, content_type: str | None) -> None:
    """Print a feed as JSON Feed 1.1; several feeds as one document a line."""
    failed = False
    for name in sources:
        output = _parse(name, base, content_type)
        if isinstance(output, NotAFeed):
            failed = True
            click.echo(output.reason if len(sources) == 1 else f"{name}: {output.reason}", err=True)
        else:
            click.echo(output)
    if failed:
        sys.exit(1)


def _parse(name: str, base: str | None, content_type: str | None) -> bytes | NotAFeed:
    source = asyncio.run(_fetch(name)) if name.startswith(("http://", "https://")) else _read_source(name)
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
        return NotAFeed(f"The file cannot be read: {error.strerror}.")
    return ParseSource(body, None, "")


async def _fetch(url: str) -> ParseSource | NotAFeed:
    from reedbed.ingest.http.client import Fetcher
    from reedbed.ingest.http.guard import Guard

    fetcher = Fetcher(Guard(load().allow_networks))
    try:
        outcome = await fetcher.fetch(FetchRequest(url))
    finally:
        await fetcher.close()
    if isinstance(outcome, Fetched):
        return ParseSource(outcome.body, outcome.content_type, outcome.url)
    if isinstance(outcome, NotModified):
        return NotAFeed("The server answered that nothing has changed.")
    return NotAFeed(outcome.message)


@click.command("extract")
@click.argument("file", metavar="FILE")
@click.option("--url", required=True, metavar="URL", help="Where the page came from, for relative addresses.")
@click.option("--keep", default=None, metavar="CSS", help="Selector of what the article is.")
@click.option("--drop", default=None, metavar="CSS", help="Selector of what it is not.")
def extract_command(file: str, url: str, keep: str | None, drop: str | None) -> None:
    """Print the article of a page as JSON: title, byline, date, picture, sanitised content and text."""
    try:
        article = extract_article(_read_page(file), url, keep=keep, drop=drop)
    except (Invalid, OSError) as error:
        article = NotAnArticle(_error_message(error))
    if isinstance(article, NotAnArticle):
        click.echo(article.reason, err=True)
        sys.exit(1)
    click.echo(orjson.dumps(_article_json(article)))


def _read_page(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _error_message(error: Invalid | OSError) -> str:
    return error.message if isinstance(error, Invalid) else f"The file cannot be read: {error.strerror}."


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

"""`reedbed extract`: the article of one page as JSON on standard output."""

import sys
from pathlib import Path

import click
import orjson

from reedbed.domain.errors import Invalid
from reedbed.domain.times import rfc3339
from reedbed.ingest.article import Article, NotAnArticle, extract_article
from reedbed.ingest.clean.images import standing_alone


@click.command("extract")
@click.argument("file", metavar="FILE")
@click.option("--url", required=True, metavar="URL", help="Where the page came from, for relative addresses.")
@click.option("--keep", default=None, metavar="CSS", help="Selector of what the article is.")
@click.option("--drop", default=None, metavar="CSS", help="Selector of what it is not.")
def extract_command(file: str, url: str, keep: str | None, drop: str | None) -> None:
    """Print the article of a page as JSON: title, byline, date, picture, sanitised content and text."""
    try:
        found = extract_article(_read(file), url, keep=keep, drop=drop)
    except (Invalid, OSError) as error:
        found = NotAnArticle(_sentence(error))
    if isinstance(found, NotAnArticle):
        click.echo(found.reason, err=True)
        sys.exit(1)
    click.echo(orjson.dumps(_shape(found)))


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _sentence(error: Invalid | OSError) -> str:
    return error.message if isinstance(error, Invalid) else f"The file cannot be read: {error.strerror}."


def _shape(article: Article) -> dict[str, str | None]:
    return {
        "title": article.title,
        "byline": article.byline,
        "site_name": article.site_name,
        "published": None if article.published is None else rfc3339(article.published),
        "lang": article.lang,
        "image": article.image,
        "content_html": standing_alone(article.content_html),
        "text": article.text,
    }

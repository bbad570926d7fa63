"""Jinja2: templates as pages, and one named block of a page for htmx."""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from reedbed.web.assets_out import asset
from reedbed.web.sentences import retell
from reedbed.web.speech import catalogue, plain_text, plural_text, spoken
from reedbed.web.views.sidebar import SidebarFeed

FOLDER = Path(__file__).parent


def render_page(template: str, values: dict[str, Any], block: str | None = None) -> str:
    """The whole page, or only its block of this name."""
    page = environment().get_template(template)
    if block is None:
        return page.render(values)
    context = page.new_context(values)
    return "".join(page.blocks[block](context))


@cache
def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    loose: Any = environment  # the extension adds its methods at run time
    loose.filters["said"] = retell
    loose.globals["asset"] = asset
    loose.globals["feed_lines"] = _feed_lines
    loose.globals["standing"] = _standing
    loose.install_gettext_callables(plain_text, plural_text, newstyle=True)
    loose.globals["_"] = _said
    return environment


def _standing(template: str) -> Markup:
    """A part that says the same to everybody who speaks this language."""
    return _stood(template, spoken())


@cache
def _stood(template: str, language: str) -> Markup:
    return Markup(environment().get_template(template).render())  # noqa: S704  a template of ours


def _feed_lines(feeds: Sequence[SidebarFeed]) -> Markup:
    return Markup("\n".join(map(_feed_line, feeds)))  # noqa: S704  each is escaped already


@lru_cache(maxsize=5_000)
def _feed_line(feed: SidebarFeed) -> Markup:
    """A reader of hundreds of feeds is shown the same lines on every page, but for a few counts."""
    drawn: Any = environment().get_template("parts/feed_line.html").module
    return drawn.line(feed)


def _said(message: str, **values: object) -> Markup:
    """What jinja2's own would answer, by way of three more calls; a page has a hundred of these."""
    plain = _plain(message, spoken())
    return plain % values if values else plain


@lru_cache(maxsize=5_000)
def _plain(message: str, language: str) -> Markup:
    said = catalogue(language).gettext(message) if message else ""
    return Markup(said)  # noqa: S704  a text of ours

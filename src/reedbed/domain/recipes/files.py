"""Check one file of recipes: its kind, and every key. Files of sites are read here: articles and lists of pages."""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reedbed.domain.articles import MAX_SELECTOR_LENGTH, MAX_SELECTORS, ArticleSelectors
from reedbed.domain.errors import Invalid
from reedbed.domain.page_feeds import MAX_SELECTOR, PageSelectors
from reedbed.domain.recipes.connectors import read_connector
from reedbed.domain.recipes.tables import FileTable
from reedbed.domain.recipes.themes import read_theme, style_sheet
from reedbed.domain.recipes.values import (
    ConnectorRecipe,
    Recipe,
    RecipeFile,
    Recipes,
    SiteList,
    SiteRecipe,
    ThemeRecipe,
)

MAX_BYTES = 64 * 1024
MAX_FILES = 200
CONNECTOR_KIND = "file:"
"""Begins the kind of a share target whose service a file describes."""
THEME_PREFIX = "own-"
MAX_HOSTS = 50
MAX_LISTS = 20
_HOST = r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*"
_PARTS = ("title", "link", "date", "image", "teaser")
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\.toml")


def read_file(file: str, content: bytes) -> RecipeFile:
    """The recipe, or all that is wrong with the file."""
    problems: list[Invalid] = []
    if not _ID.fullmatch(file):
        problems.append(Invalid("The name of the file may have small letters, digits and hyphens: dunes.toml."))
    if len(content) > MAX_BYTES:
        problems.append(Invalid("The file has more than %(limit)s bytes.", limit=MAX_BYTES))
        return RecipeFile(file, None, tuple(problems))
    try:
        fields = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        problems.append(Invalid("The file is not written in UTF-8."))
        return RecipeFile(file, None, tuple(problems))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        problems.append(Invalid("This is not TOML: %(reason)s.", reason=str(error)[:200]))
        return RecipeFile(file, None, tuple(problems))
    table = FileTable(fields, problems)
    kind = table.choice("kind", tuple(_READERS), required=True)
    recipe = _READERS[kind](table) if kind else None
    return RecipeFile(file, None if problems else recipe, tuple(problems))


def gather(files: Iterable[RecipeFile]) -> Recipes:
    """All that the right files hold, in the order of their names."""
    files = tuple(files)
    right = {file.id: file.recipe for file in files if file.recipe is not None}
    themes = {f"{THEME_PREFIX}{id_}": one for id_, one in right.items() if isinstance(one, ThemeRecipe)}
    sheet = style_sheet(themes)
    return Recipes(
        files,
        tuple(one for one in right.values() if isinstance(one, SiteRecipe)),
        {f"{CONNECTOR_KIND}{id_}": one.service for id_, one in right.items() if isinstance(one, ConnectorRecipe)},
        themes,
        sheet,
        hashlib.sha256(sheet.encode()).hexdigest()[:12] if sheet else "",
    )


def read_site(table: FileTable) -> SiteRecipe | None:
    name = table.text("name", limit=100, required=True)
    hosts = table.texts("hosts", most=MAX_HOSTS, required=True)
    for host in hosts:
        FileTable({"hosts": host}, table.problems).text("hosts", pattern=_HOST, example="example.org, *.example.org")
    article = table.table("article")
    keep, drop = (article.texts(key, most=MAX_SELECTORS, limit=MAX_SELECTOR_LENGTH) for key in ("keep", "drop"))
    article.end()
    lists = [_read_list(one) for one in table.tables("lists", most=MAX_LISTS)]
    if "article" not in table and "lists" not in table:
        table.wrong("article", Invalid("A site needs an [article], [[lists]] or both."))
    table.end()
    return SiteRecipe(name, hosts, ArticleSelectors(keep, drop), tuple(lists))


def _read_list(table: FileTable) -> SiteList:
    path = table.text("path", pattern=r"/.*", example="/news/*") or "/*"
    item = table.text("item", limit=MAX_SELECTOR, required=True)
    parts: dict[str, Any] = {part: table.text(part, limit=MAX_SELECTOR) for part in _PARTS}
    table.end()
    return SiteList(path, PageSelectors(item, **parts))


_READERS: Mapping[str, Callable[[FileTable], Recipe | None]] = {
    "site": read_site,
    "connector": read_connector,
    "theme": read_theme,
}
"""Below the functions that it names."""

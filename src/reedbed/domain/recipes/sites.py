"""Recipes of sites: which parts of a page are the article, and where the list of news is."""

from typing import Any

from reedbed.domain.articles import MAX_SELECTOR_LENGTH, MAX_SELECTORS, ArticleSelectors
from reedbed.domain.errors import Invalid
from reedbed.domain.page_feeds import MAX_SELECTOR, PageSelectors
from reedbed.domain.recipes.tables import FileTable
from reedbed.domain.recipes.values import SiteList, SiteRecipe

MAX_HOSTS = 50
MAX_LISTS = 20
_HOST = r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*"
_PARTS = ("title", "link", "date", "image", "teaser")


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

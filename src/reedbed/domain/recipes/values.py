"""What was read from the folder of recipes. Small, because every process has it, also without any file."""

from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reedbed.domain.records import record

if TYPE_CHECKING:
    from reedbed.domain.articles import ArticleSelectors
    from reedbed.domain.errors import Invalid
    from reedbed.domain.page_feeds import PageSelectors
    from reedbed.domain.sharing.services import Service


@record
class SiteList:
    path: str
    """Which pages have the list: `/news/*`."""
    selectors: "PageSelectors"


@record
class SiteRecipe:
    name: str
    hosts: tuple[str, ...]
    """`example.org` or `*.example.org`."""
    article: "ArticleSelectors"
    lists: tuple[SiteList, ...] = ()


@record
class ConnectorRecipe:
    service: "Service"

    @property
    def name(self) -> str:
        return self.service.name


@record
class ThemeRecipe:
    name: str
    light: Mapping[str, str] | None
    """All colours as `#rrggbb`, by their names in the style sheet; None: only dark."""
    dark: Mapping[str, str] | None
    letters: Mapping[str, str] = field(default_factory=dict[str, str])
    """font, size and width, as far as the file sets them."""


Recipe = SiteRecipe | ConnectorRecipe | ThemeRecipe


@record
class RecipeFile:
    file: str
    recipe: Recipe | None
    """None if something is wrong."""
    problems: "tuple[Invalid, ...]" = ()
    """What is wrong; the `field` of each is the key."""

    @property
    def id(self) -> str:
        return self.file.removesuffix(".toml")


@record
class Recipes:
    files: tuple[RecipeFile, ...] = ()
    sites: tuple[SiteRecipe, ...] = ()
    connectors: Mapping[str, "Service"] = field(default_factory=dict[str, "Service"])
    """By the kind of a share target: `file:zulip`."""
    themes: Mapping[str, ThemeRecipe] = field(default_factory=dict[str, ThemeRecipe])
    """By the name in the style sheet: `own-dunes`."""
    style_sheet: str = ""
    style_version: str = ""

    @property
    def wrong(self) -> tuple[RecipeFile, ...]:
        return tuple(file for file in self.files if file.problems)

    def article_selectors(self, url: str) -> "ArticleSelectors | None":
        """The selectors for an article at this URL, if a file has some."""
        return next((site.article for site in self._sites_of(url) if site.article), None)

    def list_selectors(self, url: str) -> "PageSelectors | None":
        """The selectors for the list on this page, if a file has some."""
        path = _path(url)
        lists = (one for site in self._sites_of(url) for one in site.lists)
        return next((one.selectors for one in lists if fnmatchcase(path, one.path)), None)

    def _sites_of(self, url: str) -> list[SiteRecipe]:
        if not self.sites:
            return []
        host = _host(url)
        return [site for site in self.sites if any(_is_host(host, pattern) for pattern in site.hosts)]


def _is_host(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host == pattern[2:] or host.endswith(pattern[1:])
    return host == pattern


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _path(url: str) -> str:
    try:
        return urlsplit(url).path or "/"
    except ValueError:
        return "/"

"""The HTML of every page in several languages, and what a browser finds wrong with it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from reedbed.domain.languages import LANGUAGES, Language
from reedbed.events.limits import MemoryLimiter
from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.app import create_app
from reedbed.services.runtime import AccountPolicy
from reedbed.web import i18n
from scripts.texts import extract
from tests.clients import Client, new_client, session_of
from tests.e2e.everything import failing_plugins, write_everything
from tests.feedsite import FeedSite
from tests.harness import open_harness
from tests.http.web.routes import page_routes
from tests.servers import run_apart
from tests.services.writing import new_desk
from tests.smtp_server import open_smtp_server

LONG, MIRRORED = "en-XA", "ar-XB"
"""Pseudo-locales: every text accented, a third longer and between marks; the second from right to left."""
PSEUDO = {LONG: Language(LONG, "Лонг"), MIRRORED: Language(MIRRORED, "Миррор", "rtl")}

NOT_A_PAGE = re.compile(
    r"/assets/|/icons\.css|/manifest|/sw\.js|/themes\.css|/images/|/login/(back|with)|/settings/data/export"
    r"|/settings/account/link|/search/count|/player/|/newsletters/"
)
MARK = re.compile(r"[aeiouAEIOUcnsyz]")
ACCENTED = str.maketrans("aeiouAEIOUcnsyz", "áéíóúÁÉÍÓÚçñšýž")
SEVERE = (LONG, MIRRORED, "de", "ru")
"""The longest texts, in both directions; what fits those fits the others."""
FORMS = (
    "/settings/codes/recovery",
    "/settings/tokens",
    "/settings/app-passwords",
    "/rules/dry-run",
    "/settings/sharing",
    "/settings/password",
)
"""Pages that answer a form: what is shown once, and what is said where nothing was typed."""
REFUSED = {"/nothing/here", "/login/finish", *FORMS}
LIST = "".join(f"<li><a href='/новости/{number}'>Новость номер {number} о болоте</a></li>" for number in range(12))
KEPT = re.compile(r"(%\(\w+\)s|%%|\{\w*\}|<[^>]*>|&\w+;)")


@dataclass(frozen=True)
class Page:
    path: str
    language: str
    html: str


@contextmanager
def pseudo_locales(folder: Path) -> Iterator[None]:
    """Offer the real catalogues and the two of this test."""
    before = i18n.LOCALE
    for real in before.iterdir():
        if real.is_dir():
            (folder / real.name).symlink_to(real)
    compiled = BytesIO()
    write_mo(compiled, _pseudo_catalogue())
    for code in PSEUDO:
        place = folder / code.replace("-", "_") / "LC_MESSAGES"
        place.mkdir(parents=True)
        (place / "reedbed.mo").write_bytes(compiled.getvalue())
    caches = (i18n.languages, i18n.catalogue, i18n.conventions)
    try:
        i18n.LOCALE = folder
        LANGUAGES.update(PSEUDO)
        for cache in caches:
            cache.cache_clear()
        yield
    finally:
        i18n.LOCALE = before
        for code in PSEUDO:
            del LANGUAGES[code]
        for cache in caches:
            cache.cache_clear()


def _pseudo_catalogue() -> Catalog:
    catalogue = Catalog(locale="en")
    for message in extract():
        if message.id:
            is_plural = isinstance(message.id, tuple)
            written = tuple(_pseudo(str(form)) for form in (message.id if is_plural else (message.id,)))
            catalogue.add(message.id, written if is_plural else written[0])
    return catalogue


def _pseudo(text: str) -> str:
    bare = text.strip()
    start = text[: len(text) - len(text.lstrip())]
    words = "".join(part if KEPT.fullmatch(part) else part.translate(ACCENTED) for part in KEPT.split(bare))
    longer = " ".join("óñé" for _ in range(max(1, len(KEPT.sub("", bare)) // 12)))
    return f"{start}⟦{words} {longer}⟧{text[len(start) + len(bare) :]}"


def collect(database_url: str, languages: Iterable[str]) -> list[Page]:
    """In a thread of its own, because the browser of the tests keeps an event loop in this one."""
    return run_apart(_collect(database_url, list(languages)))


async def _collect(database_url: str, languages: list[str]) -> list[Page]:
    async with AsyncExitStack() as stack:
        harness = await stack.enter_async_context(open_harness(database_url))
        site = await stack.enter_async_context(FeedSite())
        mails = stack.enter_context(open_smtp_server())
        folder = Path(stack.enter_context(TemporaryDirectory()))
        accounts = AccountPolicy(registration="open", base_url="https://reader.example.org")
        harness.runtime = replace(
            harness.runtime,
            accounts=accounts,
            mailer=mails.mailer(),
            plugins=failing_plugins(),
            limiter=MemoryLimiter(_hasty_clock()),
        )
        app = create_app(harness.runtime)
        async with new_client(app) as visitor:
            pages = await _fetch(visitor, ["/setup"], languages)
            user_id, token = await session_of(harness.runtime, "owner@example.org", "owner")
            async with new_client(app, cookies={SESSION_COOKIE: token}) as owner:
                owner.user_id, owner.token = user_id, token
                owner.headers["Sec-Fetch-Site"] = "same-origin"
                desk = await new_desk(harness, user_id)
                known = await write_everything(desk, owner, mails, site, folder)
                pages += await _fetch(owner, [*_paths(known), *_found(site)], languages)
                pages += await _fetch(owner, FORMS, [one for one in languages if one in SEVERE], posted=True)
            visitor.cookies.clear()
            return pages + await _fetch(visitor, ["/login", "/forgot", "/register", "/nothing/here"], languages)


def _hasty_clock() -> Callable[[], float]:
    """An hour passes between two requests, so that none is refused because there were many."""
    return (float(hours * 3_600) for hours in count()).__next__


def _found(site: FeedSite) -> list[str]:
    """Pages of what is typed into a field of theirs."""
    return [
        "/search?q=гнездо",
        f"/add?url={site.feed_url('звук')}",
        f"/add?url={site.url}/нет",
        f"/make-a-feed?url={site.page('list.html', feeds=(), body=LIST)}",
        "/settings/sharing?kind=matrix",
        "/rules?edit=1",
    ]


async def _fetch(client: Client, paths: Iterable[str], languages: Iterable[str], *, posted: bool = False) -> list[Page]:
    found: list[Page] = []
    for path in paths:
        for language in languages:
            answer = await client.request("POST" if posted else "GET", path, headers={"Accept-Language": language})
            is_page = answer.headers.get("content-type", "").startswith("text/html") and "<html" in answer.text
            assert answer.status_code < 400 or path in REFUSED, f"{answer.status_code} {path}"
            if not is_page:
                break
            found.append(Page(path, language, answer.text))
    return found


def _paths(known: Mapping[str, object]) -> list[str]:
    """Each address once. What stands for a parameter is known by what stands before it, or by its name."""

    def filled(path: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: str(known.get(path[: found.start()]) or known[found[1]]), path)

    return sorted(
        {
            filled(route.path)
            for route in page_routes()
            if "GET" in (route.methods or ())
            and not NOT_A_PAGE.search(route.path)
            and route.path not in ("/", "/setup")
        }
    )


# --- In the browser

SHOW = """({html, width}) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const root = document.documentElement;
  for (const name of root.getAttributeNames()) root.removeAttribute(name);
  for (const one of page.documentElement.attributes) root.setAttribute(one.name, one.value);
  document.body.replaceWith(document.adoptNode(page.body));
  for (const part of document.querySelectorAll(".page details:not(.menu)")) part.open = true;
}"""
"""Puts the body of a page into one that has the style sheets already, because to parse them takes longest."""

WIDE = """() => {
  const found = [];
  const name = element => element.outerHTML.slice(0, 160).replace(/\\s+/g, " ");
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} wide`);
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility() || element.closest("svg, .sr, .skip, template")) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    if ((box.right > innerWidth + 1 || box.left < -1) && !held(element)) found.push(`outside: ${name(element)}`);
    const { clientWidth, scrollWidth } = element;
    if (element.matches("button, .btn, summary, th, legend, h1, h2, h3") && clientWidth > 1
        && scrollWidth > clientWidth + 2 && getComputedStyle(element).display !== "inline" && !cut(element)) {
      found.push(`cut: ${name(element)}`);
    }
  }
  function held(element) {
    for (let parent = element.parentElement; parent && parent !== document.body; parent = parent.parentElement) {
      const box = parent.getBoundingClientRect();
      const inside = box.right <= innerWidth + 1 && box.left >= -1;
      if (inside && getComputedStyle(parent).overflowX !== "visible") return true;
    }
    return false;
  }
  function cut(element) {
    return [element, ...element.children].some(one => getComputedStyle(one).textOverflow === "ellipsis");
  }
  return found.slice(0, 3);
}"""

UNTRANSLATED = """() => {
  const found = new Set();
  const skipped = "script, style, code, kbd, pre, time, bdi, .prose, svg, [dir=auto], [lang]:not(html), "
    + "[name=time_zone], [name=language]";
  const check = text => {
    const bare = text.replace(/https?:\\/\\/\\S+/g, "").trim();
    if (/[A-Za-z]{2}/.test(bare) && !/[⟦⟧]/.test(bare)) found.add(bare.slice(0, 80));
  };
  const walk = root => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (nodes.nextNode()) {
      const node = nodes.currentNode;
      if (node.nodeType === 3) {
        if (node.parentElement && !node.parentElement.closest(skipped)) check(node.data);
        continue;
      }
      if (node.localName === "template") walk(node.content);
      for (const name of ["aria-label", "title", "placeholder", "alt"]) {
        const ours = !node.closest("svg, .prose, bdi, progress, [dir=auto]");
        if (node.hasAttribute(name) && ours) check(node.getAttribute(name));
      }
    }
  };
  walk(document.body);
  return [...found];
}"""

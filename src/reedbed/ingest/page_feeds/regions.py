"""Separate side matter of a page from its content: navigation, footers, boxes of popular links, advertisements."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.ingest.page_feeds.document import PageDocument, fits, link_pattern

_ASIDE = re.compile(
    r"(?<![a-z])(?:nav|navigation|menu|megamenu|footer|foot|sidebar|aside|rail|related|popular|trending|breadcrumbs?|"
    r"pagination|pager|share|social|cookie|consent|cmp|(?<!elementor-)widget|recommended|recommend|jumpbox|toc|filters?|facets|"
    r"blogroll|ranking|rank|partners?|legal|subscribe|toolbar|dropdown|tagcloud|archive-list|bnr|banner|references|footnotes|reflist)(?![a-z])"
    r"|most[-_]?(?:read|viewed|popular)|meist-?gelesen|plus-?lus|piu-?letti|mas-?(?:vist|le)|cok-?okunan|topnav|sub-?nav",
    re.IGNORECASE,
)
_MENU = re.compile(
    r"(?<![a-z])(?:mega-?menu|main-?nav|navbar|site-?nav|foot(?:er)?-?(?:nav|menu|links))(?![a-z])", re.IGNORECASE
)
_CONTENT = re.compile(
    r"(?<![a-z])(?:content|main|list|posts?|articles?|news|entries|entry|stream|feed|results|items?|stories|story|"
    r"archive|blog|listing|grid|topics?|threads?|river|releases?)(?![a-z])",
    re.IGNORECASE,
)
_COMMENTS = re.compile(r"comments|respond|commentaires|kommentare|comentarios|comentários|commenti", re.IGNORECASE)
_TABS = re.compile(r"(?<![a-z])tabs(?![a-z])", re.IGNORECASE)
"""Mostly a row of links. Some elements of this name hold the panels, too."""
_PANEL_TAGS = frozenset(("time", "article", "table", "h2", "h3"))
_ASIDE_HEADING = re.compile(
    r"most (?:read|viewed|popular|shared|commented)|trending|popular|related|recommended|you (?:may|might)|"
    r"editor.s picks?|more (?:like this|from us|from the archive)|read (?:also|next)|in case you missed|recent posts|"
    r"customers (?:also|who)|similar (?:items|products)|recently viewed|complete the look|see also|references|"
    r"kunden kauften|zuletzt angesehen|ähnliche (?:artikel|produkte)|les clients|produits similaires|klanten|"
    r"productos (?:similares|relacionados)|prodotti (?:simili|correlati)|produtos (?:semelhantes|relacionados)|"
    r"podobne produkty|klienci kupili|похожие товары|с этим товаром|この商品を|最近チェック|看了又看|"
    r"blogroll|archives?|meistgelesen|beliebt|das könnte|auch interessant|das interessiert|les plus (?:lus|vus)|"
    r"à lire aussi|vous aimerez|à découvrir aussi|(?:l[oa]s? |notas )?más (?:vist|leíd|popular)|te puede|también te|"
    r"(?:i )?più lett[ie]|(?:ti )?potrebbe|(?:as )?mais lidas?|mais vistos|(?:veja|leia) também|meest gelezen|lees ook|"
    r"mest (?:læste|läst)|"
    r"najczęściej czytane|najpopularniejsze|zobacz (?:też|także)|polecamy|çok okunan|ilginizi|bunlar da|популярное|"
    r"читайте также|самое читаемое|вам может|рекомендуем|смотрите также|ランキング|人気|"
    r"あわせて読みたい|関連記事|おすすめ|关注|热门|排行|推荐|相关|猜你喜欢|"
    r"많이 본|인기|추천|관련 ?기사|الأكثر|اقرأ أيضا|قد يعجبك|"
    r"(?:frequently|commonly) asked|faqs?(?!\w)|häufige? fragen|questions? fréquentes|preguntas frecuentes|"
    r"domande frequenti|perguntas frequentes|veelgestelde vragen|vanliga frågor|ofte stillede|usein kysyt|"
    r"najczęściej zadawane|časté (?:dotazy|otázky)|sıkça sorulan|συχνές ερωτήσεις|част[оы]|よくある|常见问题|"
    r"자주 묻는|الأسئلة|(?:do you )?need help|brauch(?:en sie|st du) hilfe|besoin d.aide|¿?necesitas ayuda|"
    r"hai bisogno|precisa de ajuda|hulp nodig|potrzebujesz pomocy|нужна помощь|お困り|需要帮助|도움이 필요|yardım|"
    r"curriculum|syllabus|course content|lehrplan|kursinhalt|programme du cours|temario|programma del corso|müfredat|"
    r"カリキュラム|课程大纲|программа курса",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:our|nos|unsere|nuestr[oa]s|i nostri|le nostre|noss[oa]s|onze|våra|vores|naše|nasze|наши)\s"
    r"(?!.*(?:news|blog|latest|stor(?:y|ies)|articles?|actu|neu|beiträge|noti|novedad|articol|artigos|nieuw|nyhet|"
    r"aktual|новост|event|termin|veranstalt|produ|stell|jobs?(?!\w)|position|offres|vaga|vacatur|rezept|recip|recet|ricett|"
    r"episod|folge|podcast|publi|release))",
    re.IGNORECASE,
)
"""What a site offers for good, unless it is called news."""
_ALSO = re.compile(
    r"related|recommended for|you (?:may|might)|read also|see also|customers|similar|recently viewed|complete the look|"
    r"kunden|zuletzt|ähnliche|das könnte|auch interessant|les clients|produits similaires|vous aimerez|"
    r"à (?:lire|découvrir) aussi|productos (?:similares|relacionados)|también te|te puede|"
    r"prodotti (?:simili|correlati)|"
    r"(?:ti )?potrebbe|produtos (?:semelhantes|relacionados)|(?:veja|leia) também|lees ook|klanten|podobne|klienci|"
    r"zobacz|ilginizi|похожие|с этим|читайте также|смотрите также|вам может|"
    r"あわせて|関連|この商品|最近チェック|相关|看了又看|猜你喜欢|관련|اقرأ أيضا|قد يعجبك",
    re.IGNORECASE,
)
"""What stands beside something else, however much of the page it is."""
_ASIDE_TAGS = frozenset(("nav", "footer", "aside", "select", "form"))
_LISTED = frozenset(("article", "table", "time"))
_ROLES = frozenset(("navigation", "contentinfo", "complementary", "menu", "menubar", "dialog", "search"))
_WORD_SPLIT = re.compile(r"[\s_\-]+")
_MIN_ARTICLES = 4
_HEAD_LINK = 20
"""Characters that may stand beside such a heading in a box of its own: “See all”."""
_LABEL_WITHIN = 40
"""Elements from the start of an item."""
_AD_WORDS = frozenset(
    (
        "ad", "ads", "adv", "advert", "advertisement", "advertorial", "sponsor", "sponsored", "promo", "promoted",
        "werbung", "anzeige", "reklama", "publicidad", "skeleton", "ghost", "placeholder",
    )
)  # fmt: skip
_AD_LABEL = re.compile(
    r"advertisement|sponsored|promoted|anzeige|werbung|реклама|reklama|publicité|publicidad|广告|広告", re.I
)


def aside_regions(page: PageDocument) -> list[bool]:
    """For each element whether it lies in navigation, a footer, a sidebar or another side matter."""
    aside = [False] * len(page.elements)
    articles = [number for number, tag in enumerate(page.tags) if tag == "article"]
    for number, element in enumerate(page.elements):
        above = page.parents[number]
        if above >= 0 and aside[above]:
            aside[number] = True
            continue
        tag = page.tags[number]
        if tag in ("html", "body", "main", "article", "a", "li"):
            continue
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        if _COMMENTS.fullmatch(element.get("id") or ""):
            aside[number] = page.ends[number] - number < len(page.elements) * 0.7
        elif (
            (element.get("id") == "secondary" and "article" not in page.tags[number : page.ends[number]])
            or tag in ("nav", "footer")
            or element.get("role") in _ROLES
            or _MENU.search(name)
        ):
            aside[number] = True
        elif _TABS.search(name) and _PANEL_TAGS.isdisjoint(page.tags[number : page.ends[number]]):
            aside[number] = not _CONTENT.search(name)
        elif tag == "form" and not _LISTED.isdisjoint(page.tags[number : page.ends[number]]):
            continue  # a list that the form sorts and filters
        elif tag in _ASIDE_TAGS or (len(name) > 2 and _ASIDE.search(name) and not _CONTENT.search(name)):
            # What holds most of the page is no side matter, whatever it is called.
            aside[number] = page.ends[number] - number < len(page.elements) * 0.7 and (
                tag in _ASIDE_TAGS or not _holds_most(page, number, articles)
            )
    for number, tag in enumerate(page.tags):
        if tag in ("h2", "h3", "h4", "h5") and not aside[number]:
            text = page.text(number)
            if len(text) < 40 and (_ASIDE_HEADING.match(text) or _OWN.match(text)):
                _mark_below(aside, page, number, text)
    return aside


def _holds_most(page: PageDocument, number: int, articles: Sequence[int]) -> bool:
    inside = sum(page.contains(number, article) for article in articles)
    return inside >= _MIN_ARTICLES and inside * 3 > len(articles) * 2


def _mark_below(aside: list[bool], page: PageDocument, heading: int, text: str) -> None:
    """Mark what the heading stands over: the box around it or, in a large one, what follows up to the next heading."""
    number, most = heading, len(page.elements) * (0.9 if _ALSO.match(text) or _OWN.match(text) else 0.5)
    above = page.parents[number]
    while above > 0 and _is_head(page, above, text):
        number, above = above, page.parents[above]
    if above > 0 and page.ends[above] - above < most:
        aside[above : page.ends[above]] = [True] * (page.ends[above] - above)
        return
    end, following = page.ends[number], page.siblings_after(number)
    while following != -1 and page.tags[following] not in _headings_from(page.tags[heading]):
        end, following = page.ends[following], page.siblings_after(following)
    if end - number < most:
        aside[number:end] = [True] * (end - number)


def _is_head(page: PageDocument, number: int, text: str) -> bool:
    """Whether a box has only the heading and at most one link; linked pictures have no text, but are a list."""
    return len(page.text(number)) <= len(text) + _HEAD_LINK and len(page.links_in(number, page.ends[number])) <= 1


def _headings_from(tag: str) -> tuple[str, ...]:
    return tuple(f"h{level}" for level in range(1, int(tag[1]) + 1))


def is_advertisement(page: PageDocument, numbers: Sequence[int]) -> bool:
    """Whether an item is marked as an advertisement."""
    words = set(_WORD_SPLIT.split(page.attribute(numbers[0], "class").lower()))
    if words & _AD_WORDS:
        return True
    texts = (page.elements[number].text for number in numbers[:_LABEL_WITHIN])
    return any(text and len(text) < 30 and _AD_LABEL.fullmatch(text.strip()) for text in texts)


def undated_place(entries: Sequence[PageEntry], parents: Sequence[int]) -> list[str]:
    """Keys of entries without a date, if others at another place have dates and links of another kind."""
    dated = {parent for entry, parent in zip(entries, parents, strict=True) if entry.published is not None}
    inside = [entry for entry, parent in zip(entries, parents, strict=True) if parent in dated]
    outside = [entry for entry, parent in zip(entries, parents, strict=True) if parent not in dated]
    if len(inside) < 3 or any(entry.published is None for entry in inside):
        return []
    directories = [
        {urlsplit(entry.url).path.strip("/").partition("/")[0] for entry in some} for some in (inside, outside)
    ]
    # The links of a menu have words where those of its entries have numbers.
    menu = all(map(_is_numbered, inside)) and not any(map(_is_numbered, outside))
    return [entry.key for entry in outside] if menu or directories[0].isdisjoint(directories[1]) else []


def undated_kind(entries: Sequence[PageEntry]) -> list[str]:
    """Keys of entries without a date whose addresses lack what those of the others share, for links side by side."""
    dated = [entry.url for entry in entries if entry.published is not None]
    pattern = link_pattern(dated)
    named = any(step not in ("", "*") for step in pattern.removeprefix("//").split("/")[1:])
    if not named or 2 * len(dated) <= len(entries):
        return []
    return [entry.key for entry in entries if entry.published is None and not fits(entry.url, pattern)]


def _is_numbered(entry: PageEntry) -> bool:
    return any(map(str.isdigit, entry.url.partition("//")[2].partition("/")[2]))

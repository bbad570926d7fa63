"""Lists on pages: what is found, what is not, and why."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from reedbed.domain.page_feeds import MAX_ENTRIES, PageEntry, PageLists, entry_key
from reedbed.ingest.page_feeds.finder import find_lists

CORPUS = Path(__file__).parents[3] / "bench" / "data" / "pages"
NOW = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp() * 1000)
URL = "https://site.example/news/"
TITLES = [f"The river board decides about lock number {n} again" for n in range(5)]


def find(html: str, url: str = URL) -> PageLists:
    return find_lists(html.encode(), url, now=NOW)


def entries(html: str, url: str = URL) -> tuple[PageEntry, ...]:
    lists = find(html, url)
    assert lists.lists, lists.reason
    return lists.lists[0].entries


def rows(template: str) -> str:
    return "".join(template.format(n=n, title=title) for n, title in enumerate(TITLES))


@pytest.mark.parametrize(
    "page", sorted([*CORPUS.glob("dev*/*.html"), *CORPUS.glob("kept/*.html")]), ids=lambda page: page.stem
)
def test_a_page_of_the_corpus_gives_its_entries(page: Path) -> None:
    expected: dict[str, Any] = json.loads(page.with_suffix(".json").read_text("utf-8"))
    lists = find_lists(page.read_bytes(), expected["url"], now=NOW)
    found = lists.lists[0].entries if lists.lists else ()
    assert [entry.key for entry in found] == [entry_key(one["url"]) for one in expected["entries"]]


def test_an_entry_has_one_link_however_often_it_is_linked() -> None:
    row = (
        '<div class="item"><a href="/a/{n}?utm_source=x"><img src="/i/{n}.jpg"></a><a class="by" href="/by/7">Ann</a>'
        '<h3><a href="/a/{n}?utm_source=x">{title}</a></h3><a href="/a/{n}#more">Read more</a></div>'
    )
    found = entries(f"<main>{rows(row)}</main>")
    assert [entry.title for entry in found] == TITLES
    assert [entry.key for entry in found] == [f"https://site.example/a/{n}" for n in range(5)]
    assert found[1].image == "https://site.example/i/1.jpg"


def test_a_date_that_nobody_gives_is_none() -> None:
    found = entries(f"<ul>{rows('<li><a href=/a/{n}>{title}</a></li>')}</ul>")
    assert [entry.published for entry in found] == [None] * 5


def test_the_heading_of_a_day_dates_the_entries_below_it() -> None:
    days = "".join(
        f"<h2>{day} November 2026</h2><ul>"
        + "".join(f"<li><a href=/a/{day}-{n}>{TITLES[n]}</a></li>" for n in range(3))
        + "</ul>"
        for day in (17, 16)
    )
    found = entries(f"<div>{days}</div>")
    dates = [datetime.fromtimestamp((entry.published or 0) / 1000, UTC).day for entry in found]
    assert dates == [17, 17, 17, 16, 16, 16]


def test_navigation_most_read_and_footer_are_not_the_list() -> None:
    menu = "<nav>" + "".join(f"<a href=/topic/{n}>All the news about topic {n}</a>" for n in range(40)) + "</nav>"
    side = "<div><h3>Most read</h3><ol>" + rows("<li><a href=/m/{n}>{title} and again</a></li>") + "</ol></div>"
    row = "<article><h2><a href=/a/{n}>{title}</a></h2><time datetime=2026-11-0{n}>x</time></article>"
    found = entries(f"{menu}<main>{rows(row.replace('0{n}', '1{n}'))}</main>{side}")
    assert [entry.url for entry in found] == [f"https://site.example/a/{n}" for n in range(5)]


def test_what_a_site_offers_is_not_its_news() -> None:
    names = ("Bank sync", "Invoices", "Tax reports", "Team roles", "Mobile app")
    cards = "".join(
        f"<div class=card><h3>{name}</h3><p>Connect all accounts in a minute.</p><a href=/f/{name[:3]}>More</a></div>"
        for name in names
    )  # fmt: skip
    assert find(f"<main>{cards}</main>").reason is not None


def test_an_article_has_no_list_though_others_stand_below_it() -> None:
    text = "".join(f"<p>{'The ferry went back and forth between the island and the town. ' * 5}</p>" for _ in range(4))
    below = rows("<article><h3><a href=/a/{n}>{title}</a></h3><time datetime=2026-11-1{n}></time></article>")
    page = f"<main><h1>The last ferry</h1><div>{text}</div><div>{below}</div></main>"
    assert find(f"<head><meta property=og:type content=article></head>{page}").reason is not None
    assert find(page).reason is not None


def test_a_list_below_a_few_words_about_the_site_is_found() -> None:
    about = f"<p>{'The ferry went back and forth between the island and the town. ' * 2}</p>"
    below = rows("<article><h3><a href=/a/{n}>{title}</a></h3><time datetime=2026-11-1{n}></time></article>")
    assert find(f"<main><h1>The ferry</h1><div>{about * 2}</div><div>{below}</div></main>").lists


@pytest.mark.parametrize(
    "item",
    [
        "<div><h3><a href=/features/{name}>{name} for the office</a></h3></div>",
        "<div><h3><a href=/help/{name}>How does the {name} of a subscription work?</a></h3><p>4{n} answers</p></div>",
        "<div id=s{n}><h2>{name} in settings<a href=#s{n}>¶</a></h2><p><a href=/r/{name}>All of it</a> 4{n}</p></div>",
        "<div><img src=/{n}.jpg><h3><a href=/who/{name}>{name} Smith-Fernsby</a></h3><a href=tel:+4{n}>+4{n}</a></div>",
    ],
)
def test_what_a_site_offers_for_good_is_no_list(item: str) -> None:
    names = ("Abundance", "Brevity", "Calm", "Daring", "Ease", "Finesse")
    page = "".join(item.format(n=n, name=name) for n, name in enumerate(names))
    assert find(f"<main><h1>Acme</h1>{page}</main>", "https://site.example/").reason is not None


def test_wares_with_prices_are_a_list_without_dates() -> None:
    item = "<div><img src=/{n}.jpg><h3><a href=/wares/{name}>{name} for the office</a></h3><p>{n}9,90 €</p></div>"
    names = ("Abundance", "Brevity", "Calm", "Daring", "Ease", "Finesse")
    page = "".join(item.format(n=n, name=name) for n, name in enumerate(names))
    assert len(find(f"<main><h1>Acme</h1>{page}</main>").lists[0].entries) == 6


def test_an_address_is_not_made_from_a_slug_that_a_link_ends_with() -> None:
    data = json.dumps([{"title": title, "slug": f"{n}-title"} for n, title in enumerate(TITLES)])
    links = rows("<li><a href=/d/{n}-title>{title}</a></li>")
    found = entries(f'<ul>{links}</ul><script type="application/json">{{"posts": {data}}}</script>')
    assert [entry.url for entry in found] == [f"https://site.example/d/{n}-title" for n in range(5)]


@pytest.mark.parametrize(
    ("column", "days"),
    [
        (("10:34", "09:15", "11-17", "11-17", "11-15"), ("18", "18", "17", "17", "15")),
        (("18.11.", "17.11.", "17.11.", "16.11.", "15.11."), ("18", "17", "17", "16", "15")),
        (("10:34", "09:15", "08:02", "07:45", "06:30"), None),
        (("4-2", "1-1", "0-3", "2-2", "3-1"), None),
    ],
)  # fmt: skip
def test_a_column_of_short_dates_goes_back_in_time(column: tuple[str, ...], days: tuple[str, ...] | None) -> None:
    lines = "".join(
        f"<li><a href=/a/{n}>{title}</a><b>{cell}</b></li>"
        for n, (title, cell) in enumerate(zip(TITLES, column, strict=True))
    )
    times = [entry.published for entry in entries(f"<ul>{lines}</ul>")]
    given = tuple(datetime.fromtimestamp(time / 1000, UTC).strftime("%d") for time in times if time is not None)
    assert given == (days or ())


def test_an_advertisement_between_the_entries_is_left_out() -> None:
    row = "<div class='card'><h3><a href=/a/{n}>{title}</a></h3></div>"
    ad = "<div class='card card--ad'><h3><a href=https://ads.example/1>Warm shoes for the whole winter</a></h3></div>"
    assert len(entries(f"<main>{rows(row)}{ad}{rows(row)}</main>")) == 5


def test_what_is_called_an_advertisement_everywhere_is_the_list() -> None:
    found = entries(f"<ul>{rows('<li class=ad-item><h2><a href=/a/{n}>{title}</a></h2></li>')}</ul>")
    assert [entry.title for entry in found] == TITLES


def test_a_card_that_is_one_link_has_the_title_of_its_title_line() -> None:
    card = (
        '<a class="card" href="/a/{n}"><div>News</div><div>3 May 2026</div><div class="card-title">{title}</div>'
        "<p>Number {n} of the notes says at some length what happened to the lock, and when.</p></a>"
    )
    assert [entry.title for entry in entries(f"<main>{rows(card)}</main>")] == TITLES


def test_a_title_may_hold_a_date() -> None:
    row = '<li><b>Minutes of the council, {n} May 2026</b> {title} <a href="/a/{n}.pdf">PDF</a></li>'
    found = entries("<ul>" + "".join(row.format(n=n + 1, title="") for n in range(5)) + "</ul>")
    assert found[0].title == "Minutes of the council, 1 May 2026"
    assert found[0].published == int(datetime(2026, 5, 1, tzinfo=UTC).timestamp() * 1000)


def test_days_that_ascend_from_now_are_those_of_events_to_come() -> None:
    row = '<li><h3><a href="/a/{n}">{title}</a></h3><span>{n}0 December</span></li>'
    found = entries("<ul>" + "".join(row.format(n=n, title=TITLES[n]) for n in (1, 2, 3)) + "</ul>")
    assert [datetime.fromtimestamp((e.published or 0) / 1000, UTC).year for e in found] == [2026] * 3


def test_people_beside_the_news_are_not_entries_though_they_are_built_alike() -> None:
    people = "".join(f"<li><a href=/people/{n}>Professor Anna Number {n}</a></li>" for n in range(8))
    news = "".join(f"<li><b>{n} May 2026</b> <a href=/news/n{n}.html>{TITLES[n]}</a></li>" for n in (1, 2, 3, 4))
    found = entries(f"<div><div><ul>{people}</ul></div><div><ul>{news}</ul></div></div>")
    assert [entry.title for entry in found] == TITLES[1:5]


def test_json_ld_names_the_entries_of_a_page_without_links() -> None:
    posts = [
        {"@type": "BlogPosting", "headline": title, "url": f"/a/{n}", "datePublished": "2026-11-04T10:00:00Z"}
        for n, title in enumerate(TITLES)
    ]
    data = json.dumps({"@type": "Blog", "blogPost": posts})
    lists = find(f'<script type="application/ld+json">{data}</script><div id=app></div>')
    assert lists.lists[0].recipe.source == "json-ld"
    assert lists.lists[0].entries[0].published == 1_793_786_400_000


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 400])
def test_a_number_that_is_no_time_is_no_date(number: str) -> None:
    posts = ",".join(
        f'{{"@type": "Article", "headline": "{title}", "url": "/a/{n}", "datePublished": {number}}}'
        for n, title in enumerate(TITLES)
    )
    lists = find(f'<script type="application/ld+json">[{posts}]</script><div id=app></div>')
    assert [entry.published for entry in lists.lists[0].entries] == [None] * len(TITLES)


def test_half_a_character_of_a_text_that_was_cut_is_left_out() -> None:
    posts = [
        {
            "@type": "Article",
            "headline": f"{title}\ud83d",
            "url": f"/a/{n}\udc00",
            "description": "Cut \ud83d",
            "image": "/\0",
        }
        for n, title in enumerate(TITLES)
    ]
    lists = find(f'<script type="application/ld+json">{json.dumps(posts)}</script><div id=app></div>')
    first = lists.lists[0].entries[0]
    assert (first.title, first.url[-4:], first.teaser) == (TITLES[0], "/a/0", "Cut")
    assert orjson.dumps(lists.lists)


def test_breadcrumbs_in_json_ld_are_no_list() -> None:
    crumbs = [{"@type": "ListItem", "name": f"The section {n}", "item": f"/s/{n}"} for n in range(4)]
    data = json.dumps({"@type": "BreadcrumbList", "itemListElement": crumbs})
    assert find(f'<script type="application/ld+json">{data}</script><p>Text</p>').lists == ()


def test_the_sections_of_a_changelog_are_its_entries() -> None:
    sections = "".join(
        f"<h2 id=v{n}>Version 1.{n}</h2><p>{n + 1} November 2026</p><p>Mended things.</p>" for n in range(4)
    )
    found = entries(f"<main>{sections}</main>", "https://site.example/changes")
    assert [entry.key for entry in found] == [f"https://site.example/changes#v{n}" for n in range(4)]


def test_a_label_before_some_titles_is_not_their_title() -> None:
    row = '<div class="item"><div class="t">{label}<a href="/t/{n}">{title}</a></div><small>2 replies</small></div>'
    label = '<a class="label" href="/?prefix=3">Question</a> '
    html = "".join(row.format(n=n, title=title, label=label * (n % 2)) for n, title in enumerate(TITLES))
    assert [entry.title for entry in entries(f"<main>{html}</main>")] == TITLES


def test_a_release_is_not_named_after_its_files() -> None:
    row = (
        '<section><a href="/r/v{n}.1.0">v{n}.1.0</a><time datetime="2026-11-0{n}T09:00:00Z"></time><p>Fixes.</p><ul>'
        '<li><a href="/d/{n}/weir-v{n}.1.0-linux.tar.gz">weir-v{n}.1.0-linux.tar.gz</a></li>'
        '<li><a href="/d/{n}/weir-v{n}.1.0-mac.zip">weir-v{n}.1.0-mac.zip</a></li></ul></section>'
    )
    found = entries("<main>" + "".join(row.format(n=n) for n in range(6, 1, -1)) + "</main>")
    assert [entry.title for entry in found] == [f"v{n}.1.0" for n in range(6, 1, -1)]


def test_a_line_that_only_says_yesterday_is_a_date() -> None:
    row = "<div><span>Harbour</span><span>·</span><span>Yesterday</span><h3><a href=/a/{n}>{title}</a></h3></div>"
    yesterday = int(datetime(2026, 11, 17, tzinfo=UTC).timestamp() * 1000)
    assert {entry.published for entry in entries(f"<main>{rows(row)}</main>")} == {yesterday}


@pytest.mark.parametrize(("width", "found"), [(56, "https://site.example/logo/1.png"), (20, None)])
def test_only_a_large_logo_is_the_picture_of_an_entry(width: int, found: str | None) -> None:
    row = '<div><img src="/logo/{n}.png" width="WIDTH"><h3><a href=/jobs/{n}>{title}</a></h3></div>'
    assert entries(f"<main>{rows(row.replace('WIDTH', str(width)))}</main>")[1].image == found


def test_a_list_in_a_box_called_widget_is_no_side_matter() -> None:
    row = '<article><h3><a href="/a/{n}">{title}</a></h3></article>'
    menu = "".join(f'<li><a href="/m/{n}">Menu {n}</a></li>' for n in range(30))
    page = f'<nav><ul>{menu}</ul></nav><div class="page-widget-wrap">{rows(row)}</div>'
    assert [entry.title for entry in entries(page)] == TITLES


def test_versions_that_link_to_their_changes_are_sections_of_the_changelog() -> None:
    part = (
        '<h2 id="v{n}"><a href="https://code.example/weir/compare/{n}.1.0">{n}.1.0</a> - 2026-11-0{n}</h2>'
        '<h3 id="added{n}">Added</h3><ul><li>A wider gate (<a href="https://code.example/i/{n}1">#{n}1</a>).</li>'
        '<li>A lower step (<a href="https://code.example/i/{n}2">#{n}2</a>).</li></ul>'
    )
    found = entries("<main><h1>Changelog</h1>" + "".join(part.format(n=n) for n in range(6, 2, -1)) + "</main>")
    assert [entry.url for entry in found] == [f"{URL}#v{n}" for n in range(6, 2, -1)]
    assert found[0].title == "6.1.0 - 2026-11-06"


def test_a_section_may_have_its_id_around_its_heading() -> None:
    section = '<section id=v{n}><h2>Version 2.{n}<a href="#v{n}">¶</a></h2><p>Released 2026-11-0{n}</p></section>'
    found = entries("<main>" + "".join(section.format(n=n) for n in (3, 2, 1)) + "</main>")
    assert [(entry.url[-3:], entry.title) for entry in found] == [(f"#v{n}", f"Version 2.{n}") for n in (3, 2, 1)]
    assert all(entry.published is not None for entry in found)


def test_the_chapters_of_an_article_are_no_entries() -> None:
    chapters = "".join(
        f"<h2 id=c{n}>{title}</h2><p>What we know about it so far.</p>" for n, title in enumerate(TITLES)
    )
    assert not find(f"<article><h1>Locks</h1><time>12 October 2026</time><div>{chapters}</div></article>").lists


def test_a_date_for_phones_alone_comes_behind_the_one_that_is_shown() -> None:
    row = (
        "<li><a href=/t/{n}>{title}</a><p style='display: none'><time datetime=2026-11-18>x</time></p>"
        "<p><time datetime=2026-11-1{n}>x</time></p></li>"
    )
    dates = [
        datetime.fromtimestamp((entry.published or 0) / 1000, UTC).day for entry in entries(f"<ul>{rows(row)}</ul>")
    ]
    assert dates == [10, 11, 12, 13, 14]


def test_a_day_between_pairs_of_terms_is_no_part_of_the_next_pair() -> None:
    days = "".join(
        f"<h3>Tue, {day} Nov 2026 (3 entries)</h3>"
        + "".join(f"<dt><a href=/abs/{day}{n}>[{n}]</a></dt><dd><div>{TITLES[n]}</div></dd>" for n in range(3))
        for day in (18, 17)
    )
    found = entries(f"<dl>{days}</dl>")
    assert [entry.title for entry in found] == TITLES[:3] * 2
    assert [datetime.fromtimestamp((entry.published or 0) / 1000, UTC).day for entry in found] == [18] * 3 + [17] * 3


def test_the_date_in_an_address_counts_more_than_one_above_the_list() -> None:
    found = entries(f"<h2>17 November 2026</h2><ul>{rows('<li><a href=/2026/11/1{n}/x/>{title}</a></li>')}</ul>")
    assert [datetime.fromtimestamp((entry.published or 0) / 1000, UTC).day for entry in found] == [10, 11, 12, 13, 14]


def test_an_error_page_and_a_page_of_people_have_no_list() -> None:
    links = f"<main><ul>{rows('<li><a href=/a/{n}>{title}</a></li>')}</ul></main>"
    assert find(f"<title>News of the river</title>{links}").lists
    reason = find(f"<title>River board | Page not found</title>{links}").reason
    assert reason is not None and reason.code == "page_is_error"
    names = ("Anna Brook", "Tom Wilk", "Leyla Stone", "Jan Reed", "Sofia Marsh")
    cards = "".join(
        f"<div><img src=/{n}.jpg><h3><a href=/team/{name[:3]}/>{name}</a></h3></div>" for n, name in enumerate(names)
    )
    assert not find(f"<main>{cards}</main>").lists


def test_a_news_sitemap_is_a_list() -> None:
    urls = "".join(
        f"<url><loc>https://site.example/a/{n}</loc><news:news><news:publication_date>2026-11-1{n}</news:publication_date>"
        f"<news:title>{title}</news:title></news:news></url>"
        for n, title in enumerate(TITLES)
    )
    names = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    lists = find(f"<?xml version='1.0'?><urlset {names}>{urls}</urlset>")
    assert lists.lists[0].recipe.source == "news-sitemap"
    assert [entry.title for entry in lists.lists[0].entries] == TITLES


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", "No list of entries was found on this page."),
        ('<div id="root"></div><script>start()</script>', "The page is empty until its scripts run in a browser."),
        (
            "<h1>Before you continue</h1><p>We value your privacy. Accept all cookies?</p><button>Accept</button>",
            "The site asks for consent first.",
        ),
        ("<form>Sign in to continue <input name=x type=password></form>", "The site asks to log in first."),
        ("<title>404 Not Found</title><p>Nothing here</p>", "The site answered with an error page."),
        ("<p>x</p>" * 1_300_000, "The page is too large: it has more than 10 MB."),
        ("<div>" * 50_000 + "<a href=/x>a link that lies deep</a>", "No list of entries was found on this page."),
    ],
    ids=["empty", "shell", "consent", "login", "error", "large", "deep"],
)
def test_without_a_list_there_is_a_reason(html: str, reason: str) -> None:
    lists = find(html)
    assert lists.lists == ()
    assert lists.reason is not None and lists.reason.message == reason


def test_an_endless_list_is_refused() -> None:
    row = "<li><a href='/a/{n}'>The river board decides about lock {n}</a></li>"
    lists = find("<ul>" + "".join(row.format(n=n) for n in range(MAX_ENTRIES + 1)) + "</ul>")
    assert lists.lists == ()
    assert lists.reason is not None
    assert lists.reason.message == "The list on this page is too long: it has more than 1000 entries."


def test_related_articles_that_are_built_like_the_list_are_left_out() -> None:
    card = "<div class=card><a href=/{kind}/{n}><img src=/i/{n}.jpg></a><h3><a href=/{kind}/{n}>{title}</a></h3></div>"
    news = "".join(card.format(kind="news", n=n, title=title) for n, title in enumerate(TITLES))
    more = "".join(card.format(kind="old", n=n, title=f"Another walk along lock {n}") for n in range(4))
    found = entries(f"<div><h1>News</h1>{news}<div class=head><h2>You might also like</h2></div>{more}</div>")
    assert [entry.title for entry in found] == TITLES


def test_a_title_that_is_cut_off_is_read_from_its_attribute() -> None:
    row = '<li><a href=/a/{n} title="{title}">The river board decides…</a></li>'
    found = entries(f"<ul>{rows(row)}</ul>")
    assert [entry.title for entry in found] == TITLES


def test_groups_of_entries_are_not_taken_for_entries() -> None:
    group = "<div class=topic><img src=/i/{n}.jpg><ul>{links}</ul></div>"
    links = [[f"/2026/11/18/{10 * n + k}.html" for k in range(3)] for n in range(4)]
    html = "".join(
        group.format(n=n, links="".join(f"<li><a href={url}>{TITLES[n]} in {url[-6]}</a></li>" for url in urls))
        for n, urls in enumerate(links)
    )
    assert len(entries(f"<div>{html}</div>")) == 12


def test_the_parts_of_page_data_are_read_in_their_order() -> None:
    parts = [
        {"articles": [{"title": f"{title} {part}", "url": f"/{part}/{n}"} for n, title in enumerate(TITLES)]}
        for part in ("first", "second", "third")
    ]
    html = f'<script id="__NEXT_DATA__" type="application/json">{json.dumps({"sections": parts})}</script>'
    assert [entry.url.split("/")[3] for entry in entries(html)][::5] == ["first", "second", "third"]


def test_a_short_list_of_short_titles_without_dates_is_found() -> None:
    links = "".join(f"<li><a href=/n/{n}>Headline number {n} of the day</a></li>" for n in range(5))
    assert [entry.url for entry in entries(f"<ul>{links}</ul>")] == [f"https://site.example/n/{n}" for n in range(5)]


@pytest.mark.parametrize(
    "picture",
    [
        '<img src="/blank.gif" data-lazy-srcset="/i/{n}.jpg 300w, /j/{n}.jpg 600w">',
        '<div data-bg="/i/{n}.jpg"></div>',
        '<img src="data:image/svg+xml;x" data-lazyload="/i/{n}.jpg">', '<video poster="/i/{n}.jpg"></video>',
        '<amp-img src="/i/{n}.jpg" width=300 height=200></amp-img>', '<noscript><img src="/i/{n}.jpg"></noscript>',
    ],
)  # fmt: skip
def test_pictures_that_a_script_would_load_are_found(picture: str) -> None:
    row = "<article>" + picture + "<h2><a href=/a/{n}>{title}</a></h2></article>"
    assert [entry.image for entry in entries(rows(row))] == [f"https://site.example/i/{n}.jpg" for n in range(5)]


CHANGES = (
    "<ul>" + "".join(f"<li>Repaired the lock <a href=https://git.example/{n}>#{n}</a></li>" for n in range(5)) + "</ul>"
)


@pytest.mark.parametrize(
    "section",
    [
        "<section id=v{n}><time datetime=2026-11-1{n}></time><h2>Version 2.{n}</h2>{changes}</section>",
        "<a name=v{n}></a><h3>2.{n} (2026-11-1{n})</h3>{changes}",
        "<details id=v{n}><summary>2.{n} – 1{n} November 2026</summary>{changes}</details>",
        "<dt id=v{n}><b>2.{n}</b> 1{n} November 2026</dt><dd>{changes}</dd>",
        "<div id=v{n}><div><span>Version 2.{n}, 1{n} November 2026</span></div><div>{changes}</div></div>",
        "<div><h2>Version 2.{n} <a href=#v{n}>#</a></h2><span>1{n} November 2026</span>{changes}</div>",
    ],
)
def test_the_versions_of_a_changelog_are_entries_not_their_changes(section: str) -> None:
    body = "".join(section.replace("{n}", str(n)).replace("{changes}", CHANGES) for n in range(5))
    found = entries(f"<main><h1>Changelog</h1><div>{body}</div></main>")
    assert [entry.url for entry in found] == [f"{URL}#v{n}" for n in range(5)]
    assert all(entry.published is not None for entry in found)


def test_the_days_of_a_list_are_no_entries() -> None:
    day = "<h2 id=d{d}>1{d} November 2026</h2><ul>{links}</ul>"
    links = "".join(f"<li><a href=/n/{{d}}{n}-slug>{title}</a></li>" for n, title in enumerate(TITLES))
    body = "".join(day.replace("{links}", links).replace("{d}", str(d)) for d in range(4, 0, -1))
    assert len(entries(f"<main>{body}</main>")) == 4 * len(TITLES)


@pytest.mark.parametrize(
    "row",
    [
        "<p id=x{n}><span>1{n}.11.2026</span> <a href=/a/{n}><b>{title}</b></a><br>Some words.</p>",
        "<tr><td><span id=x{n}>1{n}.11.2026</span></td><td><a href=/a/{n}>{title}</a></td></tr>",
    ],
)
def test_an_item_that_links_to_its_article_is_not_named_after_its_day(row: str) -> None:
    page = rows(row) if row.startswith("<p") else f"<table>{rows(row)}</table>"
    found = entries(f"<main><h1>News</h1>{page}</main>")
    assert [entry.title for entry in found] == TITLES
    assert [entry.key for entry in found] == [f"https://site.example/a/{n}" for n in range(5)]


def test_a_table_that_a_form_sorts_is_a_list() -> None:
    row = "<tr><td><a href=/a/{n}>{title}</a></td><td>1{n} November 2026</td></tr>"
    filler = "<p>Words about the town.</p>" * 40
    found = entries(f"<main><h1>News</h1><form><input><table>{rows(row)}</table></form></main>{filler}")
    assert [entry.title for entry in found] == TITLES


def test_a_heading_over_pictures_of_recommendations_says_nothing_of_the_news_above() -> None:
    news = "<dl>" + rows("<dt>1{n} November 2026</dt><dd><a href=/a/{n}>{title}</a></dd>") + "</dl>"
    pictures = "".join(f"<a href=/s/{n}><img src=/s/{n}.png></a>" for n in range(4))
    filler = "<div><p>Words about the town.</p></div>" * 40
    box = f"<div><section>{news}</section><section><h2>Recommended</h2>{pictures}</section></div>"
    assert [entry.title for entry in entries(f"<body>{box}{filler}</body>")] == TITLES


def test_the_higher_of_two_headings_in_a_link_is_the_title() -> None:
    row = "<article><a href=/a/{n}><h2>Lock {title}</h2><h3>{title} and some more about it</h3></a></article>"
    assert [entry.title for entry in entries(f"<main>{rows(row)}</main>")] == [f"Lock {title}" for title in TITLES]


def test_comments_below_a_text_are_no_list() -> None:
    row = "<li><article><time datetime=2026-11-1{n}></time><p>{title}</p><a href='?reply={n}'>Reply</a></li>"
    text = "<p>Leeks and eggs.</p>" * 30
    page = f"<main><h1>A tart</h1>{text}<section id=comments><ol>{rows(row)}</ol></section></main>"
    assert find(page, "https://site.example/tart/").reason is not None


def test_a_page_that_is_called_notices_has_a_list_without_dates() -> None:
    text = "<p>What anglers, boaters and all others must know.</p>"
    row = "<h2><a href=/{name}>{name} rules for boats on rivers</a></h2>" + text
    names = ("Abundance", "Brevity", "Calm", "Daring", "Ease", "Finesse")
    page = "".join(f"<div>{row.format(name=name)}</div>" for name in names)
    assert find(f"<main><h1>Boats</h1>{page}</main>", "https://site.example/").reason is not None
    assert len(entries(f"<main><h1>Notices</h1>{page}</main>", "https://site.example/")) == 6


def test_a_list_after_a_long_introduction_is_found() -> None:
    words = (
        "<p>This site is about the trams of a town that took up its rails in 1951, and has been sorry since.</p>" * 12
    )
    row = "<p><b>1{n} November 2026:</b> Added <a href=/a/{n}>{title}</a>.</p>"
    assert [entry.title for entry in entries(f"<body><h1>Trams</h1>{words}{rows(row)}</body>")] == TITLES


def test_places_with_telephones_are_no_list() -> None:
    row = "<div><img src=/{n}.jpg><h3><a href=/shops/{n}>Long street {n}, Quay</a></h3><p>tel 22 555 011{n}</p></div>"
    page = "".join(row.format(n=n) for n in range(7))
    assert find(f"<main><h1>Shops</h1>{page}</main>", "https://site.example/shops").reason is not None


def test_the_lines_of_preformatted_text_have_their_own_dates() -> None:
    lines = "".join(f"2026-11-1{9 - n}  <a href=log/{n}.html>{title}</a>\n" for n, title in enumerate(TITLES))
    pages = "".join(f"<a href={name}.txt>{name} me</a>  " for name in ("about", "meet", "write"))
    found = entries(f"<pre>{pages}\n\n{lines}</pre>", "https://site.example/")
    assert [entry.title for entry in found if entry.published] == TITLES
    days = [datetime.fromtimestamp(entry.published / 1000, UTC).day for entry in found if entry.published]
    assert days == [19, 18, 17, 16, 15]

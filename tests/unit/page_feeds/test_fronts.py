"""Fronts of several blocks, and pages whose lists are not what anybody would follow."""

from datetime import UTC, datetime

import pytest

from reedbed.domain.failures import FailureCode
from reedbed.domain.page_feeds import PageEntry, PageLists
from reedbed.ingest.page_feeds.apply import apply_recipe
from reedbed.ingest.page_feeds.finder import find_lists

NOW = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp() * 1000)
URL = "https://site.example/"
GRID = "".join(
    f"<article class=card><h3><a href=/the-ferry-of-day-{day}>The ferry of day {day}</a></h3>"
    f"<time datetime=2026-11-{day:02}>{day} Nov</time></article>"
    for day in range(9, 3, -1)
)
HELP = "".join(
    f"<li><a href=/help/36{n}0-{name}>How do I change the {name} of my account</a></li>"
    for n, name in enumerate(("name", "address", "password", "language", "currency", "picture"))
)
THINGS = ("Double room above the harbour", "Family room with a balcony", "Attic with a terrace", "Room for one person")


def find(html: str, url: str = URL) -> PageLists:
    return find_lists(html.encode(), url, now=NOW)


def entries(html: str) -> tuple[PageEntry, ...]:
    return find(html).lists[0].entries


def lead(day: int, *, title: str = "h2") -> str:
    return (
        f"<div class=hero-{day}><a href=/the-lock-of-day-{day}><span class=hero-title><{title}>The lock of day {day}"
        f"</{title}></span></a><time datetime=2026-11-{day}>{day} Nov</time></div>"
    )


@pytest.mark.parametrize("title", ["h2", "b"])
def test_the_newest_entries_above_a_grid_belong_to_its_list(title: str) -> None:
    page = f"<section>{''.join(lead(day, title=title) for day in (17, 16, 14, 12))}</section><main>{GRID}</main>"
    found = entries(page)
    assert [entry.title for entry in found[:5]] == [f"The lock of day {day}" for day in (17, 16, 14, 12)] + [
        "The ferry of day 9"
    ]
    assert len(found) == 10
    again = apply_recipe(page.encode(), find(page).lists[0].recipe, URL, now=NOW)
    assert again.lists[0].entries == found


def test_what_an_editor_picked_from_the_archive_does_not_join_the_list() -> None:
    picks = "".join(
        f"<li><h3><a href=/an-old-story-of-{year}>An old story of {year}</a></h3><time datetime={year}-03-01>x</time>"
        for year in (2019, 2018, 2015)
    )
    assert len(entries(f"<ul>{picks}</ul><main>{GRID}</main>")) == 6


def test_events_to_come_do_not_join_the_news() -> None:
    events = "".join(
        f"<li><h3><a href=/a-concert-on-day-{day}>A concert on day {day}</a></h3><time datetime=2026-12-{day}>x</time>"
        for day in (11, 12, 13)
    )
    assert len(entries(f"<ul>{events}</ul><main>{GRID}</main>")) == 6


def test_a_page_to_log_in_has_no_list_but_notices_with_dates() -> None:
    form = "<h1>Welcome</h1><form><input name=u><input type=password name=p><button>Go</button></form>"
    found = find(f"<main>{form}<ul>{HELP}</ul></main>")
    assert found.reason is not None and found.reason.code is FailureCode.ARTICLE_NEEDS_LOGIN
    assert len(entries(f"<main>{form}{GRID}</main>")) == 6


def test_a_field_for_a_password_in_a_menu_says_nothing() -> None:
    rows = "".join(f"<li><a href=/topic/{n}10>Which rope for the harbour number {n}</a></li>" for n in range(8))
    form = "<div class=dropdown><form><input type=password></form></div>"
    assert len(entries(f"<header>{form}</header><main><ul>{rows}</ul></main>")) == 8


@pytest.mark.parametrize("name", ["Help Center", "Häufige Fragen", "よくある質問", "Карта сайта"])
def test_a_page_of_help_has_no_list(name: str) -> None:
    assert find(f"<h1>{name}</h1><main><ul>{HELP}</ul></main>").reason is not None


def test_the_questions_below_a_heading_are_no_list() -> None:
    page = f"<main><h1>Boats</h1><p>For hire.</p><div><h2>Frequently asked</h2><ul>{HELP}</ul></div></main>"
    assert find(f"{page}<footer>{'<p>Harbour 1</p>' * 20}</footer>").reason is not None


def test_the_lessons_of_a_course_are_no_list() -> None:
    lessons = "".join(
        f"<li><a href=/courses/web/lesson-{n}><h3>What a browser does, part {n}</h3></a><span>{40 + n} min</span></li>"
        for n in range(1, 7)
    )
    assert find(f"<h1>The web</h1><ol>{lessons}</ol>", f"{URL}courses/web").reason is not None


def test_a_few_things_on_offer_are_no_list() -> None:
    rooms = "".join(
        f"<article><img src=/{n}.jpg><h3><a href=/rooms/{n}-room>{thing}</a></h3><p>{80 + n} € a night</p></article>"
        for n, thing in enumerate(THINGS)
    )
    assert find(f"<h1>Hotel</h1>{rooms}").reason is not None


def test_goods_that_go_with_an_empty_cart_are_no_list() -> None:
    goods = "".join(
        f"<div class=card><a href=/p/{n}88><img src=/{n}.jpg><h3>{thing}</h3></a><span>{80 + n} €</span></div>"
        for n, thing in enumerate((*THINGS, "Breakfast on the pier"))
    )
    assert find(f"<h1>Your things</h1><p>Nothing yet.</p><section><h2>You may also like</h2>{goods}</section>").reason


def test_a_line_below_the_title_with_the_same_link_is_not_the_title() -> None:
    rows = "".join(
        f"<div><a href=/p/letter-{n}>The letter {n}</a><a href=/p/letter-{n}>With much to say of it, number {n}</a>"
        f"<time datetime=2026-11-1{n}>1{n} Nov</time></div>"
        for n in range(5)
    )
    assert entries(f"<main>{rows}</main>")[0].title == "The letter 0"


@pytest.mark.parametrize("folder", ["features", "leistungen"])
def test_what_has_a_folder_of_what_a_site_offers_is_no_list(folder: str) -> None:
    cards = "".join(
        f"<div><h3><a href=/{folder}/{name}-for-{n}>Everything that you need for the {name}</a></h3></div>"
        for n, name in enumerate(("office", "workshop", "kitchen", "harbour", "garden", "stable"))
    )
    assert find(f"<h1>Less paper</h1><main>{cards}</main>").reason is not None


@pytest.mark.parametrize(("heading", "found"), [("Our fields", False), ("Our news", True), ("Fields", True)])
def test_what_a_site_calls_its_own_is_no_list_unless_it_is_news(heading: str, found: bool) -> None:
    rows = "".join(
        f"<li><a href=/fields/{name}-law><h3>The law of the {name} and of its people</h3></a></li>"
        for name in ("harbour", "river", "market", "village", "family")
    )
    page = f"<main><h1>Lawyers</h1><section><h2>{heading}</h2><ul>{rows}</ul></section></main>"
    assert bool(find(f"{page}<footer>{'<p>Harbour 1</p>' * 20}</footer>").lists) is found


def test_what_stands_below_the_only_article_is_no_list() -> None:
    text = "<p>Mash the pumpkin while it is hot, and add the flour.</p>" * 5
    more = "".join(
        f"<div><a href=/recipes/{name}><img src=/{name}.jpg><h3>{name.title()} with a slice of pumpkin</h3></a></div>"
        for name in ("soup", "risotto", "bread", "cake", "ravioli")
    )
    assert find(f"<main><article><h1>Gnocchi</h1>{text}</article><section>{more}</section></main>").reason is not None


def test_a_base_that_is_no_address_of_the_web_is_ignored() -> None:
    assert entries(f"<base href='javascript:alert(1)'><main>{GRID}</main>")[0].url.startswith(URL)

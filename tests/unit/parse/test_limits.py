import time
from collections.abc import Callable

import pytest

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.ingest.parse import parse_feed, parse_safely
from tests.unit.parse.feeds import URL, attempt, item, read, rss

BILLION_LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>'
    "<rss><channel><title>&c;</title></channel></rss>"
)
QUADRATIC = f'<!DOCTYPE x [<!ENTITY a "{"x" * 900}">]><rss><channel><title>{"&a;" * 50_000}</title></channel></rss>'
DEEP = "<rss><channel>" + "<a>" * 100_000 + "</a>" * 100_000 + "</channel></rss>"
WIDE = "<rss " + " ".join(f'a{n}=">"' for n in range(50_000)) + f">{rss('<title>One</title>')[40:]}"
CROWDED = "<rss><channel>" + "<a/>" * 400_000 + "</channel></rss>"
AMPERSANDS = "<rss><channel>" + "&" * 9_000_000
UNFINISHED = rss("<title>One</title>") + "<!--" + "-" * 9_000_000
TANGLED = "<rss><channel><title>T</title><item><title>One</title><description><p>a<p>b<li>c</description></item>" + (
    "<item><title>Two</title></item></channel></rss>"
)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (BILLION_LAUGHS, "entities within entities"),
        (QUADRATIC, "far too large"),
        (DEEP, "nested too deeply"),
        (WIDE, "too many attributes"),
        (CROWDED, "too many elements"),
        (AMPERSANDS, "too large to be repaired"),
        (UNFINISHED, "too large to be repaired"),
    ],
)
def test_documents_made_to_hurt_are_refused_at_once(document: str, reason: str) -> None:
    start = time.process_time()
    outcome = attempt(document)
    assert isinstance(outcome, NotAFeed)
    assert reason in outcome.reason.message
    assert time.process_time() - start < 1


def test_tags_within_cdata_and_comments_do_not_count() -> None:
    nested = "<div>" * 250
    assert item(f"<description><![CDATA[{nested}]]></description><!-- {nested} -->").content == nested


async def test_a_suspect_that_is_only_odd_is_read_in_its_own_process() -> None:
    feed = await parse_safely(WIDE.encode(), content_type=None, url=URL)
    assert isinstance(feed, ParsedFeed)
    assert [entry.title for entry in feed.entries] == ["One"]


async def test_unclosed_tags_that_swallow_entries_are_left_to_the_last_resort() -> None:
    in_process = parse_feed(TANGLED.encode(), content_type=None, url=URL)
    assert isinstance(in_process, ParsedFeed)
    assert len(in_process.entries) == 1
    feed = await parse_safely(TANGLED.encode(), content_type=None, url=URL)
    assert isinstance(feed, ParsedFeed)
    assert [entry.title for entry in feed.entries] == ["One", "Two"]


async def test_a_bomb_in_the_sandbox_is_refused_too() -> None:
    outcome = await parse_safely(BILLION_LAUGHS.encode(), content_type=None, url=URL)
    assert isinstance(outcome, NotAFeed)


def test_only_the_newest_entries_of_a_huge_feed_are_kept() -> None:
    items = [f"<guid>{n}</guid><pubDate>{_day(n)}</pubDate>" for n in range(700)]
    kept = [int(entry.guid or "") for entry in read(rss(*items)).entries]
    assert kept == list(range(200, 700))


def _day(n: int) -> str:
    return f"{n % 28 + 1:02} Jan {2000 + n // 28} 00:00:00 GMT"


@pytest.mark.parametrize(
    ("markup", "length"),
    [
        (lambda: f"<title>{'x' * 5000}</title>", lambda entry: len(entry.title) == 1000),
        (lambda: f"<guid>{'x' * 5000}</guid>", lambda entry: entry.guid.startswith("sha256:")),
        (lambda: f"<link>https://a.example/{'x' * 5000}</link>", lambda entry: entry.url is None),
        (lambda: "<category>a</category>" + "".join(f"<category>{n}</category>" for n in range(99)),
         lambda entry: len(entry.categories) == 50),
    ],
)  # fmt: skip
def test_every_field_has_its_bound(markup: Callable[[], str], length: Callable[[object], bool]) -> None:
    assert length(item(markup()))


def test_many_elements_that_close_themselves_are_not_deep() -> None:
    assert item("<category term='a'/>" * 300 + "<title>x</title>").title == "x"

from datetime import UTC, datetime

import pytest

from reedbed.ingest.page_feeds.dates import DateReader, day_order

NOW = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp() * 1000)


def written(text: str, language: str = "de") -> str | None:
    found = DateReader(NOW, day_order([text], language)).written(text)
    return None if found is None else datetime.fromtimestamp(found.time / 1000, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    "text",
    [
        "4 November 2026", "November 4, 2026", "Nov. 4th, 2026", "4. November 2026, 14:30 Uhr", "04.11.2026", "4.11.26",
        "Publié le 4 novembre 2026", "4 de noviembre de 2026", "4 novembre 2026", "4 de novembro de 2026",
        "4 listopada 2026", "4 Kasım 2026", "4 ноября 2026, 14:30", "٤ نوفمبر ٢٠٢٦", "2026年11月4日", "令和8年11月4日",
        "2026년 11월 4일", "[2026-11-04]", "2026/11/04(水) 10:00", "4 november 2026", "Wed 4 Nov", "2 weeks ago",
        "vor 2 Wochen", "il y a 14 jours", "14 dagen geleden", "14日前",
        "4 नवंबर 2026", "4 พ.ย. 2569", "Ngày 4 tháng 11 năm 2026", "2026. november 4.", "4 ноември 2026",
    ],
)  # fmt: skip
def test_a_written_date_is_read(text: str) -> None:
    assert written(text) == "2026-11-04"


@pytest.mark.parametrize(
    "text",
    [
        "", "Version 4.11.2", "12 comments", "20 Market Street", "Apply by 4 November 2026",
        "Bewerbungsfrist: 4.11.2026", "99.99.2026",
        "31 February 2026", "€ 4.11", "may be", "3 minutes of reading", "4 November 1066",
        "20 stars today", "Mehr Infos hier", "Marka 1", "Julia 7", "3 decorations", "Mayor 5", "Маркетинг 12",
    ],
)  # fmt: skip
def test_what_is_no_date_of_publication_gives_none(text: str) -> None:
    assert written(text) is None


@pytest.mark.parametrize("text", ["vorgestern", "позавчера", "前天 10:21"])
def test_the_day_before_yesterday_is_known(text: str) -> None:
    assert written(text) == "2026-11-16"


@pytest.mark.parametrize("text", ["18 2026-11", "2026.11 18", "18日 2026年11月"])
def test_a_day_beside_its_month_is_read(text: str) -> None:
    assert written(text) == "2026-11-18"


def test_a_short_year_stands_first_in_korean_and_last_in_german() -> None:
    for language, text in (("ko", "26.11.18"), ("de", "18.11.26")):
        found = DateReader(NOW, "dmy", language).written(text)
        assert found is not None and (found.month, found.day, found.has_year) == (11, 18, True)


def test_hier_is_yesterday_in_french_alone() -> None:
    assert DateReader(NOW, "dmy", "fr-fr").written("Publié hier") is not None
    assert DateReader(NOW, "dmy", "nl").written("Begin hier") is None


def test_an_attribute_for_programs_may_hold_a_day_as_people_write_it() -> None:
    assert (
        DateReader(NOW, "dmy", "cs").machine("12. 11. 2026")
        == int(datetime(2026, 11, 12, tzinfo=UTC).timestamp()) * 1000
    )
    assert DateReader(NOW, None, "en").machine("3/4/2026") is None


def test_the_order_of_day_and_month_is_proved_or_comes_from_the_language() -> None:
    assert day_order(["3/4/2026", "13/4/2026"], "en") == "dmy"
    assert day_order(["3/4/2026", "3/24/2026"], "en") == "mdy"
    assert day_order(["3/4/2026"], "en-US") == "mdy"
    assert day_order(["3/4/2026"], "en-GB") == "dmy"


def test_an_ambiguous_date_in_plain_english_is_not_guessed() -> None:
    assert written("3/4/2026", "en") is None


def test_a_day_without_a_year_is_the_latest_one_that_is_not_ahead() -> None:
    assert written("24 December") == "2025-12-24"


@pytest.mark.parametrize("url", ["/2026/11/04/x", "/news/2026-11-04-x", "/t20261104_9.shtml", "/2026/1104/c1.html"])
def test_a_date_in_an_address_is_read(url: str) -> None:
    time = DateReader(NOW, None).in_url(f"https://site.example{url}")
    assert time == 1_793_750_400_000


@pytest.mark.parametrize("url", ["/2026/13/04/x", "/a/20261", "/p-1234567890", "/2099/01/01/x"])
def test_other_numbers_in_an_address_are_no_date(url: str) -> None:
    assert DateReader(NOW, None).in_url(f"https://site.example{url}") is None

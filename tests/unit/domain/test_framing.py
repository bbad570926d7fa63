"""Bands, quotes, fairness and domains."""

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.framing import (
    check_prompt,
    check_root_domain,
    comparable,
    fair,
    is_on_domain,
    score_band,
    text_hash,
    variant_for,
    verified_quote,
)

ARTICLE = comparable("He said: “the war on the  ordinary motorist” – and left.")


@pytest.mark.parametrize(
    ("value", "band"), [(0, "calm"), (0.339, "calm"), (0.34, "mixed"), (0.669, "mixed"), (0.67, "loud"), (1, "loud")]
)
def test_bands(value: float, band: str) -> None:
    assert score_band(value) == band


def test_a_quote_stands_in_the_text_whatever_its_quotes_blanks_and_case() -> None:
    assert verified_quote('"The war on\nthe ordinary motorist"', ARTICLE) == "The war on the ordinary motorist"
    assert verified_quote("motorist” – and left", ARTICLE)


@pytest.mark.parametrize("quote", ["the war on ordinary motorists", "", "  ", "he" * 400, "x"])
def test_a_quote_that_does_not_is_nothing(quote: str) -> None:
    assert verified_quote(quote, ARTICLE) == ""


def test_every_feed_has_its_turn_and_an_address_comes_once() -> None:
    loud = [(f"u{number}", f"loud {number}") for number in range(10)]
    quiet = [("u1", "quiet, same address"), ("q", "quiet")]
    assert fair([loud, quiet, []], 4) == ["loud 0", "quiet, same address", "loud 2", "quiet"]
    assert fair([quiet, loud], 100)[:2] == ["quiet, same address", "loud 0"]
    assert len(fair([quiet, loud], 100)) == 11
    assert fair([], 5) == [] == fair([loud], 0)


@pytest.mark.parametrize(
    ("item", "own", "inside"),
    [
        ("https://www.example.co.uk/a", None, True),
        ("https://example.com/a", None, False),
        ("https://example.com/a", "example.com", True),
        (None, None, True),
        ("mailto:a@example.co.uk", None, False),
    ],
)
def test_items_of_other_sites_are_off_domain(item: str | None, own: str | None, inside: bool) -> None:
    assert is_on_domain(item, "https://feeds.example.co.uk/rss", own) is inside


def test_a_text_is_another_one_by_its_title_prompt_language_or_model() -> None:
    keys = {
        variant_for(model, language, prompt).key(text_hash(title, "c"))
        for model in ("m", "n")
        for language in ("", "de")
        for prompt in (None, "Be strict.", "Be kind.")
        for title in ("A", "B")
    }
    assert len(keys) == 24


def test_settings_are_checked() -> None:
    assert check_prompt("  \x00 ") is None
    assert check_root_domain(" Example.ORG. ") == "example.org"
    for bad in ("", "https://example.org", "a b", "-a.org", "a..b", "x" * 300):
        with pytest.raises(Invalid):
            check_root_domain(bad)
    with pytest.raises(Invalid):
        check_prompt("x" * 2_001)

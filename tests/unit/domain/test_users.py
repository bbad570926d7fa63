"""Scopes, names, devices, preferences and letters: plain values."""

import pytest

from reedbed.domain.auth import LINK_LIFETIMES, link_url
from reedbed.domain.email import link_email
from reedbed.domain.errors import Invalid
from reedbed.domain.users import (
    Preferences,
    TokenScope,
    change_preferences,
    check_token_name,
    device_name,
    read_preferences,
    read_scopes,
    scope_words,
)


def test_whoever_writes_may_read() -> None:
    assert read_scopes(["write"]) == {TokenScope.READ, TokenScope.WRITE}
    assert scope_words(read_scopes(["admin", "write"])) == "read write admin"


@pytest.mark.parametrize("words", [[], ["all"], ["read", "READ"]])
def test_other_scopes_are_refused(words: list[str]) -> None:
    with pytest.raises(Invalid):
        read_scopes(words)


@pytest.mark.parametrize("name", ["", "  ", "\0\u200b", "x" * 101])
def test_a_token_needs_a_name_that_can_be_shown(name: str) -> None:
    with pytest.raises(Invalid):
        check_token_name(name)


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/128.0.0.0 Safari/537.36 Edg/128.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
            "(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        ("NetNewsWire/6.1 (RSS Reader; https://netnewswire.com/)", "NetNewsWire"),
        ("curl/8.5.0", "curl"),
        ("", "Unknown device"),
        (None, "Unknown device"),
        ("(", "Unknown device"),
        ("x" * 500, "x" * 60),
    ],
)
def test_a_device_has_a_name_in_plain_words(user_agent: str | None, words: str) -> None:
    assert device_name(user_agent) == words


def test_preferences_of_another_version_fall_back_to_defaults() -> None:
    stored = {"theme": "dark", "density": "unknown", "gone": 1, "scroll_marks": "yes"}
    assert read_preferences(stored) == Preferences(theme="dark")


@pytest.mark.parametrize(
    "wrong",
    [
        {"gone": 1},
        {"theme": "pink"},
        {"theme": None},
        {"open_marks": 1},
        {"language": "en us"},
        {"time_zone": "Europe/../etc"},
        {"summary_language": "x" * 50},
    ],
)
def test_unknown_preferences_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        change_preferences(Preferences(), wrong)
    assert refused.value.field == f"preferences.{next(iter(wrong))}"


def test_preferences_change_choice_by_choice() -> None:
    changed = change_preferences(Preferences(theme="dark"), {"language": "pt-BR", "time_zone": "Europe/Berlin"})
    assert changed == Preferences(theme="dark", language="pt-BR", time_zone="Europe/Berlin")


@pytest.mark.parametrize("purpose", LINK_LIFETIMES)
def test_a_letter_names_its_link_once_and_how_long_it_works(purpose: str) -> None:
    url = link_url("https://reader.example", purpose, "secret")
    letter = link_email("a@example.org", purpose, url)
    assert letter.text.count(url) == 1
    lasts = {"reset": "1 hour", "verify": "3 days", "invite": "7 days"}[purpose]
    assert f"works once, for {lasts}." in letter.text
    assert "secret" not in letter.subject

"""`reedbed admin feed` and `root-domain`, as an operator types them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reedbed.cli.main import admin
from tests.feedsite import FeedSite
from tests.harness import open_harness

URL = "https://feeds.example.co.uk/rss"


@pytest.fixture
def type_in(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("REEDBED_DATABASE_URL", sqlite_url)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, typed: str = "") -> Result:
        return CliRunner().invoke(admin, list(words), input=typed)

    return run


def said(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_feed_is_added_enabled_synced_listed_and_deleted(type_in) -> None:
    (made,) = said(type_in("feed", "add", URL, "--max-failures", "1", "--json"))
    assert (made["enabled"], made["polling"], made["next_run_at"]) == (False, False, None)
    assert (made["root_domain"], made["max_failures"], made["enforce_domain"]) == ("example.co.uk", 1, True)
    refused = type_in("feed", "sync", URL)
    assert refused.exit_code == 1 and "disabled" in refused.exception.message
    assert said(type_in("feed", "enable", "1", "--json"))[0]["next_run_at"] is None
    assert said(type_in("feed", "sync", URL, "--json"))[0]["next_run_at"]
    table = type_in("feed", "list").stdout.splitlines()
    columns = ["id", "url", "status", "enabled", "polling", "deframed", "root_domain", "next_run_at", "why"]
    assert table[0].split() == columns and len(table) == 2
    assert "is deleted" in type_in("feed", "delete", "1").stdout
    assert said(type_in("feed", "list", "--json")) == []
    assert "deleted" in type_in("feed", "sync", "1").exception.message


async def test_the_list_says_which_feeds_have_stopped_or_are_damaged_and_why(
    type_in, sqlite_url: str, site: FeedSite
) -> None:
    site.misbehave(status=410)
    async with open_harness(sqlite_url) as harness:
        await harness.follow(site.feed_url())
        half = b"<rss version='2.0'><channel><title>Half</title><item><guid>1</guid><title>One</title></item><it"
        site.misbehave(feed="half", body=half, content_type="application/rss+xml")
        await harness.follow(site.feed_url("half"))
        await harness.check()
    line, damaged = await asyncio.to_thread(lambda: said(type_in("feed", "list", "--json")))
    assert (line["status"], line["stop_reason"]) == (
        "stopped",
        "The site says that this feed is gone for good (410 Gone).",
    )
    assert (damaged["status"], damaged["last_error"]) == (
        "damaged",
        "The feed is damaged. Some of its entries may be missing.",
    )
    _, first, second = (await asyncio.to_thread(lambda: type_in("feed", "list").stdout)).splitlines()
    assert " stopped " in first and first.rstrip().endswith("gone for good (410 Gone).")
    assert " damaged " in second and second.rstrip().endswith("may be missing.")


def test_polling_is_set_and_never_toggled(type_in) -> None:
    type_in("feed", "add", URL)
    for state in ("on", "on", "off", "off"):
        assert said(type_in("feed", "polling", URL, state, "--json"))[0]["polling"] is (state == "on")
    assert type_in("feed", "polling", URL).exit_code == 2
    assert type_in("feed", "polling", URL, "maybe").exit_code == 2


def test_root_domains_are_listed_set_and_cleared_by_number_or_address(type_in) -> None:
    type_in("feed", "add", URL)
    type_in("feed", "add", "https://other.example.co.uk/rss")
    assert (
        said(type_in("feed", "add", "https://third.example/rss", "--no-root-domain", "--json"))[0]["root_domain"]
        is None
    )
    assert said(type_in("root-domain", "list", "--json")) == [{"root_domain": "example.co.uk", "feeds": 2}]
    type_in("root-domain", "set", "1", "Example.ORG")
    assert said(type_in("root-domain", "clear", "https://other.example.co.uk/rss", "--json"))[0]["root_domain"] is None
    assert said(type_in("root-domain", "list", "--json")) == [{"root_domain": "example.org", "feeds": 1}]
    assert type_in("root-domain", "set", "1", "not a name").exit_code == 1
    assert type_in("root-domain", "set", "99", "example.org").exit_code == 1


def test_settings_are_changed_one_by_one(type_in) -> None:
    type_in("feed", "add", URL, "--no-enforce-domain", "--prompt", "Mind the adjectives.")
    (changed,) = said(type_in("feed", "set", "1", "--max-failures", "3", "--no-deframe", "--json"))
    assert (changed["max_failures"], changed["deframed"], changed["enforce_domain"]) == (3, False, False)


def test_the_way_of_fetching_is_set_shown_without_secrets_and_cleared(type_in) -> None:
    type_in("feed", "add", URL, "--user-agent", "Heron/1.0", "--interval", "30")
    proxy = ("--proxy", "https://up:proxy-word@proxy.example:3128/")
    login = ("--username", "heron", "--password-stdin", "--allow-duplicate-urls")
    changed = type_in("feed", "set", "1", *proxy, *login, "--json", typed="site-word\n")
    (one,) = said(changed)
    assert (one["proxy"], one["username"], one["has_password"]) == ("https://***@proxy.example:3128", "heron", True)
    assert (one["user_agent"], one["interval_minutes"], one["allow_duplicate_urls"]) == ("Heron/1.0", 30, True)
    listed = type_in("feed", "list", "--json")
    assert said(listed) == said(changed)
    assert "-word" not in changed.output + listed.output
    fields = ("proxy", "user-agent", "username", "interval")
    cleared = [word for name in fields for word in ("--clear", name)]
    (one,) = said(type_in("feed", "set", "1", *cleared, "--no-allow-duplicate-urls", "--json"))
    names = ("proxy", "user_agent", "username", "interval_minutes", "has_password", "allow_duplicate_urls")
    assert [one[name] for name in names] == [None, None, None, None, False, False]


def test_a_setting_that_cannot_be_is_refused_in_one_sentence(type_in) -> None:
    type_in("feed", "add", URL)
    for words, sentence in (
        (("--proxy", "socks5://proxy.example"), "A proxy has an address like"),
        (("--proxy", "http://127.0.0.1:3128"), "REEDBED_ALLOW_NETWORKS"),
        (("--interval", "1"), "between 15 minutes"),
        (("--password-stdin",), "needs a user name"),
        (("--username", "heron", "--clear", "username"), "both set and cleared"),
    ):
        refused = type_in("feed", "set", "1", *words, typed="word\n")
        assert refused.exit_code == 1 and sentence in refused.exception.message

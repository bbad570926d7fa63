import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reedbed.cli.parse import extract_command
from tests.feedsite import FeedSite
from tests.serving import in_thread

TEXT = "The reeds along the shore had grown so tall that nobody could see the water. " * 5


def run(*arguments: str, page: str | None = None):
    return CliRunner().invoke(extract_command, arguments, input=page)


def test_an_article_is_printed_as_one_json_object(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<title>Reeds</title><p>{TEXT}<img src=/a.png></p>", "utf-8")
    result = run(str(file), "--url", "https://site.example/x")
    found = json.loads(result.stdout)
    assert list(found) == ["title", "byline", "site_name", "published", "lang", "image", "content_html", "text"]
    assert found["title"] == "Reeds"
    assert found["image"] == "https://site.example/a.png"


def test_a_page_without_an_article_is_one_sentence_on_stderr() -> None:
    result = run("-", "--url", "https://site.example/x", page="<p></p>")
    assert result.exit_code == 1
    assert result.stderr == "The page contains no article text.\n"
    assert result.stdout == ""


def test_a_missing_file_is_one_sentence_on_stderr() -> None:
    result = run("/nowhere/page.html", "--url", "https://site.example/x")
    assert result.exit_code == 1
    assert result.stderr.startswith("The file cannot be read")


LIST_PAGE = "<title>News</title><ul>" + "".join(
    f"<li><a href=/a/{n}>The river board decides about lock {n}</a> <time datetime=2026-11-0{n}>x</time></li>"
    for n in range(1, 5)
)


def test_the_list_of_a_page_is_printed_as_json_feed() -> None:
    found = json.loads(run("--list", "-", "--url", "https://site.example/", page=LIST_PAGE).stdout)
    assert (found["version"], found["title"]) == ("https://jsonfeed.org/version/1.1", "News")
    assert found["items"][0] == {
        "id": "https://site.example/a/1",
        "url": "https://site.example/a/1",
        "title": "The river board decides about lock 1",
        "content_text": "",
        "date_published": "2026-11-01T00:00:00Z",
    }


def test_without_a_base_addresses_stay_relative() -> None:
    assert json.loads(run("--list", "-", page=LIST_PAGE).stdout)["items"][0]["url"] == "/a/1"


def test_without_a_list_there_are_no_items_but_a_reason() -> None:
    result = run("--list", "-", page="<p>Text</p>")
    assert result.exit_code == 0
    assert result.stderr == "No list of entries was found on this page.\n"
    found = json.loads(result.stdout)
    assert (found["items"], found["_reedbed"]["reason"]) == ([], "No list of entries was found on this page.")


def test_the_article_of_a_file_needs_its_address() -> None:
    assert run("-", page="<p>x</p>").exit_code == 2


def test_an_article_is_fetched_from_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REEDBED_ALLOW_NETWORKS", "127.0.0.0/8")
    with in_thread(FeedSite()) as site:
        address = site.put("/marsh/reeds", f"<title>Reeds</title><p>{TEXT}<img src=a.png></p>")
        found = json.loads(run(address).stdout)
        missing = run(f"{site.url}/nothing")
    assert (found["title"], found["image"]) == ("Reeds", f"{site.url}/marsh/a.png")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert missing.stderr.count("\n") == 1


def test_an_address_needs_no_scheme_and_a_page_that_is_gone_is_called_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REEDBED_ALLOW_NETWORKS", "127.0.0.0/8")
    with in_thread(FeedSite()) as site:
        bare = site.put("/x", f"<title>Reeds</title><p>{TEXT}").removeprefix("http://")
        assert json.loads(run(bare).stdout)["title"] == "Reeds"
        gone = run(f"{bare}/gone")
    assert (gone.exit_code, gone.stdout) == (1, "")
    assert gone.stderr == "There is nothing at this address: the site answered 404. Check it for a typing error.\n"

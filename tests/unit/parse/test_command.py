from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from reedbed.cli.parse import parse_command
from tests.unit.parse.feeds import DATA, rss


def test_a_feed_is_printed_as_json_feed() -> None:
    result = CliRunner().invoke(parse_command, [str(DATA / "podcast.xml"), "--url", "https://marsh.example/feed.xml"])
    assert result.exit_code == 0
    feed = orjson.loads(result.stdout)
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["home_page_url"] == "https://marsh.example/"
    first, second = feed["items"]
    assert (first["id"], first["url"]) == ("ep-1", "https://marsh.example/1")
    assert first["date_published"] == "2024-09-07T08:00:00Z"
    assert first["authors"][0] == {"name": "Anna Reed", "url": "mailto:anna@marsh.example"}
    assert first["attachments"][0]["duration_in_seconds"] == 3723
    assert "https://marsh.example/notes" in first["content_html"]
    assert (second["id"], second["content_html"]) == ("https://marsh.example/2", "Only a permalink.")


def test_content_is_printed_clean(tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    file.write_text(rss("<description>&lt;p onclick='x()'&gt;hi&lt;script&gt;</description>"))
    result = CliRunner().invoke(parse_command, [str(file)])
    assert orjson.loads(result.stdout)["items"][0]["content_html"] == "<p>hi</p>"


def test_a_picture_over_http_is_printed_with_its_address(tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    file.write_text(rss("<description>&lt;img src='http://e.example/a.png?a=1&amp;amp;b=2'&gt;</description>"))
    content = orjson.loads(CliRunner().invoke(parse_command, [str(file)]).stdout)["items"][0]["content_html"]
    assert content == '<img src="http://e.example/a.png?a=1&amp;b=2" loading="lazy" decoding="async">'


def test_several_feeds_are_one_line_each() -> None:
    result = CliRunner().invoke(parse_command, [str(DATA / "wire.rdf"), str(DATA / "journal.atom")])
    assert [orjson.loads(line)["title"] for line in result.stdout.splitlines()] == ["Wire", "A slow journal"]


def test_standard_input_is_a_dash() -> None:
    result = CliRunner().invoke(parse_command, ["-"], input=(DATA / "blog.json").read_bytes())
    assert orjson.loads(result.stdout)["title"] == "Json blog"


@pytest.mark.parametrize(("body", "sentence"), [("<html>", "web page"), (None, "cannot be read")])
def test_what_cannot_be_read_is_one_sentence_and_exit_code_1(tmp_path: Path, body: str | None, sentence: str) -> None:
    file = tmp_path / "page.html"
    if body is not None:
        file.write_text(body)
    result = CliRunner().invoke(parse_command, [str(file)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_missing_file_is_not_taken_for_an_address() -> None:
    result = CliRunner().invoke(parse_command, ["no-such-feed.xml"])
    assert result.exit_code == 1
    assert "cannot be read" in result.stderr

import json
from pathlib import Path

from click.testing import CliRunner

from reedbed.cli.parse import extract_command

TEXT = "The reeds along the shore had grown so tall that nobody could see the water. " * 5


def run(*arguments: str, page: str | None = None):
    return CliRunner().invoke(extract_command, arguments, input=page)


def test_an_article_is_printed_as_one_json_object(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<title>Reeds</title><p>{TEXT}<img src=/a.png></p>", "utf-8")
    result = run(str(file), "--url", "https://site.example/x")
    found = json.loads(result.stdout)
    assert list(found) == [
        "title",
        "byline",
        "site_name",
        "published",
        "lang",
        "image",
        "content_html",
        "text",
    ]
    assert found["title"] == "Reeds"
    assert found["image"] == "https://site.example/a.png"


def test_a_page_without_an_article_is_one_sentence_on_stderr() -> None:
    result = run("-", "--url", "https://site.example/x", page="<p></p>")
    assert result.exit_code == 1
    assert result.stderr == "The page holds no article text.\n"
    assert result.stdout == ""


def test_a_missing_file_is_one_sentence_on_stderr() -> None:
    result = run("/nowhere/page.html", "--url", "https://site.example/x")
    assert result.exit_code == 1
    assert result.stderr.startswith("The file cannot be read")

"""Files of recipes: what is wrong with one is said with its key, and nothing of it is used."""

from pathlib import Path

import pytest

from reedbed.domain.recipes.files import VALUES, contrast, gather, read_file
from reedbed.domain.recipes.values import ConnectorRecipe, SiteRecipe, ThemeRecipe
from reedbed.domain.sharing.services import Kind
from reedbed.domain.sharing.targets import ShareLink, ShareTarget, link_values
from reedbed.ingest.recipes import RecipeFolder, read_recipe_file

EXAMPLES = Path(__file__).parents[3] / "examples" / "recipes"
THEME = """kind = "theme"
name = "Night"
[dark]
paper = "#101418"
ink = "#e0e4e8"
accent = "#7fb4ff"
"""
CONNECTOR = """kind = "connector"
name = "Box"
purpose = "save"
[[fields]]
name = "token"
label = "Key"
[[steps]]
address = "{address}/add"
[steps.json]
url = "{url}"
"""
SITE = """kind = "site"
name = "Courier"
hosts = ["courier.example"]
[article]
keep = ["main"]
"""


def problems(text: str, file: str = "one.toml") -> list[tuple[str | None, str]]:
    return [(problem.field, problem.message) for problem in read_file(file, text.encode()).problems]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_the_examples_are_right(file: Path) -> None:
    assert read_recipe_file(file).problems == ()


@pytest.mark.parametrize(
    ("text", "key", "sentence"),
    [
        ("x", None, "This is not TOML: Expected '=' after a key in a key/value pair (at end of document)."),
        ("", "kind", "This key is missing."),
        ('kind = "code"', "kind", "Choose one of: site, connector, theme."),
        (THEME.replace("paper", "papr"), "dark.paper", "This key is missing."),
        (THEME + 'x = "url(https://evil.example)"', "dark.x", "There is no such key here."),
        (THEME.replace("#101418", "red;}body{}"), "dark.paper", "This must look like #1d4f3c."),
        (THEME.replace("#101418", "#ffffff"), "dark.paper", "The paper must be dark."),
        (THEME.replace("#e0e4e8", "#404448"), "dark.ink", "The contrast of ink on paper is 1.9; it must be 4.5"),
        (THEME.replace("#7fb4ff", "#203040"), "dark.accent", "The contrast of accent on paper"),
        (THEME + '[letters]\nfont = "comic"', "letters.font", "Choose one of: serif, sans, literata, atkinson."),
        ('kind = "theme"\nname = "None"', "light", "A theme needs the colours"),
        (CONNECTOR.replace("save", "steal"), "purpose", "Choose one of: save, tell."),
        (CONNECTOR.replace("{url}", "{secret_key}"), "steps[1].json", "There is no {secret_key}. There are: {address}"),
        (CONNECTOR.replace("{address}/add", "https://{token}.example/"), "steps[1].address", "This must begin with"),
        (CONNECTOR.replace("{address}/add", "{token:address}"), "steps[1].address", "This must begin with"),
        (CONNECTOR.replace("{address}/add", "{address}.evil.example/"), "steps[1].address", "This must begin with"),
        (CONNECTOR.replace("{address}/add", "file:///etc/passwd"), "steps[1].address", "This must begin with"),
        (CONNECTOR.replace('"token"', '"url"'), "fields[1].name", "This name is taken."),
        (CONNECTOR.replace('label = "Key"', ""), "fields[1].label", "This key is missing."),
        (CONNECTOR + '[steps.headers]\n"X Y" = "1"', "steps[1].headers", "Write each header"),
        (CONNECTOR + '[steps.form]\na = "1"', "steps[1].form", "A step sends json or a form, not both."),
        (CONNECTOR + "[limits]\nburst = 0", "limits.burst", "This must be a number from 1 to 1000."),
        (SITE.replace('["main"]', '"main"'), "article.keep", "This must be a list of 1 to 20 texts."),
        (SITE.replace("courier.example", "https://courier.example/"), "hosts", "This must look like example.org"),
        (SITE + "[[lists]]\n", "lists[1].item", "This key is missing."),
        (
            'kind = "site"\nname = "S"\nhosts = ["a.example"]',
            "article",
            "A site needs an [article], [[lists]] or both.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_key(text: str, key: str | None, sentence: str) -> None:
    found = problems(text)
    assert [message for field, message in found if field == key and message.startswith(sentence)], found


def test_all_mistakes_of_a_file_are_named_at_once() -> None:
    found = problems('kind = "site"\nname = 3\ncolour = 1\n', "My Site.toml")
    assert [key for key, _ in found] == [None, "name", "hosts", "article", "colour"]


def test_a_file_that_is_too_large_or_no_text_is_not_read() -> None:
    assert read_file("big.toml", b"#" * 70_000).problems[0].message == "The file has more than 65536 bytes."
    assert read_file("odd.toml", b"\xff\xfe").problems[0].message == "The file is not written in UTF-8."
    assert read_file("deep.toml", b"a = " + b"[" * 30_000).recipe is None


def test_the_values_that_a_connector_can_name_are_those_that_are_filled_in() -> None:
    target = ShareTarget(1, 1, Kind.READECK, "", "https://links.example", {}, 0, None, None)
    filled = link_values(target, ShareLink("", ""), now=0, unique="")
    assert set(filled) - {"token", "signed_token"} == VALUES


def test_colours_that_are_left_out_are_made_and_can_be_read() -> None:
    theme = read_file("night.toml", THEME.encode()).recipe
    assert isinstance(theme, ThemeRecipe) and theme.dark is not None and theme.light is None
    colours = {
        name: (int(value[1:3], 16), int(value[3:5], 16), int(value[5:], 16)) for name, value in theme.dark.items()
    }
    assert len(colours) == 15
    for text in ("ink", "ink-2", "accent", "warn"):
        assert contrast(colours[text], colours["paper"]) >= 4.5
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


def test_a_theme_becomes_rules_of_its_own_name_only() -> None:
    sheet = gather([read_file("night.toml", THEME.encode())]).style_sheet
    assert sheet.startswith('@layer tokens{[data-theme="own-night"]{color-scheme:dark;--paper:#101418;')
    assert "url(" not in sheet and "@import" not in sheet
    assert sheet.count("{") == sheet.count("}")


def test_recipes_are_found_by_host_and_path() -> None:
    lists = '[[lists]]\npath = "/news/*"\nitem = "li"\n[[lists]]\npath = "/"\nitem = "article"\n'
    text = SITE.replace('"courier.example"', '"courier.example", "*.valley.example"') + lists
    recipes = gather([read_file("courier.toml", text.encode())])
    for url in ("https://courier.example/a", "http://www.valley.example/", "https://valley.example:8443/x"):
        found = recipes.article_selectors(url)
        assert found is not None and found.keep == ("main",)
    for url in ("https://notcourier.example/", "https://courier.example.evil/", "https://[", "mailto:x"):
        assert recipes.article_selectors(url) is None
    items = {path: recipes.list_selectors(f"https://courier.example{path}") for path in ("/news/a", "", "/other")}
    assert [found.item if found else None for found in items.values()] == ["li", "article", None]


def test_the_folder_is_read_again_when_a_file_changes_and_a_wrong_one_is_left_out(tmp_path: Path) -> None:
    folder = RecipeFolder(tmp_path / "recipes")
    assert not folder.look() and folder.current.files == ()
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "box.toml").write_text(CONNECTOR)
    (tmp_path / "recipes" / "night.toml").write_text(THEME.replace("#101418", "black"))
    (tmp_path / "recipes" / "notes.txt").write_text("not a recipe")
    assert folder.look() and not folder.look()
    assert [file.file for file in folder.current.wrong] == ["night.toml"]
    assert list(folder.current.connectors) == ["file:box"] and folder.current.themes == {}
    (tmp_path / "recipes" / "night.toml").write_text(THEME)
    (tmp_path / "recipes" / "box.toml").unlink()
    assert folder.look()
    assert list(folder.current.themes) == ["own-night"] and not folder.current.connectors
    assert not folder.current.wrong


def test_selectors_are_checked_by_the_parsers(tmp_path: Path) -> None:
    file = tmp_path / "courier.toml"
    file.write_text(SITE.replace('"main"', '"main >>> p"') + '[[lists]]\nitem = "li[["\n')
    assert [problem.field for problem in read_recipe_file(file).problems] == ["article.keep", "lists[1].item"]
    assert read_recipe_file(tmp_path / "gone.toml").problems[0].message.startswith("The file cannot be read")


def test_each_kind_is_read_as_what_it_is() -> None:
    assert isinstance(read_file("a.toml", SITE.encode()).recipe, SiteRecipe)
    connector = read_file("b.toml", CONNECTOR.encode()).recipe
    assert isinstance(connector, ConnectorRecipe)
    assert connector.service.fields[0].label == "Key"

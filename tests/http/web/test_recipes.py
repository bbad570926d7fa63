"""Themes, connectors and the operator's page of what was added."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reedbed.ingest.plugins import Plugin, Plugins
from reedbed.roles.app import Application
from reedbed.services.runtime import Runtime
from tests.clients import Client, SignIn
from tests.unit.domain.test_recipes import CONNECTOR, SITE, THEME


@pytest.fixture
def folder(runtime: Runtime, tmp_path: Path) -> Path:
    runtime.recipes.path = tmp_path
    return tmp_path


def write(folder: Path, runtime: Runtime, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    runtime.recipes.look()


async def test_a_theme_of_a_file_can_be_chosen_and_is_gone_with_it(
    reader: Client, runtime: Runtime, folder: Path
) -> None:
    assert "themes.css" not in (await reader.get("/settings/look")).text
    write(folder, runtime, night=THEME + '[letters]\nfont = "atkinson"\n')
    page = (await reader.get("/settings/look")).text
    assert 'value="own-night"' in page and "Night" in page
    assert "fonts" not in page.split("<body")[0]
    await reader.post("/settings/look", data={"theme": "own-night"})
    page = (await reader.get("/settings/look")).text
    assert '<html lang="en" data-theme="own-night"' in page
    assert "fonts" in page.split("<body")[0]
    address = page.split('href="/themes.css')[1].split('"')[0]
    sheet = await reader.get(f"/themes.css{address}")
    assert sheet.headers["content-type"].startswith("text/css") and "immutable" in sheet.headers["cache-control"]
    assert '[data-theme="own-night"]' in sheet.text
    assert (await reader.get("/themes.css?v=old")).headers["cache-control"] == "no-store"
    (folder / "night.toml").unlink()
    runtime.recipes.look()
    assert "data-theme" not in (await reader.get("/settings/look")).text.split("<head>")[0]


async def test_a_theme_that_is_not_there_is_no_attribute(reader: Client) -> None:
    for value in ("own-gone", 'own-"><script>', "own-x" * 30):
        await reader.post("/settings/look", data={"theme": value})
        assert "data-theme" not in (await reader.get("/settings/look")).text.split("<head>")[0]


async def test_a_connector_of_a_file_is_added_like_a_built_in_one(
    reader: Client, runtime: Runtime, folder: Path
) -> None:
    write(folder, runtime, box=CONNECTOR)
    page = (await reader.get("/settings/sharing?kind=file:box")).text
    assert "Key" in page and 'value="file:box"' in page
    offered = (await reader.get("/api/v1/share-services")).json()["items"]
    assert offered[-1]["kind"] == "file:box" and offered[-1]["fields"][0]["label"] == "Key"
    data = {"kind": "file:box", "url": "https://box.example", "token": "abc"}
    assert (await reader.post("/settings/sharing", data=data)).status_code == 303
    (folder / "box.toml").unlink()
    runtime.recipes.look()
    page = await reader.get("/settings/sharing")
    assert page.status_code == 200 and "box.example" in page.text


async def test_the_operator_sees_each_file_and_what_is_wrong(
    reader: Client, by_cookie: SignIn, runtime: Runtime, folder: Path
) -> None:
    operator = await by_cookie("o@example.org", role="owner")
    assert "There are no files" in (await operator.get("/admin/added")).text
    (folder / "night.toml").write_text(THEME)
    (folder / "courier.toml").write_text(SITE.replace("keep", "kep"))
    page = (await operator.get("/admin/added")).text
    assert "Dark theme" in page and str(folder) in page
    assert "article.kep" in page and "There is no such key here. There are: keep, drop." in page
    assert 'href="/admin/added"' in (await operator.get("/admin")).text
    german = (await operator.get("/admin/added", headers={"Accept-Language": "de"})).text
    assert "Diesen Schlüssel gibt es hier nicht." in german
    assert (await reader.get("/admin/added")).status_code == 403


async def test_a_plugin_that_is_off_is_named_and_switched_on_again(
    by_cookie: SignIn, app: Application, runtime: Runtime
) -> None:
    plugin = Plugin("tides", "reedbed-tides 1.0", SimpleNamespace(connector=str))
    plugin.note_fault("connector", "<b>KeyError</b>", fatal=True)
    app.state.runtime = replace(runtime, plugins=Plugins([plugin, Plugin("gone", fault="Not installed.")]))
    owner = await by_cookie("owner@example.org", role="owner")
    owner.headers["Sec-Fetch-Site"] = "same-origin"
    page = (await owner.get("/admin/added")).text
    assert "connector: &lt;b&gt;KeyError&lt;/b&gt;" in page and "Not installed." in page
    assert page.count("/on") == 1, "what could not be loaded cannot be switched on"
    assert (await owner.post("/admin/added/plugins/tides/on")).status_code == 303
    assert "KeyError" not in (await owner.get("/admin/added")).text
    assert (await owner.post("/admin/added/plugins/gone/on")).status_code == 404
    reader = await by_cookie("reader@example.org")
    reader.headers["Sec-Fetch-Site"] = "same-origin"
    assert (await reader.post("/admin/added/plugins/tides/on")).status_code == 403

"""The language of pages: what the browser asks for, what the user has chosen, and what caches may know of it."""

import re

from tests.clients import Client

GERMAN = {"Accept-Language": "nb, de-AT;q=0.8, en;q=0.2"}


async def test_a_visitor_gets_the_language_of_the_browser_and_caches_are_told(client: Client) -> None:
    page = await client.get("/offline", headers=GERMAN)
    assert '<html lang="de"' in page.text and "dir=" not in page.text.partition(">")[0]
    assert "Accept-Language" in page.headers["vary"]
    assert '<html lang="en"' in (await client.get("/offline", headers={"Accept-Language": "zh-TW, zh;q=0.9"})).text


async def test_the_chosen_language_wins_and_another_one_is_refused(reader: Client) -> None:
    assert 'lang="de"' in (await reader.get("/settings/look", headers=GERMAN)).text
    await reader.post("/settings/look", data={"language": "en"})
    page = (await reader.get("/settings/look", headers=GERMAN)).text
    assert 'lang="en"' in page and re.search(r'<option value="en" selected', page)
    refused = await reader.post("/settings/look", data={"language": "tlh"})
    assert refused.status_code == 400 and "language must be one of en, de" in refused.text
    await reader.post("/settings/look", data={"language": ""})
    assert 'lang="de"' in (await reader.get("/settings/look", headers=GERMAN)).text


async def test_the_install_prompt_is_in_the_language_of_the_browser(client: Client) -> None:
    english = await client.get("/manifest.webmanifest")
    german = await client.get("/manifest.webmanifest", headers=GERMAN)
    assert english.headers["content-type"] == "application/manifest+json"
    assert "Accept-Language" in german.headers["vary"]
    assert [english.json()["lang"], german.json()["lang"], german.json()["dir"]] == ["en", "de", "ltr"]
    assert german.json()["shortcuts"][0]["name"] == "Ungelesen"


async def test_scripts_get_the_plural_forms_of_the_language(reader: Client) -> None:
    page = (await reader.get("/unread", headers=GERMAN)).text
    assert 'data-new-one="{n} neuer Eintrag" data-new-other="{n} neue Einträge"' in page

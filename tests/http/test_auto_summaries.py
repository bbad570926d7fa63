"""What is summarised by itself and what is sent to nobody, as it is chosen by programs and on the page."""

from dataclasses import replace

from reedbed.roles.app import Application
from reedbed.services.runtime import AiPolicy, Runtime
from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness
from tests.modelserver import ModelServer

FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}


async def test_programs_choose_for_a_feed(reader: Client, harness: RuntimeHarness) -> None:
    address = await _subscription(reader, harness)
    made = (await reader.get(address)).json()
    assert (made["summary_words"], made["local_only"]) == (None, False)
    changed = (await reader.patch(address, json={"summary_words": 300, "local_only": True})).json()
    assert (changed["summary_words"], changed["local_only"]) == (300, True)
    assert (await reader.patch(address, json={"paused": True})).json()["summary_words"] == 300
    assert (await reader.patch(address, json={"summary_words": None})).json()["summary_words"] is None
    for wrong in (-2, 100_001, 2**70, "many"):
        assert (await reader.patch(address, json={"summary_words": wrong})).status_code == 400


async def test_programs_choose_for_a_folder(reader: Client) -> None:
    folder = (await reader.post("/api/v1/folders", json={"name": "News"})).json()
    assert folder["summary_words"] is None
    address = f"/api/v1/folders/{folder['id']}"
    assert (await reader.patch(address, json={"summary_words": -1})).json()["summary_words"] == -1
    assert (await reader.patch(address, json={"name": "Olds"})).json()["summary_words"] == -1
    assert (await reader.patch(address, json={"summary_words": -7})).status_code == 400


async def test_both_are_chosen_on_the_page(
    reader: Client, by_cookie: SignIn, harness: RuntimeHarness, app: Application, runtime: Runtime
) -> None:
    address = await _subscription(reader, harness)
    page = await by_cookie("reader@example.org")
    number = address.rpartition("/")[2]
    plain = (await page.get(f"/feeds/{number}/edit")).text
    assert 'name="summary_words"' in plain and 'name="local_only"' not in plain
    async with ModelServer() as server:
        app.state.runtime = replace(runtime, ai=AiPolicy(model=server.model()))
        assert "Send none of its texts to the model scripted" in (await page.get(f"/feeds/{number}/edit")).text
    chosen = {"summary_words": "500", "local_only": ["false", "true"]}
    assert (await page.post(f"/feeds/{number}", data=chosen, headers=FORM)).status_code == 303
    said = (await reader.get(address)).json()
    assert (said["summary_words"], said["local_only"]) == (500, True)
    assert '<option value="500" selected>' in (await page.get(f"/feeds/{number}/edit")).text
    wrong = await page.post(f"/feeds/{number}", data={"summary_words": "--1"}, headers=FORM)
    assert wrong.status_code == 400


async def test_a_folder_is_chosen_for_on_the_page(reader: Client, by_cookie: SignIn) -> None:
    folder = (await reader.post("/api/v1/folders", json={"name": "News"})).json()
    page = await by_cookie("reader@example.org")
    endpoint = f"/folders/{folder['id']}/summaries"
    assert (await page.post(endpoint, data={"summary_words": "0"}, headers=FORM)).status_code == 303
    assert '<option value="0" selected>' in (await page.get("/folders")).text
    assert (await reader.get(f"/api/v1/folders/{folder['id']}")).json()["summary_words"] == 0
    await page.post(endpoint, data={"summary_words": ""}, headers=FORM)
    assert (await reader.get(f"/api/v1/folders/{folder['id']}")).json()["summary_words"] is None


async def _subscription(reader: Client, harness: RuntimeHarness) -> str:
    await harness.follow("http://127.0.0.1:9/a.xml", user_id=reader.user_id)
    (one,) = (await reader.get("/api/v1/subscriptions")).json()["items"]
    return f"/api/v1/subscriptions/{one['id']}"

"""Rules as a form."""

from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE, texts

HERONS = {
    "name": "Herons",
    "match": "all",
    "field": ["title", "title"],
    "operator": ["contains", "contains"],
    "value": ["herons 1", ""],
    "action": ["star", "tag"],
    "tag": "birds",
}


async def test_a_rule_is_tried_kept_changed_rested_and_deleted(reading: Client, harness: RuntimeHarness) -> None:
    tried = await reading.post("/rules/dry-run", data={**HERONS, "name": ""}, headers=HTMX)
    assert "1 entry would match, of the newest 3." in tried.text and "Herons 1" in tried.text
    assert await harness.column("SELECT name FROM rules") == []
    assert (await reading.post("/rules", data=HERONS)).status_code == 303
    page = (await reading.get("/rules")).text
    assert "Title contains “herons 1” → Star it, tag “birds” · Met 0 times." in page
    (rule,) = await harness.column("SELECT id FROM rules")
    await reading.post(f"/rules/{rule}", data={**HERONS, "name": "Grey herons"})
    await reading.post(f"/rules/{rule}/enabled", data={"value": "false"})
    assert [tuple(row) for row in await harness.rows("SELECT name, enabled FROM rules")] == [("Grey herons", False)]
    assert 'value="Grey herons"' in (await reading.get(f"/rules?edit={rule}")).text
    await reading.post(f"/rules/{rule}/delete")
    assert await harness.column("SELECT name FROM rules") == []


async def test_rules_are_put_in_order(reading: Client, harness: RuntimeHarness) -> None:
    for name in ("One", "Two"):
        await reading.post("/rules", data={**HERONS, "name": name})
    one, two = await harness.column("SELECT id FROM rules ORDER BY id")
    page = (await reading.get("/rules")).text
    assert 'aria-label="Move Two up"' in page and 'aria-label="Move One down"' in page
    for rule, to, names in ((two, "up", ["Two", "One"]), (two, "up", ["Two", "One"]), (two, "down", ["One", "Two"])):
        assert (await reading.post(f"/rules/{rule}/move", data={"to": to})).status_code == 303
        assert await harness.column("SELECT name FROM rules ORDER BY position") == names
    assert (await reading.post(f"/rules/{one + two}/move", data={"to": "up"})).status_code == 404


async def test_a_refused_rule_keeps_everything_that_was_filled_in(reader: Client) -> None:
    wrong = {**HERONS, "name": "", "match": "any", "tag": "wild birds"}
    refused = await reader.post("/rules", data=wrong)
    assert refused.status_code == 400 and texts(refused.text) == ["Rule name is required"]
    for kept in ('value="herons 1"', 'value="wild birds"', '<option value="any" selected>', 'value="tag" checked'):
        assert kept in refused.text


async def test_what_is_wrong_is_told_beside_its_field(reader: Client) -> None:
    for wrong, sentence in (
        ({"value": ["", ""]}, "A rule needs one to 20 conditions"),
        ({"action": []}, "A rule needs one to 10 actions"),
        ({"action": ["tag"], "tag": ""}, "A tag needs a name of at most 100 characters"),
        ({"action": ["notify:webhook"], "webhook": "x"}, "A webhook needs an address"),
        ({"field": ["feed", "title"], "operator": ["is", "is"]}, "For a feed or a folder, choose “contains”."),
    ):
        refused = await reader.post("/rules", data={**HERONS, **wrong})
        assert refused.status_code == 400 and texts(refused.text)[0].startswith(sentence)
        tried = await reader.post("/rules/dry-run", data={**HERONS, **wrong}, headers=HTMX)
        assert tried.status_code == 400 and tried.headers["hx-retarget"] == "#dry-run"


async def test_another_users_rule_is_not_found(reader: Client, by_cookie: SignIn, harness: RuntimeHarness) -> None:
    await reader.post("/rules", data=HERONS)
    (rule,) = await harness.column("SELECT id FROM rules")
    stranger = await by_cookie("stranger@example.org")
    for path in ("", "/enabled", "/apply", "/delete"):
        fields = {**HERONS, "value": "true"} if path == "/enabled" else HERONS
        answer = await stranger.post(f"/rules/{rule}{path}", data=fields, headers=OWN_PAGE)
        assert answer.status_code == 404, path
    assert (await stranger.get(f"/rules?edit={rule}")).status_code == 404

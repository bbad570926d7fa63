"""Where apps find the Google Reader API, how they log in, and what a stranger is told."""

import re

import pytest

from reedbed.services.reader_apps import EDIT_TOKEN_TTL
from tests.http.reader_apps.account import API, EMAIL, READ, AppAccount

PLACES = (
    "",
    "http://127.0.0.1:8080/",
    "/api/greader.php",
    "/greader",
    "/api/greader.php/api/greader.php",
    "/api/greader.php/",
)


@pytest.mark.parametrize("place", PLACES)
async def test_every_place_leads_to_the_same_reader(account: AppAccount, place: str) -> None:
    headers = await account.log_in(place)
    answer = await account.app.get(f"{place}/reader/api/0/user-info", headers=headers)
    assert answer.json()["userEmail"] == EMAIL


@pytest.mark.parametrize("place", [*PLACES[2:], "/greader/", "/reader/api/0", "/reader/api/0/", "/accounts"])
async def test_an_app_that_probes_before_it_logs_in_hears_ok(account: AppAccount, place: str) -> None:
    answer = await account.app.get(place)
    assert (answer.status_code, answer.text) == (200, "OK")
    assert answer.headers["content-type"].startswith("text/plain")


async def test_a_login_answers_three_lines_with_a_value_that_needs_no_escaping(account: AppAccount) -> None:
    answer = await account.app.post("/accounts/ClientLogin", data={"Email": EMAIL, "Passwd": account.password})
    lines = [line.split("=") for line in answer.text.split("\n")]
    assert [line[0] for line in lines] == ["SID", "LSID", "Auth"]
    assert all(len(line) == 2 and re.fullmatch(r"[A-Za-z0-9._-]+", line[1]) for line in lines)


@pytest.mark.parametrize("path", ["/accounts/ClientLogin", "/reader/api/0/accounts/ClientLogin"])
async def test_a_login_may_come_by_get_in_the_query_or_as_a_multipart_form(account: AppAccount, path: str) -> None:
    words = {"Email": EMAIL.upper(), "Passwd": account.password, "service": "reader", "accountType": "GOOGLE"}
    by_get = await account.app.get(path, params=words)
    empty_post = await account.app.post(path, params=words)
    multipart = await account.app.post(path, files={name: (None, value) for name, value in words.items()})
    no_type = await account.app.post(path, content=f"Email={EMAIL}&Passwd={account.password}")
    body_wins = await account.app.post(path, params={**words, "Passwd": "wrong"}, data=words)
    for answer in (by_get, empty_post, multipart, no_type, body_wins):
        assert answer.status_code == 200
        assert "Auth=" in answer.text


async def test_a_login_may_be_answered_in_json(account: AppAccount) -> None:
    words = {"Email": EMAIL, "Passwd": account.password, "output": "json"}
    answer = (await account.app.post("/accounts/ClientLogin", data=words)).json()
    assert set(answer) == {"SID", "LSID", "Auth"}
    headers = {"Authorization": f"GoogleLogin auth={answer['Auth']}"}
    assert (await account.app.get(f"{API}/user-info", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        {"Email": EMAIL, "Passwd": "wrong"},
        {"Email": "nobody@example.org", "Passwd": "wrong"},
        {"Email": EMAIL},
        {},
        {"Email": "", "Passwd": ""},
    ],
)
async def test_a_wrong_login_is_bad_authentication(account: AppAccount, words: dict[str, str]) -> None:
    for _ in range(8):
        answer = await account.app.post("/accounts/ClientLogin", data=words)
        assert (answer.status_code, answer.text) == (401, "Error=BadAuthentication")


async def test_guessing_without_end_is_slowed_down(account: AppAccount) -> None:
    words = {"Email": EMAIL, "Passwd": "wrong"}
    answers = [await account.app.post("/accounts/ClientLogin", data=words) for _ in range(70)]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert await account.log_in()


async def test_a_revoked_app_password_closes_the_endpoint_at_once(account: AppAccount) -> None:
    app = await account.open_app()
    assert (await app.get("user-info")).status_code == 200
    await account.page.delete(f"/api/v1/users/me/tokens/{account.password_id}")
    assert (await app.get("user-info")).status_code == 401
    again = await account.app.post("/accounts/ClientLogin", data={"Email": EMAIL, "Passwd": account.password})
    assert again.status_code == 401


@pytest.mark.parametrize(
    "header", ["", "GoogleLogin auth=", f"GoogleLogin auth=1-{'0' * 40}", "Bearer no", "Basic eDp5", "GoogleLogin x"]
)
async def test_a_stranger_is_unauthorized(account: AppAccount, header: str) -> None:
    for path in ("user-info", "subscription/list", "stream/contents", "token"):
        assert (await account.app.get(f"{API}/{path}", headers={"Authorization": header})).status_code == 401
    answer = await account.app.post(f"{API}/edit-tag", data={"i": "1", "a": READ, "T": "x"})
    assert answer.status_code == 401


async def test_a_bearer_token_does_as_well(account: AppAccount) -> None:
    token = (await account.log_in())["Authorization"].partition("auth=")[2]
    answer = await account.app.get(f"{API}/user-info", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


async def test_an_edit_token_has_57_signs_and_lives_half_an_hour(account: AppAccount) -> None:
    app = await account.open_app()
    token = (await app.get("token")).text
    assert re.fullmatch(r"[0-9a-zA-Z]{57}", token)
    entry = await account.id_of("One")
    for given in (token, f"{token}\n", "", "x", " x "):
        assert (await app.post("edit-tag", i=entry, a=READ, T=given)).text == "OK"
    account.harness.clock.ahead += EDIT_TOKEN_TTL + 2_000
    expired = await app.post("edit-tag", i=entry, a=READ, T=token)
    assert (expired.status_code, expired.headers["x-reader-google-bad-token"]) == (401, "true")


@pytest.mark.parametrize("token", ["wrong", "y", "0" * 57, "é" * 57])
async def test_a_wrong_edit_token_is_told_by_its_header(account: AppAccount, token: str) -> None:
    app = await account.open_app()
    answer = await app.post("edit-tag", i=await account.id_of("One"), a=READ, T=token)
    assert (answer.status_code, answer.headers["x-reader-google-bad-token"]) == (401, "true")
    assert "One" in await account.unread_titles()


async def test_what_nobody_knows_is_not_found_and_stubs_are_empty(account: AppAccount) -> None:
    app = await account.open_app()
    assert (await app.get("no/such/thing")).status_code == 404
    assert await app.read("preference/list") == {"prefs": []}
    assert await app.read("preference/stream/list") == {"streamprefs": {}}
    assert await app.read("friend/list") == {"friends": []}
    assert (await app.post("preference/stream/set", s="x")).text == "OK"


async def test_pages_of_any_origin_may_ask(account: AppAccount) -> None:
    app = await account.open_app()
    for answer in (
        await app.get("user-info"),
        await account.app.get(f"{API}/user-info"),
        await account.app.options(f"{API}/edit-tag", headers={"Origin": "https://reader.example"}),
        await account.app.get("/fever/?api"),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"


async def test_lists_are_sent_once_until_they_change(account: AppAccount) -> None:
    app = await account.open_app()
    for path in ("subscription/list", "tag/list", "unread-count", f"stream/items/ids?s={READ}&n=1000"):
        first = await app.client.get(f"{API}/{path}", headers=app.headers)
        by_tag = {**app.headers, "If-None-Match": first.headers["etag"]}
        by_time = {**app.headers, "If-Modified-Since": first.headers["last-modified"]}
        for headers in (by_tag, by_time):
            again = await app.client.get(f"{API}/{path}", headers=headers)
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
        changes = {"i": await account.id_of("One"), "a": READ, "T": "x"}
        await app.post("edit-tag", **changes)
        await app.post("subscription/edit", ac="edit", s=f"feed/{account.feeds['news']}", t=path)
        await app.post("edit-tag", i=await account.id_of("Four"), a=f"user/-/label/{path[:9]}")
        for headers in (by_tag, by_time):
            assert (await app.client.get(f"{API}/{path}", headers=headers)).status_code == 200
        await app.post("edit-tag", i=await account.id_of("One"), r=READ, T="x")

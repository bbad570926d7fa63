"""The operator's page about people."""

import re
from dataclasses import replace
from html import unescape

import pytest

from reedbed.roles.app import create_app
from reedbed.services.runtime import Runtime
from tests.clients import Client, SignIn, new_client
from tests.http.web.forms import OWN_PAGE, texts

PEOPLE = "/admin/people"


@pytest.fixture
async def owner(by_cookie: SignIn) -> Client:
    client = await by_cookie("owner@example.org", role="owner")
    client.headers.update(OWN_PAGE)
    return client


async def test_somebody_is_invited_by_a_link_shown_once_and_the_invitation_taken_back(
    owner: Client, runtime: Runtime
) -> None:
    inviting = create_app(replace(runtime, accounts=replace(runtime.accounts, registration="invite")))
    async with new_client(inviting, cookies=owner.cookies, headers=OWN_PAGE) as client:
        made = await client.post(f"{PEOPLE}/invites", data={"email": "friend@example.org"})
        link = re.search(r'<code id="secret">([^<]+)</code>', made.text)
        assert made.status_code == 200 and link is not None
        invited = await new_client(inviting).get(unescape(link[1]))
        assert invited.status_code == 200 and "friend@example.org" in invited.text
        page = (await client.get(PEOPLE)).text
        assert "friend@example.org" in page and 'id="secret"' not in page
        where = re.search(rf'action="({PEOPLE}/invites/\d+/delete)"', page)
        assert where is not None
        assert (await client.post(where[1])).status_code == 303
        assert (await client.post(where[1])).status_code == 404
        assert "friend@example.org" not in (await client.get(PEOPLE)).text


@pytest.mark.parametrize(("email", "status"), [("nobody", 400), ("owner@example.org", 409)])
async def test_what_cannot_be_invited_is_said_and_stays_typed(
    owner: Client, runtime: Runtime, email: str, status: int
) -> None:
    inviting = create_app(replace(runtime, accounts=replace(runtime.accounts, registration="invite")))
    async with new_client(inviting, cookies=owner.cookies, headers=OWN_PAGE) as client:
        refused = await client.post(f"{PEOPLE}/invites", data={"email": email})
    assert refused.status_code == status and f'value="{email}"' in refused.text
    assert len(texts(refused.text)) == 1


async def test_where_registration_is_closed_the_way_to_open_it_is_said(owner: Client) -> None:
    refused = await owner.post(f"{PEOPLE}/invites", data={"email": "friend@example.org"})
    assert "REEDBED_REGISTRATION=invite" in texts(refused.text)[0]


async def test_a_reader_is_disabled_let_in_again_promoted_and_deleted(owner: Client, by_cookie: SignIn) -> None:
    reader = await by_cookie("reader@example.org")
    theirs = f"{PEOPLE}/{reader.user_id}"
    assert (await owner.post(f"{theirs}/disable")).status_code == 303
    assert (await reader.get("/unread")).status_code in (303, 401)
    shown = (await owner.get(PEOPLE)).text
    assert "Disabled" in shown and f"{theirs}/enable" in shown and f"{theirs}/disable" not in shown
    await owner.post(f"{theirs}/enable")
    await owner.post(f"{theirs}/role", data={"role": "admin"})
    again = await by_cookie("reader@example.org")
    assert (await again.get("/admin")).status_code == 200
    reset = await owner.post(f"{theirs}/reset-link")
    assert re.search(r'<code id="secret">[^<]*/reset', reset.text)
    assert (await owner.post(f"{theirs}/delete")).status_code == 303
    assert "reader@example.org" not in (await owner.get(PEOPLE)).text.split("<main")[1].split("toast")[0]


async def test_an_operator_looks_after_readers_only_and_nobody_after_oneself(owner: Client, by_cookie: SignIn) -> None:
    admin = await by_cookie("admin@example.org", role="admin")
    admin.headers.update(OWN_PAGE)
    reader = await by_cookie("reader@example.org")
    page = (await admin.get(PEOPLE)).text
    assert f"{PEOPLE}/{reader.user_id}/disable" in page and f"{PEOPLE}/{reader.user_id}/role" not in page
    assert f"{PEOPLE}/{owner.user_id}/" not in page and f"{PEOPLE}/{admin.user_id}/" not in page
    assert (await admin.post(f"{PEOPLE}/{owner.user_id}/disable")).status_code == 403
    assert (await admin.post(f"{PEOPLE}/{reader.user_id}/role", data={"role": "admin"})).status_code == 403
    assert (await owner.post(f"{PEOPLE}/{owner.user_id}/delete")).status_code == 409
    assert (await owner.post(f"{PEOPLE}/99999/disable")).status_code == 404


async def test_only_operators_see_who_reads(by_cookie: SignIn) -> None:
    reader = await by_cookie()
    reader.headers.update(OWN_PAGE)
    assert (await reader.get(PEOPLE)).status_code == 403
    assert (await reader.post(f"{PEOPLE}/1/disable")).status_code == 403

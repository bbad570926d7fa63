"""Settings: the look of a device, ways of reading, the account, devices, secrets, published views."""

import re
from dataclasses import replace
from urllib.parse import parse_qs, unquote

from reedbed.roles.app import Application
from reedbed.services.runtime import Runtime
from reedbed.services.users import create_owner, log_in
from reedbed.web.views.layout import Theme
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE, texts

PASSWORD = "seven herons in the reeds"


def test_the_look_is_read_as_the_server_and_as_the_script_write_it() -> None:
    look = Theme(theme="dark", density="titles", side=14, scroll_marks=True, folded=frozenset({"3"}))
    assert Theme.from_cookie(look.to_cookie()) == look
    assert Theme.from_cookie(unquote(look.to_cookie())) == look
    assert Theme.from_cookie("theme=%%%&density=purple&side=999") == Theme()


async def test_the_look_belongs_to_the_device_and_is_there_at_the_first_paint(reader: Client) -> None:
    await reader.post("/settings/look", data={"theme": "dark", "size": "l", "density": "titles", "font": "x"})
    page = (await reader.get("/settings/look")).text
    assert 'data-theme="dark"' in page and 'data-size="l"' in page and "data-font=" not in page
    assert re.search(r'name="size" value="l" checked', page)


def test_a_size_with_thousands_of_digits_is_left_out() -> None:
    assert Theme.from_cookie(f"side%3D{'9' * 4400}") == Theme.from_cookie("")


async def test_a_small_menu_changes_only_what_it_shows(reader: Client) -> None:
    await reader.post("/settings/look", data={"theme": "sepia", "size": "s", "width": "", "font": ""})
    back = await reader.post(
        "/settings/look", data={"density": "magazine", "scroll": "marks", "next": "/all?order=oldest"}
    )
    assert back.headers["location"] == "/all?order=oldest"
    kept = parse_qs(unquote(reader.cookies["reedbed_look"]))
    assert kept == {"theme": ["sepia"], "size": ["s"], "density": ["magazine"], "scroll": ["marks"]}
    await reader.post("/settings/look", data={"density": "cards"})
    assert "scroll" not in unquote(reader.cookies["reedbed_look"])


async def test_lists_begin_in_the_order_the_reader_likes(reading: Client) -> None:
    await reading.post("/settings/reading", data={"order": "oldest", "time_zone": "Asia/Tokyo"})
    page = (await reading.get("/all")).text
    assert page.index("Herons 1") < page.index("Herons 3")
    assert re.search(r'aria-checked="true" tabindex="-1" name="order" value="oldest"', page)
    turned = (await reading.get("/all?order=newest")).text
    assert turned.index("Herons 3") < turned.index("Herons 1")
    assert "data-keep-unread" in page
    await reading.post("/settings/reading", data={"order": "newest", "open_marks": "true"})
    assert "data-keep-unread" not in (await reading.get("/all")).text


async def test_times_are_told_in_the_chosen_zone_or_the_devices(reading: Client, site: FeedSite) -> None:
    def clock(page: str) -> str:
        return texts(page, "datetime=")[0]

    utc = clock((await reading.get("/all")).text)
    reading.cookies.set("reedbed_zone", "Asia/Kolkata")
    kolkata = clock((await reading.get("/all")).text)
    await reading.post("/settings/reading", data={"time_zone": "Pacific/Auckland", "open_marks": "true"})
    assert len({utc, kolkata, clock((await reading.get("/all")).text)}) == 3
    reading.cookies.set("reedbed_zone", "../../etc/passwd")
    await reading.post("/settings/reading", data={"open_marks": "true"})
    assert clock((await reading.get("/all")).text) == utc


async def test_a_wrong_choice_of_reading_is_refused(reader: Client) -> None:
    assert (await reader.post("/settings/reading", data={"order": "sideways"})).status_code == 400


async def test_the_password_is_changed_by_who_knows_it(client: Client, runtime: Runtime) -> None:
    await create_owner(runtime, "owner@example.org", PASSWORD)
    session = await log_in(runtime, "owner@example.org", PASSWORD)
    client.cookies.set("reedbed_session", session.token)
    client.headers.update(OWN_PAGE)
    wrong = {"current_password": "not mine at all", "password": "nine egrets in the reeds"}
    refused = await client.post("/settings/password", data=wrong)
    assert refused.status_code == 400 and texts(refused.text) == ["This is not your password."]
    weak = await client.post("/settings/password", data={"current_password": PASSWORD, "password": "zebra"})
    assert weak.status_code == 400 and len(texts(weak.text)) == 1 and "zebra" not in weak.text
    done = await client.post(
        "/settings/password", data={"current_password": PASSWORD, "password": "nine egrets in the reeds"}
    )
    assert done.status_code == 303
    last = await client.post("/settings/account/delete", data={"delete_password": "nine egrets in the reeds"})
    assert last.status_code == 409 and "only owner" in texts(last.text)[0]


async def test_devices_are_listed_and_logged_out(reader: Client, by_cookie: SignIn, harness: RuntimeHarness) -> None:
    phone = await by_cookie("reader@example.org")
    assert (await phone.get("/settings/security")).status_code == 200
    mine, other = await harness.column("SELECT id FROM sessions ORDER BY id")
    page = (await reader.get("/settings/security")).text
    assert "this one" in page and f"/settings/devices/{mine}/delete" not in page
    await reader.post(f"/settings/devices/{other}/delete")
    assert (await phone.get("/settings/security")).status_code == 303


async def test_the_cards_tell_an_address_that_works_elsewhere(
    app: Application, runtime: Runtime, reader: Client
) -> None:
    at_home = {"Host": "192.168.1.5:8080"}
    page = (await reader.get("/settings/devices", headers=at_home)).text
    assert "http://192.168.1.5:8080/api/greader.php" in page
    assert all(f"<h3>{app}</h3>" in page for app in ("Reeder", "NetNewsWire", "Read You", "newsboat"))
    assert "freshrss-login &#34;reader@example.org&#34;" in page
    accounts = replace(runtime.accounts, base_url="https://reader.example.org")
    app.state.runtime = replace(runtime, accounts=accounts)
    page = (await reader.get("/settings/devices", headers=at_home)).text
    assert "https://reader.example.org/api/greader.php" in page


async def test_an_app_password_is_shown_once_and_revoked(reader: Client, harness: RuntimeHarness) -> None:
    made = await reader.post("/settings/app-passwords", data={"name": "Tablet"})
    (secret,) = re.findall(r'<code id="secret">([^<]+)</code>', made.text)
    assert "no-store" in made.headers["cache-control"]
    again = (await reader.get("/settings/devices")).text
    assert "Tablet" in again and secret not in again
    assert all(words in again for words in ("/api/greader.php", "/fever/", "/mcp", "reader@example.org"))
    (token,) = await harness.column("SELECT id FROM tokens")
    await reader.post(f"/settings/app-passwords/{token}/delete")
    assert "Tablet" not in (await reader.get("/settings/devices")).text


async def test_a_token_without_a_name_or_a_scope_is_refused_and_the_rest_stays(reader: Client) -> None:
    refused = await reader.post("/settings/tokens", data={"name": "", "scope": ["write"]})
    assert refused.status_code == 400 and 'value="write" checked' in refused.text
    refused = await reader.post("/settings/tokens", data={"name": "Script"})
    assert refused.status_code == 400 and 'value="Script"' in refused.text
    assert "operate this server" not in refused.text


async def test_a_token_can_do_what_its_scopes_say(reader: Client, client: Client) -> None:
    made = await reader.post("/settings/tokens", data={"name": "Script", "scope": ["read"]})
    (secret,) = re.findall(r'<code id="secret">([^<]+)</code>', made.text)
    assert "It may read everything of mine. Made just now" in made.text
    bearer = {"Authorization": f"Bearer {secret}"}
    assert (await client.get("/api/v1/users/me", headers=bearer)).status_code == 200
    assert (await client.post("/settings/tokens", data={"name": "x"}, headers=bearer)).status_code == 403


async def test_a_view_is_published_given_a_new_address_and_taken_back(
    reading: Client, client: Client, harness: RuntimeHarness
) -> None:
    made = await reading.post("/settings/published", data={"view": "all"})
    (path,) = re.findall(r"<code>http://[^/<]+(/published/[^<]+\.atom)</code>", made.text)
    assert "Herons 1" in (await client.get(path)).text
    (feed,) = await harness.column("SELECT id FROM published_feeds")
    await reading.post(f"/settings/published/{feed}/renew")
    assert (await client.get(path)).status_code == 404
    await reading.post(f"/settings/published/{feed}/delete")
    assert await harness.column("SELECT id FROM published_feeds") == []
    chosen = await reading.get("/settings/published?view=later")
    assert '<option value="later" selected>' in chosen.text
    unknown = await reading.post("/settings/published", data={"view": "sideways"})
    assert unknown.status_code == 400
    assert (await reading.post("/settings/published", data={"view": "folder:999"})).status_code == 404


async def test_everything_can_be_taken_along_from_the_page(reading: Client) -> None:
    page = (await reading.get("/settings/data")).text
    for address in re.findall(r'href="([^"]+)" download', page):
        assert (await reading.get(address)).status_code == 200, address


async def test_nobody_ends_what_belongs_to_another(reading: Client, by_cookie: SignIn, harness: RuntimeHarness) -> None:
    await reading.post("/settings/tokens", data={"name": "Script", "scope": ["read"]})
    await reading.post("/settings/published", data={"view": "all"})
    stranger = await by_cookie("stranger@example.org")
    stranger.headers.update(OWN_PAGE)
    (token,) = await harness.column("SELECT id FROM tokens")
    (feed,) = await harness.column("SELECT id FROM published_feeds")
    (session, *_) = await harness.column("SELECT id FROM sessions ORDER BY id")
    for path in (
        f"/settings/tokens/{token}/delete",
        f"/settings/app-passwords/{token}/delete",
        f"/settings/published/{feed}/delete",
        f"/settings/published/{feed}/renew",
        f"/settings/devices/{session}/delete",
    ):
        assert (await stranger.post(path)).status_code == 404, path

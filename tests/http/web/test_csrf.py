"""No page acts for a stranger or for another site, and the operator's page is the operator's."""

import re
from collections.abc import Iterator

import pytest

from reedbed.http.errors import PROGRAM_PATHS
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE
from tests.http.web.routes import page_routes

OPEN = {"/login", "/setup", "/register", "/forgot", "/offline", "/sw.js", "/manifest.webmanifest", "/themes.css"}

WITHOUT_LOGIN = ("/assets/", "/reset/", "/verify/", "/login/", "/digests/unsubscribe/", "/books/confirm/", "/shared/")


def routes() -> Iterator[tuple[str, str]]:
    for route in page_routes():
        yield from ((method, re.sub(r"\{[^}]+\}", "1", route.path)) for method in sorted(route.methods))


# Another site sends people back here, or a mail program unsubscribes them: their own secret vouches for them.
FROM_ELSEWHERE = ("/login/back/", "/digests/unsubscribe/", "/books/confirm/")
CHANGES = [(method, path) for method, path in routes() if method != "GET" and not path.startswith(FROM_ELSEWHERE)]
SHOWN = [path for method, path in routes() if method == "GET"]


def test_no_page_lies_where_programs_look() -> None:
    assert [path for _, path in routes() if path.startswith(PROGRAM_PATHS)] == []


async def test_every_change_is_refused_without_the_word_of_our_own_page(by_cookie: SignIn) -> None:
    reader = await by_cookie(role="owner")
    for method, path in CHANGES:
        fields = {"value": "true", "email": "a@example.org", "password": "seven herons in the reeds"}
        for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            answer = await reader.request(method, path, data=fields, headers=headers)
            assert answer.status_code == 403, (method, path, headers)


async def test_a_form_with_its_own_token_is_taken(reader: Client, by_cookie: SignIn) -> None:
    plain = await by_cookie("reader@example.org")
    page = (await plain.get("/folders")).text
    (token,) = set(re.findall(r'name="csrf_token" value="([^"]+)"', page))
    made = await plain.post("/folders", data={"csrf_token": token, "name": "A"})
    assert made.status_code == 303
    foreign = re.findall(
        r'name="csrf_token" value="([^"]+)"', (await (await by_cookie("b@example.org")).get("/folders")).text
    )
    assert (await plain.post("/folders", data={"csrf_token": foreign[0], "name": "B"})).status_code == 403


@pytest.mark.usefixtures("reader")
async def test_who_was_logged_out_while_filling_a_form_comes_back_to_it(client: Client) -> None:
    forms = {
        "/settings/webhooks": "/settings/webhooks",
        "/feeds/7/pause": "/feeds",
        "/settings/app-passwords": "/settings/devices",
        "/opml": "/add",
    }
    for path, page in forms.items():
        answer = await client.post(path, data={"name": "typed"}, headers=OWN_PAGE)
        assert answer.headers["location"] == f"/login?next={page.replace('/', '%2F')}"
    assert (await client.post("/mark-read", headers=OWN_PAGE)).headers["location"] == "/login"


@pytest.mark.usefixtures("reader")
async def test_a_stranger_is_led_to_the_login_and_back(client: Client) -> None:
    for path in SHOWN:
        if path in OPEN or path.startswith(WITHOUT_LOGIN) or path == "/":
            continue
        answer = await client.get(path)
        assert answer.status_code == 303 and answer.headers["location"].startswith("/login?next="), path
        part = await client.get(path, headers=HTMX)
        assert part.status_code == 401 and "hx-redirect" not in part.headers, path  # typed text stays


async def test_a_plain_form_never_leads_to_another_site(reader: Client) -> None:
    elsewheres = ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"]
    elsewheres += ["/\t/evil.example", "/\n/evil.example", "http://[", "//["]
    for number, elsewhere in enumerate(elsewheres):
        made = await reader.post("/folders", data={"name": f"F{number}", "next": elsewhere})
        assert made.headers["location"] == "/"


@pytest.mark.parametrize("shown", ["http://[", "//]", "javascript:x", "\xff"])
async def test_whatever_the_browser_says_it_shows_a_part_is_given(reader: Client, shown: str) -> None:
    headers = HTMX | {"HX-Current-URL": shown.encode("latin-1")}
    for path in ("/all", "/nowhere"):
        assert (await reader.get(path, headers=headers)).status_code < 500


async def test_only_operators_see_how_the_server_runs(
    reading: Client, by_cookie: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.misbehave(feed="broken", status=503)
    await harness.follow(site.feed_url("broken"), user_id=reading.user_id)
    await harness.check()
    assert (await reading.get("/admin")).status_code == 403
    operator = await by_cookie("owner@example.org", role="owner")
    for span in ("day", "week", "month"):
        page = (await operator.get(f"/admin?span={span}")).text
        assert "2 feeds, 1 working, 0 pending, 1 in trouble" in page
        assert "broken.feed" in page
    assert "reader@example.org" in (await operator.get("/admin/people")).text
    assert (await operator.get("/admin?span=century")).status_code == 400
    where = re.search(r'href="(/admin/feeds/\d+)"><bdi[^>]*>[^<]*broken', page)
    assert where and "broken.feed" in (await operator.get(where[1])).text, "the way to mend it"
    assert "/admin" not in (await reading.get("/settings/look")).text
    assert 'href="/admin"' in (await operator.get("/settings/look")).text


async def test_a_private_feed_is_not_shown_to_the_operator(
    reader: Client, by_cookie: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.misbehave(status=503)
    secret = site.feed_url().replace("://", "://me:hush@")
    await reader.post("/feeds", data={"url": secret}, headers=OWN_PAGE)
    await harness.check()
    operator = await by_cookie("owner@example.org", role="owner")
    assert "main.feed" not in (await operator.get("/admin")).text

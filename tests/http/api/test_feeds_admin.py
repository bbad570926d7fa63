"""Operators and single feeds, through the API."""

from tests.clients import SignIn, new_client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

FEEDS = "/api/v1/admin/feeds"


async def test_feeds_are_listed_by_pages_and_filters(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    for name in ("a", "b", "c"):
        site.feed(name, title=f"Feed {name}")
    site.misbehave(feed="c", status=404)
    for name in ("a", "b", "c"):
        await harness.follow(site.feed_url(name))
    await harness.check()
    operator = await signed_in("o@example.org", role="admin")
    first = (await operator.get(FEEDS, params={"limit": 2})).json()
    second = (await operator.get(FEEDS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    found = [one["url"] for one in (*first["items"], *second["items"])]
    assert sorted(found) == [site.feed_url(name) for name in "abc"] and second["next_cursor"] is None
    (wrong,) = (await operator.get(FEEDS, params={"status": "error"})).json()["items"]
    assert (wrong["url"], wrong["followers"], wrong["consecutive_failures"]) == (site.feed_url("c"), 1, 1)
    assert (wrong["last_error"], wrong["last_error_code"]) == ("Feed no longer available", "feed_not_found")
    assert wrong["next_run_at"] > wrong["last_checked_at"]
    (named,) = (await operator.get(FEEDS, params={"search": "feed B"})).json()["items"]
    assert (named["title"], named["status"]) == ("Feed b", "working")
    assert (await operator.get(FEEDS, params={"status": "odd"})).status_code == 400


async def test_a_feed_is_changed_field_by_field_and_keeps_its_secrets(
    harness: RuntimeHarness, signed_in: SignIn
) -> None:
    address = f"{FEEDS}/{await harness.follow('https://reeds.example/feed')}"
    operator = await signed_in("o@example.org", role="admin")
    wanted = {
        "proxy": "http://up:proxy-word@proxy.example:3128",
        "user_agent": "Heron/1.0",
        "username": "heron",
        "password": "site-word",
        "interval": 3600,
        "max_failures": 3,
        "allow_duplicate_urls": True,
        "deframe": True,
        "root_domain": "reeds.example",
        "enforce_domain": False,
        "prompt": "Mind the adjectives.",
        "polling": False,
    }
    changed = await operator.patch(address, json=wanted)
    hidden = {"proxy": "http://***@proxy.example:3128", "password": None, "has_password": True}
    shown = {name: value for name, value in (wanted | hidden).items() if name != "password"}
    assert changed.json() | shown == changed.json()
    read = await operator.get(address)
    assert read.json() == changed.json()
    assert "proxy-word" not in read.text and "site-word" not in read.text
    # What is not sent stays, also a flag sent as null.
    again = (await operator.patch(address, json={"interval": None, "deframe": None})).json()
    assert again == changed.json() | {"interval": None}
    gone = (await operator.patch(address, json={"username": None, "proxy": None})).json()
    assert (gone["username"], gone["has_password"], gone["proxy"]) == (None, False, None)


async def test_a_followed_feed_that_is_deframed_belongs_to_its_site(harness: RuntimeHarness, signed_in: SignIn) -> None:
    address = f"{FEEDS}/{await harness.follow('https://news.reeds.example/feed')}"
    operator = await signed_in("o@example.org", role="admin")
    on = (await operator.patch(address, json={"deframe": True})).json()
    assert (on["deframe"], on["root_domain"]) == (True, "reeds.example")
    await operator.patch(address, json={"root_domain": None, "deframe": False})
    again = (await operator.patch(address, json={"deframe": True})).json()
    assert again["root_domain"] is None


async def test_what_cannot_be_is_named_with_its_field(harness: RuntimeHarness, signed_in: SignIn) -> None:
    address = f"{FEEDS}/{await harness.follow('https://reeds.example/feed')}"
    operator = await signed_in("o@example.org", role="admin")
    for field, value in (
        ("proxy", "socks5://proxy.example"),
        ("proxy", "http://169.254.169.254:80"),
        ("interval", 60),
        ("max_failures", 10**30),
        ("user_agent", "a\u0000b"),
        ("username", "a\nb"),
        ("password", "word"),
        ("prompt", "x" * 2_001),
    ):
        refused = await operator.patch(address, json={field: value})
        assert refused.status_code == 400, field
        assert refused.json()["error"]["details"]["field"] == ("username" if field == "password" else field)


async def test_a_feed_is_turned_off_on_and_run(harness: RuntimeHarness, site: FeedSite, signed_in: SignIn) -> None:
    site.publish("One")
    address = f"{FEEDS}/{await harness.follow(site.feed_url())}"
    operator = await signed_in("o@example.org", role="admin")
    off = await operator.post(f"{address}/disable")
    assert (off.json()["enabled"], off.json()["status"]) == (False, "off")
    assert (await operator.post(f"{address}/sync")).status_code == 409
    assert await harness.check() == []
    assert (await operator.post(f"{address}/enable")).json()["enabled"] is True
    assert (await operator.post(f"{address}/sync")).json()["next_run_at"]
    (report,) = await harness.check()
    assert report.new == 1


async def test_private_feeds_and_unknown_ones_are_not_there(harness: RuntimeHarness, signed_in: SignIn) -> None:
    owner = await harness.person()
    private = await harness.follow("https://reeds.example/mine", user_id=owner)
    await harness.change("UPDATE feeds SET owner_id = :owner WHERE id = :id", owner=owner, id=private)
    operator = await signed_in("o@example.org", role="owner")
    for feed_id in (private, 99, 2**53 - 1, 0):
        assert (await operator.get(f"{FEEDS}/{feed_id}")).status_code == 404
        assert (await operator.patch(f"{FEEDS}/{feed_id}", json={"proxy": None})).status_code == 404
    assert (await operator.get(FEEDS)).json()["items"] == []


async def test_a_token_needs_the_admin_scope(app, harness: RuntimeHarness, signed_in: SignIn) -> None:
    feed_id = await harness.follow("https://reeds.example/feed")
    operator = await signed_in("o@example.org", role="admin")
    for scopes, status in ((["read", "write"], 403), (["read", "admin"], 403), (["write", "admin"], 200)):
        made = await operator.post("/api/v1/users/me/tokens", json={"name": "x", "scopes": scopes})
        async with new_client(app, headers={"Authorization": f"Bearer {made.json()['secret']}"}) as program:
            changed = await program.patch(f"{FEEDS}/{feed_id}", json={"max_failures": 2})
        assert changed.status_code == status, scopes

"""Podcast apps synchronise: the requests of AntennaPod, Kasts and gPodder, word for word."""

from base64 import b64encode
from typing import Any

from reedbed.domain.times import DAY, SECOND, to_datetime
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.reader_apps.shelf import EMAIL, Shelf
from tests.http.web.forms import OWN_PAGE

SYNC = "/index.php/apps/gpoddersync"
FORM = "%Y-%m-%dT%H:%M:%S"


def basic(shelf: Shelf) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{EMAIL}:{shelf.password}".encode()).decode()}


def stamp(shelf: Shelf, ago: int = 0) -> str:
    return to_datetime(shelf.harness.runtime.now() - ago).strftime(FORM)


async def podcast(shelf: Shelf, *titles: str) -> str:
    """Follow a podcast with these episodes; its address."""
    for title in titles:
        shelf.site.publish_episode(title, feed="cast", key=f"guid-{title}")
    await shelf.harness.follow(shelf.site.feed_url("cast"), user_id=shelf.page.user_id)
    await shelf.harness.check()
    return shelf.site.feed_url("cast")


def play(shelf: Shelf, cast: str, title: str, **more: Any) -> dict[str, Any]:
    """As AntennaPod writes it for Nextcloud."""
    return {
        "podcast": cast,
        "episode": f"{shelf.site.url}/files/{title}.mp3",
        "guid": f"guid-{title}",
        "action": "play",
        "timestamp": stamp(shelf),
        "started": 15,
        "position": 120,
        "total": 1800,
        "device": "antennapod-1",
        **more,
    }


async def position(shelf: Shelf, title: str) -> Any:
    entry = await shelf.id_of(title)
    return (await shelf.page.get(f"/api/v1/playback/recordings/{entry}")).json()["position"]


async def test_antennapod_with_nextcloud(shelf: Shelf) -> None:
    cast = await podcast(shelf, "One-a", "Two-a")
    # Its first synchronisation asks for everything, with since=0.
    listed = (await shelf.app.get(f"{SYNC}/subscriptions?since=0", headers=basic(shelf))).json()
    assert (listed["add"], listed["remove"]) == ([cast], [])
    assert isinstance(listed["timestamp"], int)

    sent = await shelf.app.post(
        f"{SYNC}/episode_action/create", headers=basic(shelf), json=[play(shelf, cast, "One-a")]
    )
    assert sent.status_code == 200 and sent.json()["timestamp"] >= listed["timestamp"]
    assert (await position(shelf, "One-a"))["position"] == 120

    actions = (await shelf.app.get(f"{SYNC}/episode_action?since=0", headers=basic(shelf))).json()["actions"]
    assert actions == [
        {
            "podcast": cast,
            "episode": f"{shelf.site.url}/files/One-a.mp3",
            "guid": "guid-One-a",
            "action": "PLAY",
            "timestamp": actions[0]["timestamp"],
            "started": 15,
            "position": 120,
            "total": 1800,
            "device": "reedbed",
        }
    ]
    # What the page plays comes back to the app.
    entry = await shelf.id_of("Two-a")
    await shelf.page.put(f"/api/v1/playback/positions/{entry}", json={"position": 300, "total": 1800})
    since = sent.json()["timestamp"]
    later = (await shelf.app.get(f"{SYNC}/episode_action?since={since}", headers=basic(shelf))).json()
    assert ("guid-Two-a", 300) in [(one["guid"], one["position"]) for one in later["actions"]]


async def test_an_app_follows_and_leaves_podcasts(shelf: Shelf) -> None:
    cast = shelf.site.feed_url("fresh")
    shelf.site.publish_episode("Fresh", feed="fresh")
    change = {"add": [cast, cast, "no address", ""], "remove": ["https://nobody.example/feed"]}
    answer = await shelf.app.post(f"{SYNC}/subscription_change/create", headers=basic(shelf), json=change)
    assert answer.status_code == 200
    listed = (await shelf.app.get(f"{SYNC}/subscriptions", headers=basic(shelf))).json()
    assert listed["add"] == [cast]  # feeds without sound are not sent to a podcast app
    shelf.harness.clock.ahead += DAY
    since = shelf.harness.runtime.now() // SECOND
    await shelf.app.post(f"{SYNC}/subscription_change/create", headers=basic(shelf), json={"add": [], "remove": [cast]})
    left = (await shelf.app.get(f"{SYNC}/subscriptions?since={since}", headers=basic(shelf))).json()
    assert (left["add"], left["remove"]) == ([], [cast])


async def test_episodes_are_known_by_guid_first_then_by_address(shelf: Shelf) -> None:
    cast = await podcast(shelf, "One-g", "Two-g")
    moved = play(shelf, cast, "One-g", episode="https://ads.example/x?one", position=77)
    no_guid = play(shelf, cast, "Two-g", guid="", action="PLAY", position=88)
    no_guid["episode"] += "?updated=1"
    await shelf.app.post(f"{SYNC}/episode_action/create", headers=basic(shelf), json=[moved, no_guid])
    assert (await position(shelf, "One-g"))["position"] == 77
    assert (await position(shelf, "Two-g"))["position"] == 88


async def test_unknown_numbers_old_actions_and_wrong_clocks(shelf: Shelf) -> None:
    cast = await podcast(shelf, "One-n")

    async def send(**more: Any) -> Any:
        body = [play(shelf, cast, "One-n", **more)]
        assert (
            await shelf.app.post(f"{SYNC}/episode_action/create", headers=basic(shelf), json=body)
        ).status_code == 200
        return await position(shelf, "One-n")

    assert await send(position=-1, started=-1, total=-1) is None
    assert await send(action="download", position=5) is None
    assert (await send(position=600, total=-1, started=-1))["position"] == 600
    assert (await send(position=10, timestamp=stamp(shelf, DAY)))["position"] == 600
    assert (await send(position=20, timestamp=stamp(shelf, -DAY)))["position"] == 600
    shelf.harness.clock.ahead += 5 * SECOND
    done = await send(position=1800, started=1800, total=1800)
    assert (done["position"], done["done"]) == (1800, True)
    shelf.harness.clock.ahead += 5 * SECOND
    assert (await send(action="new", position=None))["done"] is False


async def test_what_was_played_to_its_end_leaves_the_queue(shelf: Shelf) -> None:
    cast = await podcast(shelf, "One-q")
    await shelf.page.post("/api/v1/playback/queue", json={"entry_id": str(await shelf.id_of("One-q"))})
    ended = play(shelf, cast, "One-q", position=1800)
    await shelf.app.post(f"{SYNC}/episode_action/create", headers=basic(shelf), json=[ended])
    assert (await shelf.page.get("/api/v1/playback/queue")).json()["items"] == []


async def test_gpodder_net_by_cookie_and_by_password(shelf: Shelf) -> None:
    cast = await podcast(shelf, "One-p")
    refused = await shelf.app.post(f"/api/2/auth/{EMAIL}/login.json", headers={"Authorization": "Basic eDp5"})
    assert refused.status_code == 401
    assert (await shelf.app.post(f"/api/2/auth/{EMAIL}/login.json", headers=basic(shelf))).status_code == 200
    # AntennaPod goes on with the cookie alone.
    assert shelf.app.cookies.get("sessionid")
    device = {"caption": "AntennaPod", "type": "mobile"}
    assert (await shelf.app.post(f"/api/2/devices/{EMAIL}/phone.json", json=device)).status_code == 200
    changes = (await shelf.app.get(f"/api/2/subscriptions/{EMAIL}/phone.json?since=0")).json()
    assert (changes["add"], changes["remove"]) == ([cast], [])
    body = [play(shelf, cast, "One-p", position=42)]
    sent = (await shelf.app.post(f"/api/2/episodes/{EMAIL}.json", json=body)).json()
    assert sent["update_urls"] == [] and sent["timestamp"] > 0
    actions = (await shelf.app.get(f"/api/2/episodes/{EMAIL}.json?since=0")).json()["actions"]
    assert [(one["action"], one["position"]) for one in actions] == [("play", 42)]
    more = {"add": [shelf.site.feed_url("more")], "remove": []}
    answer = (await shelf.app.post(f"/api/2/subscriptions/{EMAIL}/phone.json", json=more)).json()
    assert answer["update_urls"] == []
    # gPodder's simple lists, with its password each time.
    shelf.app.cookies.clear()
    plain = (await shelf.app.get(f"/subscriptions/{EMAIL}/desk.json", headers=basic(shelf))).json()
    assert plain == [cast, shelf.site.feed_url("more")]
    opml = await shelf.app.get(f"/subscriptions/{EMAIL}/desk.opml", headers=basic(shelf))
    assert cast in opml.text
    assert (await shelf.app.get("/subscriptions/other@example.org.json", headers=basic(shelf))).status_code == 403
    assert (await shelf.app.get("/clientconfig.json")).json()["mygpo"]["baseurl"].startswith("http")


async def test_nobody_sees_what_is_anothers(shelf: Shelf, signed_in: SignIn) -> None:
    cast = await podcast(shelf, "One-s")
    other = await signed_in("other@example.org")
    entry = await shelf.id_of("One-s")
    assert (await shelf.app.get(f"{SYNC}/subscriptions")).status_code == 401
    assert (await shelf.app.get(f"{SYNC}/episode_action", headers={"Authorization": "Basic !"})).status_code == 401
    assert (await other.get(f"/api/v1/playback/recordings/{entry}")).status_code == 404
    unfollowed = play(shelf, "https://example.org/other.xml", "One-s")
    await shelf.app.post(f"{SYNC}/episode_action/create", headers=basic(shelf), json=[unfollowed, "x", {"podcast": 1}])
    assert await position(shelf, "One-s") is None
    assert (
        await shelf.app.post(f"{SYNC}/episode_action/create", headers=basic(shelf), content=b"{")
    ).status_code == 400
    assert cast


async def test_the_login_flow_of_nextcloud(
    shelf: Shelf, by_cookie: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    begun = (await client.post("/index.php/login/v2", headers={"User-Agent": "AntennaPod/3.5"})).json()
    endpoint, token = begun["poll"]["endpoint"], begun["poll"]["token"]
    assert (await client.post(endpoint, data={"token": token})).status_code == 404

    browser = await by_cookie(EMAIL)
    page = await browser.get(begun["login"])
    assert page.status_code == 200 and "AntennaPod" in page.text
    assert (await browser.post(begun["login"], headers=OWN_PAGE)).status_code == 303
    granted = (await client.post(endpoint, data={"token": token})).json()
    assert granted["loginName"] == EMAIL and granted["server"].startswith("http")
    login = b64encode(f"{granted['loginName']}:{granted['appPassword']}".encode()).decode()
    listed = await client.get(f"{SYNC}/subscriptions", headers={"Authorization": f"Basic {login}"})
    assert listed.status_code == 200
    # Each password is handed out once.
    assert (await client.post(endpoint, data={"token": token})).status_code == 404
    harness.clock.ahead += DAY
    assert (await browser.get(begun["login"])).status_code == 404

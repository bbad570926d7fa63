"""Podcast apps synchronise: the requests of AntennaPod, Kasts and gPodder, word for word."""

import asyncio
from base64 import b64encode
from typing import Any

from sqlalchemy import delete

from reedbed.domain.playback import RecordingId
from reedbed.domain.times import DAY, SECOND, to_datetime
from reedbed.store.engine.statements import Command
from reedbed.store.playback import positions
from reedbed.store.tables import entries
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.reader_apps.account import EMAIL, AppAccount
from tests.http.web.forms import OWN_PAGE

SYNC = "/index.php/apps/gpoddersync"
FORM = "%Y-%m-%dT%H:%M:%S"


def basic(account: AppAccount) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{EMAIL}:{account.password}".encode()).decode()}


def stamp(account: AppAccount, ago: int = 0) -> str:
    return to_datetime(account.harness.runtime.now() - ago).strftime(FORM)


async def podcast(account: AppAccount, *titles: str) -> str:
    """Follow a podcast with these episodes; its address."""
    for title in titles:
        account.site.publish_episode(title, feed="cast", key=f"guid-{title}")
    await account.harness.follow(account.site.feed_url("cast"), user_id=account.page.user_id)
    await account.harness.check()
    return account.site.feed_url("cast")


def play(account: AppAccount, cast: str, title: str, **more: Any) -> dict[str, Any]:
    """As AntennaPod writes it for Nextcloud."""
    return {
        "podcast": cast,
        "episode": f"{account.site.url}/files/{title}.mp3",
        "guid": f"guid-{title}",
        "action": "play",
        "timestamp": stamp(account),
        "started": 15,
        "position": 120,
        "total": 1800,
        "device": "antennapod-1",
        **more,
    }


async def position(account: AppAccount, title: str) -> Any:
    entry = await account.id_of(title)
    return (await account.page.get(f"/api/v1/playback/recordings/{entry}")).json()["position"]


async def test_antennapod_with_nextcloud(account: AppAccount) -> None:
    cast = await podcast(account, "One-a", "Two-a")
    # Its first synchronisation asks for everything, with since=0.
    listed = (await account.app.get(f"{SYNC}/subscriptions?since=0", headers=basic(account))).json()
    assert (listed["add"], listed["remove"]) == ([cast], [])
    assert isinstance(listed["timestamp"], int)

    sent = await account.app.post(
        f"{SYNC}/episode_action/create", headers=basic(account), json=[play(account, cast, "One-a")]
    )
    assert sent.status_code == 200 and sent.json()["timestamp"] >= listed["timestamp"]
    assert (await position(account, "One-a"))["position"] == 120

    actions = (await account.app.get(f"{SYNC}/episode_action?since=0", headers=basic(account))).json()["actions"]
    assert actions == [
        {
            "podcast": cast,
            "episode": f"{account.site.url}/files/One-a.mp3",
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
    entry = await account.id_of("Two-a")
    await account.page.put(f"/api/v1/playback/positions/{entry}", json={"position": 300, "total": 1800})
    since = sent.json()["timestamp"]
    later = (await account.app.get(f"{SYNC}/episode_action?since={since}", headers=basic(account))).json()
    assert ("guid-Two-a", 300) in [(one["guid"], one["position"]) for one in later["actions"]]


async def test_an_app_follows_and_leaves_podcasts(account: AppAccount) -> None:
    cast = account.site.feed_url("fresh")
    account.site.publish_episode("Fresh", feed="fresh")
    change = {"add": [cast, cast, "no address", ""], "remove": ["https://nobody.example/feed"]}
    answer = await account.app.post(f"{SYNC}/subscription_change/create", headers=basic(account), json=change)
    assert answer.status_code == 200
    listed = (await account.app.get(f"{SYNC}/subscriptions", headers=basic(account))).json()
    assert listed["add"] == [cast]  # feeds without sound are not sent to a podcast app
    account.harness.clock.ahead += DAY
    since = account.harness.runtime.now() // SECOND
    await account.app.post(
        f"{SYNC}/subscription_change/create", headers=basic(account), json={"add": [], "remove": [cast]}
    )
    left = (await account.app.get(f"{SYNC}/subscriptions?since={since}", headers=basic(account))).json()
    assert (left["add"], left["remove"]) == ([], [cast])


async def test_a_password_in_the_address_of_a_podcast_is_kept_apart_from_it(account: AppAccount) -> None:
    account.site.publish_episode("Paid", feed="paid")
    account.site.protect("ann", "s3cret", feed="paid")
    bare = account.site.feed_url("paid")
    whole = bare.replace("://", "://ann:s3cret@")
    for _ in range(2):
        change = {"add": [whole], "remove": []}
        await account.app.post(f"{SYNC}/subscription_change/create", headers=basic(account), json=change)
    stored = "SELECT asked_url FROM subscriptions WHERE asked_url LIKE '%paid%' AND unsubscribed_at IS NULL"
    assert await account.harness.column(stored) == [bare]
    await account.harness.check()
    assert account.site.count("paid", status=200) == 1
    listed = (await account.app.get(f"{SYNC}/subscriptions", headers=basic(account))).json()
    assert listed["add"] == [bare]
    change = {"add": [], "remove": [whole]}
    await account.app.post(f"{SYNC}/subscription_change/create", headers=basic(account), json=change)
    assert await account.harness.column(stored) == []


async def test_episodes_are_known_by_guid_first_then_by_address(account: AppAccount) -> None:
    cast = await podcast(account, "One-g", "Two-g")
    moved = play(account, cast, "One-g", episode="https://ads.example/x?one", position=77)
    no_guid = play(account, cast, "Two-g", guid="", action="PLAY", position=88)
    no_guid["episode"] += "?updated=1"
    await account.app.post(f"{SYNC}/episode_action/create", headers=basic(account), json=[moved, no_guid])
    assert (await position(account, "One-g"))["position"] == 77
    assert (await position(account, "Two-g"))["position"] == 88


async def test_unknown_numbers_old_actions_and_wrong_clocks(account: AppAccount) -> None:
    cast = await podcast(account, "One-n")

    async def send(**more: Any) -> Any:
        body = [play(account, cast, "One-n", **more)]
        assert (
            await account.app.post(f"{SYNC}/episode_action/create", headers=basic(account), json=body)
        ).status_code == 200
        return await position(account, "One-n")

    assert await send(position=-1, started=-1, total=-1) is None
    assert await send(action="download", position=5) is None
    assert (await send(position=600, total=-1, started=-1))["position"] == 600
    assert (await send(position=10, timestamp=stamp(account, DAY)))["position"] == 600
    assert (await send(position=20, timestamp=stamp(account, -DAY)))["position"] == 600
    account.harness.clock.ahead += 5 * SECOND
    done = await send(position=1800, started=1800, total=1800)
    assert (done["position"], done["done"]) == (1800, True)
    account.harness.clock.ahead += 5 * SECOND
    assert (await send(action="new", position=None))["done"] is False


async def test_an_episode_that_is_deleted_meanwhile_is_left_out(account: AppAccount) -> None:
    cast = await podcast(account, "One-d", "Two-d")
    gone = await account.id_of("One-d")
    actions = [play(account, cast, "One-d"), play(account, cast, "Two-d")]
    await account.app.get(f"{SYNC}/subscriptions", headers=basic(account))  # the first use of a password is written
    async with account.harness.runtime.db.write() as tx:
        await tx.run(Command(delete(entries).where(entries.c.id == gone)))
        send = account.app.post(f"{SYNC}/episode_action/create", headers=basic(account), json=actions)
        sending = asyncio.create_task(send)
        await asyncio.sleep(0.5)  # it has found both episodes, and waits for this transaction
    assert (await sending).status_code == 200
    assert (await position(account, "Two-d"))["position"] == 120


async def test_what_is_queued_meanwhile_stays_in_the_queue(account: AppAccount) -> None:
    cast = await podcast(account, "One-m", "Two-m")
    user_id, (one, two) = account.page.user_id, [RecordingId(await account.id_of(name)) for name in ("One-m", "Two-m")]
    await account.page.post("/api/v1/playback/queue", json={"entry_id": str(one.entry_id)})
    ended = play(account, cast, "One-m", position=1800)
    async with account.harness.runtime.db.write() as tx:
        await positions.lock_queue(tx, user_id)
        send = account.app.post(f"{SYNC}/episode_action/create", headers=basic(account), json=[ended])
        sending = asyncio.create_task(send)
        await asyncio.sleep(0.5)  # it waits for the queue
        await positions.set_queue(tx, user_id, [one, two], account.harness.runtime.now())
    assert (await sending).status_code == 200
    async with account.harness.runtime.db.read() as tx:
        assert await positions.queue_ids(tx, user_id) == [two]


async def test_what_was_played_to_its_end_leaves_the_queue(account: AppAccount) -> None:
    cast = await podcast(account, "One-q")
    await account.page.post("/api/v1/playback/queue", json={"entry_id": str(await account.id_of("One-q"))})
    ended = play(account, cast, "One-q", position=1800)
    await account.app.post(f"{SYNC}/episode_action/create", headers=basic(account), json=[ended])
    assert (await account.page.get("/api/v1/playback/queue")).json()["items"] == []


async def test_gpodder_net_by_cookie_and_by_password(account: AppAccount) -> None:
    cast = await podcast(account, "One-p")
    refused = await account.app.post(f"/api/2/auth/{EMAIL}/login.json", headers={"Authorization": "Basic eDp5"})
    assert refused.status_code == 401
    assert (await account.app.post(f"/api/2/auth/{EMAIL}/login.json", headers=basic(account))).status_code == 200
    # AntennaPod goes on with the cookie alone.
    assert account.app.cookies.get("sessionid")
    device = {"caption": "AntennaPod", "type": "mobile"}
    assert (await account.app.post(f"/api/2/devices/{EMAIL}/phone.json", json=device)).status_code == 200
    changes = (await account.app.get(f"/api/2/subscriptions/{EMAIL}/phone.json?since=0")).json()
    assert (changes["add"], changes["remove"]) == ([cast], [])
    body = [play(account, cast, "One-p", position=42)]
    sent = (await account.app.post(f"/api/2/episodes/{EMAIL}.json", json=body)).json()
    assert sent["update_urls"] == [] and sent["timestamp"] > 0
    actions = (await account.app.get(f"/api/2/episodes/{EMAIL}.json?since=0")).json()["actions"]
    assert [(one["action"], one["position"]) for one in actions] == [("play", 42)]
    more = {"add": [account.site.feed_url("more")], "remove": []}
    answer = (await account.app.post(f"/api/2/subscriptions/{EMAIL}/phone.json", json=more)).json()
    assert answer["update_urls"] == []
    # gPodder's simple lists, with its password each time.
    account.app.cookies.clear()
    plain = (await account.app.get(f"/subscriptions/{EMAIL}/desk.json", headers=basic(account))).json()
    assert plain == [cast, account.site.feed_url("more")]
    opml = await account.app.get(f"/subscriptions/{EMAIL}/desk.opml", headers=basic(account))
    assert cast in opml.text
    assert (await account.app.get("/subscriptions/other@example.org.json", headers=basic(account))).status_code == 403
    assert (await account.app.get("/clientconfig.json")).json()["mygpo"]["baseurl"].startswith("http")


async def test_nobody_sees_what_is_anothers(account: AppAccount, signed_in: SignIn) -> None:
    cast = await podcast(account, "One-s")
    other = await signed_in("other@example.org")
    entry = await account.id_of("One-s")
    unknown = await account.app.get(f"{SYNC}/subscriptions")
    assert unknown.status_code == 401
    assert unknown.headers["www-authenticate"].startswith("Basic "), "gPodder sends its password once it is asked"
    assert (await account.app.get(f"{SYNC}/episode_action", headers={"Authorization": "Basic !"})).status_code == 401
    assert (await other.get(f"/api/v1/playback/recordings/{entry}")).status_code == 404
    unfollowed = play(account, "https://example.org/other.xml", "One-s")
    await account.app.post(
        f"{SYNC}/episode_action/create", headers=basic(account), json=[unfollowed, "x", {"podcast": 1}]
    )
    assert await position(account, "One-s") is None
    assert (
        await account.app.post(f"{SYNC}/episode_action/create", headers=basic(account), content=b"{")
    ).status_code == 400
    assert cast


async def test_the_login_flow_of_nextcloud(
    account: AppAccount, by_cookie: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
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


async def test_gpodder_is_asked_once_for_its_password(account: AppAccount) -> None:
    """Its library sends the password only after a 401, at most three times; then it relies on the cookie."""
    devices = f"/api/2/devices/{EMAIL}.json"
    asked = await account.app.get(devices)
    assert (asked.status_code, asked.headers["www-authenticate"]) == (401, 'Basic realm="Reedbed"')
    known = await account.app.get(devices, headers=basic(account))
    cookie = {"Cookie": f"sessionid={known.cookies['sessionid']}"}
    account.app.cookies.clear()
    renamed = await account.app.post(f"/api/2/devices/{EMAIL}/laptop.json", json={"caption": "Laptop"}, headers=cookie)
    assert (renamed.status_code, renamed.content) == (200, b""), "anything else is a failure for gPodder"
    assert (await account.app.get(f"/subscriptions/{EMAIL}/laptop.json", headers=cookie)).json() == []

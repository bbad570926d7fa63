"""NetNewsWire: lines cut at `=`, conditional lists, fractions in `ot`, feeds found by their exact address."""

from tests.http.reader_apps.account import API, READ, READING_LIST, AppAccount


async def test_netnewswire_logs_in_lists_and_fetches(account: AppAccount) -> None:
    app = await account.open_app()
    token = (await app.get("token")).text
    listed = await app.get("subscription/list")
    headers = {**app.headers, "If-None-Match": listed.headers["etag"]}
    again = await app.client.get(f"{API}/subscription/list", params={"output": "json"}, headers=headers)
    assert again.status_code == 304
    since = (await account.fetched_at(await account.id_of("One"))) / 1_000 - 0.5
    ids = await app.ids(s=READING_LIST, ot=f"{since:.6f}", n=1_000)
    assert len(ids) == 5
    body = "&".join([f"T={token}", "output=json", *(f"i=tag:google.com,2005:reader/item/{id:x}" for id in ids)])
    form = {**app.headers, "Content-Type": "application/x-www-form-urlencoded"}
    answer = await app.client.post(f"{API}/stream/items/contents", content=body, headers=form)
    assert len(answer.json()["items"]) == 5
    read = "&".join([f"T={token}", f"a={READ}", *(f"i={id}" for id in ids[:2])])
    assert (await app.client.post(f"{API}/edit-tag", content=read, headers=form)).text == "OK"
    assert len(await account.unread_titles()) == 3


async def test_netnewswire_adds_a_feed_to_a_folder_and_finds_it_again(account: AppAccount) -> None:
    account.site.publish("Six", feed="more")
    address = account.site.feed_url("more")
    app = await account.open_app()
    token = (await app.get("token")).text
    body = {"T": token, "ac": "subscribe", "s": f"feed/{address}", "a": "user/-/label/News", "t": ""}
    assert (await app.post("subscription/edit", **body)).status_code == 200
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert [one["categories"][0]["label"] for one in listed if one["url"] == address] == ["News"]

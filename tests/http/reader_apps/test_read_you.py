"""Read You: a login in JSON, three calls for ids each time, `s=read`, a continuation pasted as it is."""

from tests.http.reader_apps.account import API, EMAIL, LONG, READ, READING_LIST, STARRED, AppAccount


async def test_read_you_never_takes_unread_entries_for_read(account: AppAccount) -> None:
    words = {"output": "json", "Email": EMAIL, "Passwd": account.password, "client": "ReadYou", "service": "reader"}
    login = (await account.app.post("/api/greader.php/accounts/ClientLogin", data=words)).json()
    app = await account.open_app()
    app.headers = {"Authorization": f"GoogleLogin auth={login['Auth']}"}
    one = await account.id_of("One")
    await app.post("edit-tag", i=f"{LONG}{one:016x}", a=READ, T=(await app.get("token")).text)
    since = (await account.fetched_at(one)) // 1_000
    assert await app.ids(s=READ, ot=since) == [one]
    assert len(await app.ids(s=READING_LIST, xt=READ)) == 4
    assert await app.ids(s=STARRED) == []


async def test_read_you_pastes_the_continuation(account: AppAccount) -> None:
    app = await account.open_app()
    first = await app.read("stream/items/ids", s=READING_LIST, n=3)
    address = f"{API}/stream/items/ids?output=json&s={READING_LIST}&n=3&c={first['continuation']}"
    rest = (await app.client.get(address, headers=app.headers)).json()
    assert len(rest["itemRefs"]) == 2
    assert "continuation" not in rest


async def test_read_you_logs_in_again_when_told_401(account: AppAccount) -> None:
    app = await account.open_app()
    app.headers = {"Authorization": "GoogleLogin auth=old"}
    assert (await app.get("user-info")).status_code == 401

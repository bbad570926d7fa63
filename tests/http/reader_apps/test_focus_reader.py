"""FocusReader and SmartRSS: they knock before they log in, and look for a FreshRSS."""

from tests.http.reader_apps.account import AppAccount


async def test_focus_reader_knocks_first(account: AppAccount) -> None:
    for place in ("/api/greader.php", "/api/greader.php/", "/greader", "/greader/"):
        answer = await account.app.get(place)
        assert (answer.status_code, answer.text) == (200, "OK")
    assert (await account.app.get("/api/greader.php/check/compatibility")).text == "PASS"
    app = await account.open_app("/api/greader.php//api/greader.php/reader/api/0")
    assert len((await app.read("subscription/list/"))["subscriptions"]) == 2

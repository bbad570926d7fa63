"""FeedMe: everything in the query of a POST with an empty body, a blank token, no stream."""

from tests.http.reader_apps.account import API, EMAIL, READ, AppAccount


async def test_feedme_logs_in_reads_and_marks(account: AppAccount) -> None:
    words = {"Email": EMAIL, "Passwd": account.password}
    login = await account.app.post("/api/greader.php/accounts/ClientLogin", params=words)
    token = login.text.rpartition("Auth=")[2]
    headers = {"Authorization": f"GoogleLogin auth={token}"}
    contents = await account.app.get(f"{API}/stream/contents/", params={"n": "100"}, headers=headers)
    assert len(contents.json()["items"]) == 5
    item = contents.json()["items"][0]
    marked = await account.app.post(f"{API}/edit-tag", params={"i": item["id"], "a": READ, "T": ""}, headers=headers)
    assert marked.text == "OK"
    assert item["title"] not in await account.unread_titles()


async def test_feedme_speaks_fever_without_a_type_of_body(account: AppAccount) -> None:
    answer = await account.app.post(f"/fever/?api&api_key={account.fever_key}&feeds&groups&unread_item_ids")
    assert answer.json()["auth"] == 1
    assert len(answer.json()["feeds"]) == 2

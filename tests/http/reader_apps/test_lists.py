"""Lists: subscriptions, tags, counts, and who the user is."""

from io import BytesIO

from PIL import Image

from tests.http.reader_apps.account import EMAIL, READ, READING_LIST, STARRED, AppAccount


async def test_a_subscription_has_every_field_as_text(account: AppAccount) -> None:
    app = await account.open_app()
    for one in (await app.read("subscription/list"))["subscriptions"]:
        fields = ("id", "title", "sortid", "firstitemmsec", "url", "htmlUrl", "iconUrl")
        assert all(isinstance(one[name], str) for name in fields)
    (news, _) = sorted((await app.read("subscription/list"))["subscriptions"], key=lambda one: one["title"])
    assert news["id"] == f"feed/{account.feeds['news']}"
    assert news["title"] == "Feed news"
    assert news["url"] == account.site.feed_url("news")
    assert news["htmlUrl"] == f"{account.site.url}/"
    assert news["categories"] == [{"id": "user/-/label/News", "label": "News"}]


async def test_a_feed_never_fetched_is_listed_without_gaps(account: AppAccount) -> None:
    app = await account.open_app()
    await account.page.post("/api/v1/subscriptions", json={"url": "http://127.0.0.1:9/feed"})
    listed = (await app.read("subscription/list"))["subscriptions"]
    (new,) = [one for one in listed if one["url"] == "http://127.0.0.1:9/feed"]
    assert new["categories"] == []
    assert (new["title"], new["iconUrl"]) == ("http://127.0.0.1:9/feed", "")


async def test_icons_are_given_without_a_login_by_their_signed_address(account: AppAccount) -> None:
    png = BytesIO()
    Image.new("RGB", (8, 8)).save(png, "PNG")
    await account.harness.change(
        "INSERT INTO blobs (hash, media_type, data, created_at) VALUES ('x', 'image/png', :data, 1)",
        data=png.getvalue(),
    )
    await account.harness.change("UPDATE feeds SET icon_id = (SELECT max(id) FROM blobs)")
    app = await account.open_app()
    address = (await app.read("subscription/list"))["subscriptions"][0]["iconUrl"]
    assert address.startswith("http://127.0.0.1:8080/")
    answer = await account.app.get(address)
    assert (answer.status_code, answer.content) == (200, png.getvalue())
    assert (await account.app.get(address.replace(".png", "0.png"))).status_code == 404
    assert (await account.app.get("/greader/icons/nonsense")).status_code == 404


async def test_tags_are_stars_folders_and_labels(account: AppAccount) -> None:
    app = await account.open_app()
    await app.post("edit-tag", i=await account.id_of("One"), a=["user/-/label/Keep", "user/-/label/Tech"])
    tags = (await app.read("tag/list"))["tags"]
    assert [(tag["id"], tag.get("type"), tag.get("unread_count")) for tag in tags] == [
        (STARRED, None, None),
        ("user/-/label/News", "folder", 3),
        ("user/-/label/Tech", "folder", 2),
        ("user/-/label/Keep", "tag", 1),
    ]


async def test_nested_folders_are_called_by_their_path_and_found_by_their_name(account: AppAccount) -> None:
    made = await account.page.post("/api/v1/folders", json={"name": "Linux", "parent_id": account.folders["tech"]})
    app = await account.open_app()
    news = f"feed/{account.feeds['news']}"
    await app.post("subscription/edit", ac="edit", s=news, a="user/-/label/Tech/Linux")
    assert made.status_code == 201
    names = {tag["id"] for tag in (await app.read("tag/list"))["tags"]}
    assert "user/-/label/Tech/Linux" in names
    for label in ("Tech/Linux", "Linux"):
        assert len(await app.ids(s=f"user/-/label/{label}")) == 3
    assert len(await app.ids(s="user/-/label/Tech")) == 2
    await app.post("mark-all-as-read", s="user/-/label/Tech")
    assert await account.unread_titles() == {"One", "Two", "Three"}
    await app.post("rename-tag", s="user/-/label/Tech/Linux", dest="user/-/label/Tech/BSD")
    folders = (await account.page.get("/api/v1/folders")).json()["items"]
    assert "BSD" in str(folders)


async def test_counts_name_every_stream_with_the_moment_of_its_newest(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    await app.post("edit-tag", i=one, a="user/-/label/Keep")
    await app.post("edit-tag", i=await account.id_of("Two"), a=READ)
    answer = await app.read("unread-count")
    news, tech = await account.fetched_at(one), await account.fetched_at(await account.id_of("Five"))
    assert answer["max"] == 4
    counts = {row["id"]: (row["count"], row["newestItemTimestampUsec"]) for row in answer["unreadcounts"]}
    assert counts == {
        f"feed/{account.feeds['news']}": (2, f"{news}000"),
        f"feed/{account.feeds['tech']}": (2, f"{tech}000"),
        "user/-/label/News": (2, f"{news}000"),
        "user/-/label/Tech": (2, f"{tech}000"),
        "user/-/label/Keep": (1, f"{news}000"),
        READING_LIST: (4, f"{tech}000"),
    }


async def test_the_user_is_told_in_text(account: AppAccount) -> None:
    info = await (await account.open_app()).read("user-info")
    names = ("userId", "userName", "userProfileId", "userEmail")
    assert all(isinstance(info[name], str) and info[name] for name in names)
    assert info["userEmail"] == EMAIL

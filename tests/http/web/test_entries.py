"""The rows of a list, as a browser gets them."""

import re
from base64 import b64decode
from html import unescape

from reedbed.services.images import fetch_missing_icons
from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import texts

ICON = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAE0lEQVR4nGNkaGDACpiwCw9WCQBqCACQJ5at+QAAAABJRU5ErkJggg=="
)


async def test_a_note_without_a_title_is_shown_as_its_text(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("", key="short", content="<p>Only a greeting.</p>")
    long = "The reeds stand in the water again, and the herons have come back with them to"
    site.publish("", key="long", content=f"<p>{long} the old canal.</p><p>They stay.</p>")
    site.publish("The reeds", key="named", content=f"<p>{long} the old canal.</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    page = (await reader.get("/all")).text
    assert texts(page, 'class="row-text"') == [
        f"Unread. The reeds\n{long} the old canal.",
        f"Unread. {long} the old canal. They stay.",
        "Unread. Only a greeting.",
    ]
    assert page.count(" data-post") == 2


async def test_a_post_shows_its_link_as_a_card_and_who_wrote_a_boost(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    text = "Good long piece on why lock keepers still keep paper books."
    link = "<a href='https://www.ledger.example/keepers'><span>https://</span>www.ledger.example/keepers</a>"
    site.publish("", key="link", feed="@petra", content=f"<p>{text} {link}</p>", url=f"{site.url}/@petra/1")
    site.publish("", key="boost", feed="@petra", content="<p>Letters.</p>", url="https://marsh.example/@ada/2")
    await harness.follow(site.feed_url("@petra"), user_id=reader.user_id)
    await harness.check()
    page = (await reader.get("/all")).text
    assert texts(page, 'class="row-text"') == [
        "Boosted from @ada@marsh.exampleUnread. Letters.",
        f"Unread. {text}\nledger.example/keepers",
    ]
    assert 'href="https://www.ledger.example/keepers" target=_blank rel="noopener noreferrer"' in page
    boost, linked = (await reader.get("/api/v1/entries")).json()["items"]
    assert boost["post"] == {"text": "Letters.", "link": None, "boosted_from": "@ada@marsh.example"}
    link = {"url": "https://www.ledger.example/keepers", "title": ""}
    assert linked["post"] == {"text": text, "link": link, "boosted_from": None}
    one = (await reader.get(f"/api/v1/entries/{boost['id']}")).json()
    assert one["post"] == boost["post"]
    assert "Boosted from @ada@marsh.example" in (await reader.get(f"/all/entry/{boost['id']}")).text


async def test_a_headline_that_is_the_whole_text_is_shown_once(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("The lock opens at nine", content="<p>The lock opens at nine</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    page = (await reader.get("/all")).text
    assert texts(page, 'class="row-text"') == ["Unread. The lock opens at nine"]


async def test_the_title_text_of_a_picture_is_printed(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    joke = "Version 4 is a promise &amp; no more."
    picture = "<img src='https://e.example/%s.png' alt='Four people' title='%s'>"
    site.publish("Versions", key="comic", content=picture % ("comic", joke))
    site.publish("The harbour", key="photo", content=picture % ("photo", "IMG_2342") + "<p>Seen at dusk.</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    rows = (await reader.get("/all")).text
    assert f"<p dir=auto>{joke}" in rows
    urls = re.findall(r'<a href="(/all/entry/\d+)"', rows)
    pages = [(await reader.get(url)).text for url in urls]
    assert [f'<small class="title-text">{joke}</small>' in page for page in pages].count(True) == 1
    assert not any("IMG_2342</small>" in page for page in pages)


async def test_a_video_is_played_in_a_document_that_frames_its_site_alone(reader: Client) -> None:
    answer = await reader.get("/player/youtube/abcdefghijk")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-src https://www.youtube-nocookie.com;" in policy
    assert "frame-ancestors 'self'" in policy
    assert "script-src" not in policy
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert "https://www.youtube-nocookie.com/embed/abcdefghijk?" in answer.text
    assert (
        "frame-src https://player.vimeo.com;"
        in (await reader.get("/player/vimeo/76979871")).headers["content-security-policy"]
    )
    wrong = ("/player/other/abcdefghijk", "/player/vimeo/abc", "/player/youtube/a", "/player/youtube/%22%3E%3Cb%3E")
    assert [(await reader.get(address)).status_code for address in wrong] == [404] * len(wrong)


async def test_a_video_of_youtube_is_played_from_ones_own_site(reader: Client) -> None:
    saved = await reader.post("/settings/reading", data={"video_site": " https://Video.example.org:8443/piped/ "})
    assert saved.status_code == 303
    assert 'value="https://video.example.org:8443/piped"' in (await reader.get("/settings/reading")).text
    answer = await reader.get("/player/youtube/abcdefghijk")
    assert "frame-src https://video.example.org:8443; frame-ancestors" in answer.headers["content-security-policy"]
    assert 'src="https://video.example.org:8443/piped/embed/abcdefghijk?autoplay=1"' in answer.text
    assert "youtube-nocookie" not in answer.text + answer.headers["content-security-policy"]
    vimeo = await reader.get("/player/vimeo/76979871")
    assert "frame-src https://player.vimeo.com;" in vimeo.headers["content-security-policy"]
    for wrong in WRONG_SITES:
        refused = await reader.post("/settings/reading", data={"video_site": wrong})
        assert (refused.status_code, 'aria-invalid="true"' in refused.text) == (400, True), wrong
        by_api = await reader.patch("/api/v1/users/me", json={"preferences": {"video_site": wrong}})
        assert by_api.status_code == 400, by_api.text
    cleared = await reader.patch("/api/v1/users/me", json={"preferences": {"video_site": ""}})
    assert cleared.json()["preferences"]["video_site"] == ""
    assert "youtube-nocookie" in (await reader.get("/player/youtube/abcdefghijk")).text


WRONG_SITES = (
    "video.example.org",
    "javascript:alert(1)",
    "https://video.example.org/?a=b",
    "https://video.example.org/#a",
    "https://user:secret@video.example.org",
    "https://video.example.org; script-src *",
    "https://video.example.org/;script-src",
    'https://video.example.org/"><script>',
    "https://*.example.org",
    "https://video.example.org\n/x",
    "https://" + "a" * 400,
)


async def test_the_picture_of_a_video_comes_through_this_server(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    frame = '<iframe src="https://www.youtube.com/embed/abcdefghijk"></iframe>'
    site.publish("Framed", key="f", content=f"<p>Look.</p>{frame}")
    site.publish("About", key="a", content="<p>Look.</p>", url="https://www.youtube.com/watch?v=abcdefghijk")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    for (entry,) in await harness.rows("SELECT id FROM entries"):
        page = (await reader.get(f"/entry/{entry}")).text
        assert "https://i.ytimg.com" not in page
        assert 'src="/images/' in page
        assert 'href="https://www.youtube.com/watch?v=abcdefghijk"' in page
    assert "https://i.ytimg.com" not in (await reader.get("/all")).text


async def test_the_cover_of_a_recording_stands_beside_its_title_unless_the_text_shows_it(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    cover = "https://pictures.example/cover.png"
    picture = f'<itunes:image href="{cover}"/>'
    site.publish_episode("Lamps", key="a", more=picture)
    site.publish_episode("Gas", key="b", more=picture, content=f'<p>Light.</p><img src="{cover}">')
    site.publish("Paper", key="c", content=f'<img src="{cover}"><p>Ink.</p>')
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    listed = (await reader.get("/api/v1/entries")).json()["items"]
    covers = {}
    for entry in listed:
        covers[entry["title"]] = 'class="ep"' in (await reader.get(f"/entry/{entry['id']}")).text
    assert covers == {"Lamps": True, "Gas": False, "Paper": False}


async def test_an_article_links_its_categories_and_its_comments(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    item = (
        "<item><title>Kernel</title><guid>k</guid><comments>https://talk.example/1</comments>"
        '<category>Open "Source" &lt;b></category></item>'
    )
    document = f'<rss version="2.0"><channel><title>News</title>{item}</channel></rss>'
    site.put("/tagged.xml", document.encode(), content_type="application/rss+xml")
    await harness.follow(f"{site.url}/tagged.xml", user_id=reader.user_id)
    await harness.check()
    (entry,) = await harness.column("SELECT id FROM entries")
    page = (await reader.get(f"/entry/{entry}")).text
    assert 'href="https://talk.example/1"' in page
    (link,) = re.findall(r'href="(/search\?q=category[^"]+)"', page)
    found = (await reader.get(unescape(link))).text
    assert texts(found, 'class="row-text"')[0].startswith("Unread. Kernel")


async def test_icons_of_feeds_come_in_one_request(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    """A picture for each feed would be a request for each."""
    assert "/icons.css" not in (await reading.get("/unread")).text
    site.put("/favicon.ico", ICON, content_type="image/png")
    await harness.change("UPDATE feeds SET icon_checked_at = NULL")
    await fetch_missing_icons(harness.runtime, limit=10)

    page = (await reading.get("/unread")).text
    address = re.search(r'href="(/icons\.css\?v=\w+)"', page)
    assert address is not None
    assert "/icons/" not in page
    icon_id = (await harness.column("SELECT icon_id FROM feeds"))[0]
    assert page.count(f'data-icon="{icon_id}"') == 3  # the rows; the sidebar writes it without quotes
    sheet = await reading.get(address[1])
    assert sheet.headers["content-type"].startswith("text/css")
    assert f'[data-icon="{icon_id}"]' in sheet.text


async def test_the_words_of_a_reader_are_marked_for_nobody_else(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("Herons <b> & ducks", key="a", content="<p>A duck, <em>a heron</em>.</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    (entry,) = await harness.column("SELECT id FROM entries")
    assert (await reader.post("/settings/reading", data={"marked_words": "duck*\nheron"})).status_code == 303
    page = (await reader.get(f"/all/entry/{entry}")).text
    assert page.count('&lt;b&gt; &amp; <mark class="word">ducks</mark>') == 2
    assert 'A <mark class="word">duck</mark>, <em>a <mark class="word">heron</mark></em>' in page
    refused = await reader.post("/settings/reading", data={"marked_words": "x" * 61})
    assert (refused.status_code, "60" in refused.text) == (400, True)


async def test_all_but_starred_entries_are_marked_read(reading: Client) -> None:
    entries = (await reading.get("/api/v1/entries")).json()["items"]
    await reading.patch(f"/api/v1/entries/{entries[0]['id']}", json={"starred": True})
    answer = await reading.post("/mark-read", data={"view": "all", "except_starred": "true"})
    assert answer.status_code == 303
    unread = (await reading.get("/api/v1/entries", params={"view": "unread"})).json()["items"]
    assert [entry["id"] for entry in unread] == [entries[0]["id"]]
    marked = await reading.post("/api/v1/entries/mark-read", json={"all": True, "except_starred": True})
    assert marked.json()["marked"] == 0


async def test_a_picture_of_known_size_keeps_its_shape_in_a_list_of_pictures(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    picture = "<img src='https://e.example/%s.png' alt=''%s>"
    for name, size in (("strip", (1500, 480)), ("page", (600, 900)), ("square", (640, 640)), ("unknown", None)):
        given = f" width='{size[0]}' height='{size[1]}'" if size else ""
        site.publish(name, key=name, content=picture % (name, given))
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    assert "data-shaped" not in (await reader.get("/all")).text
    (feed,) = (await reader.get("/api/v1/subscriptions")).json()["items"]
    rows = (await reader.get(f"/feed/{feed['id']}")).text.split('<li class="row"')[1:]
    assert ["data-shaped" in row for row in rows] == [False, True, False, True]
    assert ["data-strip" in row for row in rows] == [False, False, False, True]
    assert "width=1500 height=480" in rows[3]


async def test_a_magazine_begins_with_the_newest_entry_whose_picture_is_large(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    text = "<p>" + "The herons came back to the canal. " * 9 + "</p>"
    for name, width in (("Large", 1200), ("Larger", 1600), ("Small", 300)):
        picture = f"<img src='https://e.example/{name}.png' alt='' width='{width}' height='200'>"
        site.publish(name, content=picture + text)
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    await reader.post("/list-settings", data={"list": "everything", "layout": "magazine"})
    first, *others = (await reader.get("/all")).text.split('<li class="row"')[1:]
    assert "data-lead" in first
    assert "Larger</a>" in first
    assert not any("data-lead" in row or "data-shaped" in row for row in others)

"""One field for anything, and lists as files."""

from urllib.parse import quote

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE, texts

OPML = """<opml version="2.0"><body><outline text="News">
<outline text="One" xmlUrl="{one}"/><outline text="Known" xmlUrl="{known}"/>
<outline text="Odd &lt;one&gt;" xmlUrl="gopher://x"/></outline></body></opml>"""


async def test_a_page_with_a_feed_is_shown_before_it_is_followed(reader: Client, site: FeedSite) -> None:
    site.feed(title="Tidewater Post")
    for number in range(4):
        site.publish(f"Tide {number}", key=str(number))
    page = site.page("/", feeds=("main",))
    part = await reader.get("/add", params={"url": page}, headers=HTMX)
    assert "<html" not in part.text and "Tidewater Post" in part.text and "Tide 3" in part.text
    assert f'name="url" value="{site.feed_url()}"' in part.text
    assert "Nothing followed yet" in (await reader.get("/feeds")).text
    assert 'href="/settings/data#bring-title">Move in from another reader' in (await reader.get("/all")).text


async def test_following_what_was_found_leads_to_the_feed(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("Hello", key="a")
    await reader.post("/folders", data={"name": "News"})
    (folder,) = await harness.column("SELECT id FROM folders")
    wish = {"url": site.feed_url(), "folder_id": str(folder), "next": "/add?url=x"}
    followed = await reader.post("/feeds", data=wish)
    assert followed.status_code == 303
    assert followed.headers["location"].startswith("/feed/")
    assert await harness.column("SELECT folder_id FROM subscriptions") == [folder]


async def test_a_feed_just_followed_is_called_by_the_name_the_page_has_shown(reader: Client, site: FeedSite) -> None:
    site.feed(title="The Marrowby Courier")
    site.publish("Hello", key="a")
    looked = (await reader.get("/add", params={"url": site.feed_url()}, headers=HTMX)).text
    assert 'name="shown_as" value="The Marrowby Courier"' in looked
    wish = {"url": site.feed_url(), "next": "/add", "shown_as": "The Marrowby Courier\n"}
    followed = await reader.post("/feeds", data=wish)
    shown = await reader.get(followed.headers["location"])
    assert "You follow The Marrowby Courier now." in shown.text


async def test_where_there_is_no_feed_the_typed_text_stays_with_a_sentence(reader: Client, site: FeedSite) -> None:
    page = site.page("/plain", feeds=(), body="<p>Nothing to follow</p>")
    shown = await reader.get("/add", params={"url": page})
    assert f'value="{page}"' in shown.text
    assert len(texts(shown.text)) == 1 and texts(shown.text)[0].endswith(".")


async def test_words_are_looked_for_among_what_is_there(reading: Client) -> None:
    part = (await reading.get("/add", params={"url": "grey birds"}, headers=HTMX)).text
    assert "3 entries have these words" in part and 'href="/search?q=grey%20birds"' in part
    named = (await reading.get("/add", params={"url": "marrowby courier"}, headers=HTMX)).text
    assert "You follow already:" in named and "The Marrowby Courier" in named
    nothing = (await reading.get("/add", params={"url": "no such words"}, headers=HTMX)).text
    assert texts(nothing) == ["This is not an address, and no entry has these words."]


async def test_what_a_share_menu_hands_over_is_understood(reading: Client, site: FeedSite) -> None:
    shown = await reading.get("/add", params={"text": f"A nice feed {site.feed_url()} found today"})
    assert "You have already added this feed" in shown.text


async def test_samples_are_only_addresses_until_one_is_chosen(reader: Client, site: FeedSite) -> None:
    shown = await reader.get("/add?start=samples")
    assert shown.text.count('name="url" value="https://') >= 5
    assert not site.seen()


async def test_samples_are_offered_until_something_is_followed(reader: Client, site: FeedSite) -> None:
    assert "A few to try" in (await reader.get("/add")).text
    await reader.post("/feeds", data={"url": site.feed_url()})
    assert "A few to try" not in (await reader.get("/add")).text


async def test_several_addresses_are_followed_one_by_one(reader: Client, site: FeedSite) -> None:
    one, other = site.feed_url("one"), site.feed_url("other")
    asked = await reader.get("/add", params={"url": f"{one} {other},"}, headers=HTMX)
    assert "Several addresses" in asked.text and not site.seen()
    here = f"/add?url={quote(f'{one} {other}', safe='')}"
    assert asked.text.count(f'name="next" value="{here}"') == 2
    followed = await reader.post("/feeds", data={"url": other, "next": here})
    assert followed.headers["location"] == here
    shown = (await reader.get(here)).text
    assert f'name="url" value="{one}"' in shown and f'name="url" value="{other}"' not in shown


async def test_each_of_several_addresses_keeps_its_password(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    """Also after another was followed: the page comes anew then, and the address bar knows no password."""
    one = site.feed_url("one")
    other = site.feed_url("other").replace("://", "://ann:s3cret@")
    shown = await reader.post("/add", data={"url": f"{one} {other}"}, headers=HTMX)
    assert f'name="asked" value="{one} {other}"' in shown.text
    assert "s3cret" not in shown.headers["hx-push-url"]
    again = await reader.post("/feeds", data={"url": one, "next": "/add", "asked": f"{one} {other}"})
    assert again.status_code == 200 and "Several addresses" in again.text
    assert f'name="url" value="{one}"' not in again.text
    assert 'name="username" value="ann"' in again.text and 'name="password" value="s3cret"' in again.text
    wish = {"url": site.feed_url("other"), "username": "ann", "password": "s3cret"}
    await reader.post("/feeds", data={**wish, "next": "/add", "asked": f"{one} {other}"})
    assert await harness.column("SELECT username FROM feeds WHERE owner_id IS NOT NULL") == ["ann"]


async def test_a_feed_that_asks_for_a_password_opens_the_fields_for_it(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.protect("ann", "s3cret")
    await reader.post("/feeds", data={"url": site.feed_url()})
    (id_,) = await harness.column("SELECT id FROM subscriptions")
    assert "Give its name and password in the settings of the feed." in (await reader.get("/feeds")).text
    form = (await reader.get(f"/feeds/{id_}/edit")).text
    assert '<details class="keeping" open>\n<summary class="btn" data-kind="quiet">Name and password' in form


async def test_a_feed_is_asked_for_once_to_be_shown(reader: Client, site: FeedSite) -> None:
    site.feed(title="Tidewater Post")
    site.publish("Hello", key="a")
    assert "Tidewater Post" in (await reader.get("/add", params={"url": site.feed_url()})).text
    assert site.count() == 1


async def test_a_wrong_password_is_named(reader: Client, site: FeedSite) -> None:
    site.protect("ann", "s3cret")
    wrong = {"url": site.feed_url(), "username": "ann", "password": "guess"}
    (said,) = texts((await reader.post("/add", data=wrong, headers=HTMX)).text)
    assert said == "The site refused this name and password."
    (said,) = texts((await reader.post("/add", data={"url": site.feed_url()}, headers=HTMX)).text)
    assert said.startswith("The site requires a name and password.")


async def test_a_locked_or_busy_site_says_what_to_do(reader: Client, site: FeedSite) -> None:
    for status, way in ((401, "https://name:password@example.org"), (429, "Try again in a few minutes")):
        site.misbehave(status=status)
        (said,) = texts((await reader.get("/add", params={"url": site.feed_url()})).text)
        assert way in said


async def test_a_site_that_is_down_can_be_followed_all_the_same(reader: Client, site: FeedSite) -> None:
    site.misbehave(status=503)
    shown = (await reader.get("/add", params={"url": site.feed_url()}, headers=HTMX)).text
    assert "Are you sure that it is a feed?" in shown and f'name="url" value="{site.feed_url()}"' in shown
    followed = await reader.post("/feeds", data={"url": site.feed_url(), "next": "/add"})
    assert followed.status_code == 303 and followed.headers["location"].startswith("/feed/")
    plain = site.page("/plain", feeds=(), body="<p>Nothing to follow</p>")
    page = (await reader.get("/add", params={"url": plain}, headers=HTMX)).text
    assert "Are you sure that it is a feed?" not in page


async def test_a_feed_itself_is_not_offered_as_a_page_to_save(reader: Client, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    bare = site.feed_url().removeprefix("http://")
    assert "/saved-pages" not in (await reader.get("/add", params={"url": bare}, headers=HTMX)).text
    page = site.page("/", feeds=("main",))
    assert "/saved-pages" in (await reader.get("/add", params={"url": page}, headers=HTMX)).text


async def test_only_an_address_can_be_saved_for_later(reader: Client) -> None:
    shown = (await reader.get("/add", params={"url": "javascript:alert(1)"})).text
    assert texts(shown) == ["This is not the address of a page or feed."]
    assert "/saved-pages" not in shown


async def test_a_password_that_is_typed_is_kept_and_stays_out_of_the_address_bar(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.protect("ann", "s3cret")
    site.publish("Hello", key="a")
    typed = site.feed_url().replace("://", "://ann:s3cret@")
    clean = f"/add?url={quote(site.feed_url(), safe='')}"
    assert (await reader.get("/add", params={"url": typed})).headers["location"] == clean
    shared = await reader.get("/add", params={"text": f"A nice feed {typed}"})
    assert shared.headers["location"] == clean
    looked = await reader.post("/add", data={"url": typed}, headers=HTMX)
    assert looked.headers["hx-push-url"] == clean and "Hello" in looked.text
    whole = await reader.post("/add", data={"url": typed}, headers=OWN_PAGE)
    assert whole.status_code == 200 and f'value="{site.feed_url()}"' in whole.text
    words = await reader.post("/add", data={"url": f"Nice: {typed}"}, headers=HTMX)
    assert "s3cret" not in words.text + words.headers["hx-push-url"]
    assert 'name="username" value="ann"' in looked.text and 'name="password" value="s3cret"' in looked.text
    asked = site.count()
    wish = {"url": site.feed_url(), "username": "ann", "password": "s3cret", "next": "/add"}
    followed = await reader.post("/feeds", data=wish)
    assert followed.headers["location"].startswith("/feed/")
    assert site.count() == asked, "the preview's document is the feed's first"
    assert await harness.column("SELECT username FROM feeds WHERE owner_id IS NOT NULL") == ["ann"]
    assert await harness.column("SELECT count(*) FROM entries") == [1]


async def test_a_site_that_asks_for_a_password_is_given_one(reader: Client, site: FeedSite) -> None:
    site.protect("ann", "s3cret")
    site.publish("Hello", key="a")
    locked = await reader.post("/add", data={"url": site.feed_url()}, headers=HTMX)
    assert 'type="password"' in locked.text
    wish = {"url": site.feed_url(), "username": "ann", "password": "s3cret"}
    assert "Hello" in (await reader.post("/add", data=wish, headers=HTMX)).text
    wrong = await reader.post("/add", data={**wish, "username": "a:b"}, headers=HTMX)
    assert texts(wrong.text) == ["The user name must be one line of at most 255 characters without a colon."]


async def test_what_is_typed_without_a_password_is_in_the_address_bar(reader: Client, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    here = f"/add?url={quote(site.feed_url(), safe='')}"
    assert (await reader.post("/add", data={"url": site.feed_url()})).headers["location"] == here
    assert not site.seen()
    looked = await reader.post("/add", data={"url": site.feed_url()}, headers=HTMX)
    assert looked.headers["hx-push-url"] == here
    assert (await reader.post("/add", data={"url": " "})).headers["location"] == "/add"


async def test_following_what_was_shown_asks_its_server_once(reader: Client, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    page = site.page("/", feeds=("main",))
    await reader.get("/add", params={"url": page}, headers=HTMX)
    await reader.post("/feeds", data={"url": site.feed_url(), "next": "/add"})
    assert (site.count(), len(site.seen_at("/"))) == (1, 1)


async def test_several_addresses_need_no_scheme(reader: Client, site: FeedSite) -> None:
    bare = site.feed_url().removeprefix("http://")
    shown = await reader.get("/add", params={"url": f"{bare}\nexample.org/feed"}, headers=HTMX)
    assert "Several addresses" in shown.text
    assert f'name="url" value="{bare}"' in shown.text and 'name="url" value="example.org/feed"' in shown.text
    site.publish("Hello", key="a")
    assert (await reader.post("/feeds", data={"url": bare, "next": "/add"})).status_code == 303
    again = await reader.get("/add", params={"url": f"{bare}\nexample.org/feed"}, headers=HTMX)
    assert again.text.count("Followed") == 1
    words = await reader.get("/add", params={"url": "example.org and others"}, headers=HTMX)
    assert "Several addresses" not in words.text


async def test_a_search_for_a_feed_that_is_not_followed_says_so(reading: Client) -> None:
    added = (await reading.get("/add", params={"url": "feed:nothing"}, headers=HTMX)).text
    assert texts(added) == ["You follow no feed called nothing."]
    found = (await reading.get("/search", params={"q": "feed:nothing grey"})).text
    assert "You follow no feed called nothing." in found
    others = (await reading.get("/search", params={"q": "folder:none tag:no -feed:nothing"})).text
    assert "There is no folder called none. There is no tag called no." in others
    assert "no feed called" not in others
    for query in ("is:bogus", "-is:bogus grey"):
        states = (await reading.get("/search", params={"q": query})).text
        assert "There is no is:bogus. These can be searched for: is:unread, is:read, is:starred" in states
    parts = (await reading.get("/search", params={"q": "has:bogus"})).text
    assert "There is no has:bogus. These can be searched for: has:picture." in parts
    typed = (await reading.get("/add", params={"url": "has:bogus"}, headers=HTMX)).text
    assert texts(typed) == ["There is no has:bogus. These can be searched for: has:picture."]


async def test_a_site_without_https_is_given_its_login_over_http(reader: Client, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    site.protect("ann", "s3cret")
    bare = site.feed_url().removeprefix("http://")
    locked = await reader.post("/add", data={"url": bare}, headers=HTMX)
    assert f'name="url" value="{site.feed_url()}"' in locked.text
    login = {"url": site.feed_url(), "username": "ann", "password": "s3cret"}
    found = await reader.post("/add", data=login, headers=HTMX)
    assert "Hello" in found.text
    made = await reader.post("/api/v1/subscriptions", json={"url": bare})
    assert (made.status_code, made.json()["url"]) == (201, site.feed_url())


async def test_a_feed_address_without_a_dot_is_no_search(reader: Client) -> None:
    page = (await reader.get("/add", params={"url": "feed://no-such-host/news"}, headers=HTMX)).text
    assert "called //no-such-host" not in page
    assert "no entry has these words" not in page
    assert 'value="https://no-such-host/news"' in page


async def test_a_list_is_brought_in_with_a_report(reading: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    text = OPML.format(one=site.feed_url("one"), known=site.feed_url())
    part = await reading.post("/opml", files={"file": ("mine.opml", text)}, headers=HTMX)
    assert part.status_code == 200 and "<html" not in part.text
    assert "Report: 1 added, 1 was there already, 1 needs a look" in part.text
    assert "Odd &lt;one&gt;" in part.text and "mine.opml" in part.text
    assert [hint.data for hint in harness.heard("progress")] == [{"what": "opml", "done": 3, "total": 3}]


async def test_a_file_that_is_no_list_is_refused_where_the_report_would_be(reader: Client) -> None:
    part = await reader.post("/opml", files={"file": ("x.opml", "not xml")}, headers=HTMX)
    assert part.status_code == 400 and part.headers["hx-retarget"] == "#import"
    assert len(texts(part.text)) == 1
    page = await reader.post("/opml", data={"next": "/add"})
    assert page.status_code == 400 and "<html" in page.text


async def test_the_list_is_taken_out_as_a_file(reading: Client, site: FeedSite) -> None:
    file = await reading.get("/opml")
    assert "attachment" in file.headers["content-disposition"]
    assert f'xmlUrl="{site.feed_url()}"' in file.text


async def test_all_samples_are_followed_in_one_press_and_twice_does_no_harm(reader: Client) -> None:
    button = (await reader.get("/add")).text
    assert 'action="/add/samples"' in button
    for _ in range(2):
        followed = await reader.post("/add/samples")
        assert (followed.status_code, followed.headers["location"]) == (303, "/unread")
    titles = [one["title"] for one in (await reader.get("/api/v1/subscriptions")).json()["items"]]
    assert len(titles) == 8 and "xkcd" in titles


async def test_a_folder_is_made_while_following(reader: Client, site: FeedSite) -> None:
    for key in ("one", "two"):
        site.publish("Hello", key=key, feed=key)
        await reader.post("/feeds", data={"url": site.feed_url(key), "new_folder": " Canals "})
    (folder,) = (await reader.get("/api/v1/folders")).json()["items"]
    filed = [one["folder_id"] for one in (await reader.get("/api/v1/subscriptions")).json()["items"]]
    assert (folder["name"], filed) == ("Canals", [folder["id"]] * 2)

import pytest

from reedbed.domain.feeds import Author, CheckSchedule, Enclosure, ParsedFeed
from reedbed.domain.times import HOUR, MINUTE
from reedbed.ingest.parse.fallback import read_with_feedparser
from tests.unit.parse.feeds import item, read, rss, sample


def test_a_podcast_says_who_made_it_and_how_often_to_come() -> None:
    feed = sample("podcast.xml")
    assert (feed.format, feed.title, feed.description) == ("rss", "Marsh & Mire", "Sounds from wet places")
    assert (feed.site_url, feed.self_url) == ("https://marsh.example/", "https://marsh.example/feed.xml")
    assert (feed.hub_url, feed.language) == ("https://hub.example/", "en-GB")
    assert feed.image == "https://marsh.example/cover.jpg"
    assert feed.authors == (Author("The Marsh Crew"),)
    assert feed.rhythm == CheckSchedule(max(90 * MINUTE, 6 * HOUR), frozenset({0, 3}), frozenset({6}))
    assert not feed.truncated


def test_an_episode_carries_its_people_files_and_pictures() -> None:
    episode = sample("podcast.xml").entries[0]
    assert episode.title == "Episode 1: Bitterns & reeds"
    assert (episode.guid, episode.url) == ("ep-1", "https://marsh.example/1")
    assert episode.published == 1725696000000
    assert episode.authors == (Author("Anna Reed", email="anna@marsh.example"), Author("Ben Sedge"))
    assert episode.categories == ("birds", "marsh", "Sound")
    assert episode.image == "https://cdn.example/large.jpg"
    assert episode.comments_url == "https://marsh.example/1#comments"
    assert episode.enclosures == (
        Enclosure("https://cdn.example/1.mp3", "audio/mpeg", 12345, None, 3723),
        Enclosure("https://cdn.example/1.mp4", "video/mp4", None, None, 60),
    )


def test_links_within_content_lead_from_the_page_of_the_entry() -> None:
    episode = sample("podcast.xml").entries[0]
    assert 'href="https://marsh.example/notes"' in episode.content
    assert 'src="https://marsh.example/pic.png"' in episode.content
    assert 'srcset="https://marsh.example/a.png 1x, https://marsh.example/b.png 2x"' in episode.content
    assert episode.summary == "Short words."


def test_a_guid_that_is_a_permalink_is_the_link() -> None:
    second = sample("podcast.xml").entries[1]
    assert second.url == second.guid == "https://marsh.example/2"
    assert second.published == 1725609600000


def test_atom_bases_nest_and_xhtml_becomes_html() -> None:
    feed = sample("journal.atom")
    assert (feed.format, feed.title, feed.language) == ("atom", "A slow journal", "en")
    assert (feed.site_url, feed.self_url) == ("https://journal.example/", "https://journal.example/feed.atom")
    assert (feed.icon, feed.image) == ("https://journal.example/icon.png", "https://journal.example/logo.png")
    first = feed.entries[0]
    assert first.url == "https://journal.example/posts/one"
    assert first.content == '<p>See <a href="https://journal.example/posts/deep/two">two</a><br>a &lt; b</p>'
    assert first.summary == "In short"


def test_atom_titles_are_read_by_their_type() -> None:
    first, second = sample("journal.atom").entries
    assert first.title == "Tea & toast"
    assert second.title == "1 < 2 & 3"
    assert second.content == "Plain &lt;words&gt; here"


def test_atom_keeps_every_author_and_enclosure() -> None:
    first = sample("journal.atom").entries[0]
    assert first.authors == (Author("Cara", "https://cara.example/"), Author("Dov", None, "dov@journal.example"))
    assert first.enclosures == (Enclosure("https://journal.example/posts/one.pdf", "application/pdf", 99, "As a book"),)
    assert first.categories == ("Tea time",)
    assert (first.published, first.updated) == (1714543200000, 1714636800000)


def test_rdf_items_stand_beside_their_channel() -> None:
    feed = sample("wire.rdf")
    assert (feed.format, feed.title) == ("rdf", "Wire")
    first, second = feed.entries
    assert (first.guid, first.title) == ("https://wire.example/a", "First")
    assert (first.authors, first.categories) == ((Author("Eve"),), ("wires",))
    assert first.published == 1704153600000
    assert second.url == "https://wire.example/b"


def test_json_feed_is_a_feed_like_the_others() -> None:
    feed = sample("blog.json", url="https://blog.example/feed.json")
    assert (feed.format, feed.title, feed.hub_url) == ("json", "Json blog", "https://hub.example/")
    seven, eight = feed.entries
    assert (seven.guid, seven.url) == ("7", "https://blog.example/seven")
    assert seven.content == "<p><img src='https://blog.example/x.png'></p>"
    assert seven.authors == (Author("Fay"), Author("Gus", "https://gus.example/"))
    assert (seven.categories, seven.summary) == (("a", "b"), "About seven")
    assert seven.enclosures == (Enclosure("https://cdn.example/7.mp3", "audio/mpeg", 5, None, 61),)
    assert eight.content == "a &lt; b<br>\nnext"
    assert eight.external_url == "https://other.example/"


def test_atom_0_3_has_its_own_words_for_things() -> None:
    feed = read(
        '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>Old</title><tagline>times</tagline>'
        '<entry><title mode="escaped" type="text/html">&lt;i&gt;Hi&lt;/i&gt;</title>'
        "<issued>2003-12-13T08:29:29Z</issued><modified>2003-12-14T08:29:29Z</modified>"
        "<content type='text/html' mode='escaped'>&lt;p&gt;x&lt;/p&gt;</content></entry></feed>"
    )
    (entry,) = feed.entries
    assert (feed.description, entry.title, entry.content) == ("times", "Hi", "<p>x</p>")
    assert (entry.published, entry.updated) == (1071304169000, 1071390569000)


def test_names_are_known_in_any_case_and_under_any_prefix() -> None:
    feed = read(
        '<RSS xmlns:z="http://purl.org/dc/elements/1.1/"><Channel><Title>Shout</Title>'
        "<Item><TITLE>One</TITLE><z:Creator>Hal</z:Creator></Item></Channel></RSS>"
    )
    assert feed.title == "Shout"
    assert feed.entries[0].authors == (Author("Hal"),)


def test_markup_in_a_plain_title_is_read_as_text() -> None:
    assert item("<title>a &lt;b&gt;bold&lt;/b&gt; &amp;amp; b</title>").title == "a bold & b"
    assert item("<title>use &lt;unknown&gt; tags</title>").title == "use <unknown> tags"
    assert item("<title>5 &lt; 6</title>").title == "5 < 6"


def test_of_two_descriptions_the_fuller_is_the_content() -> None:
    entry = read(
        '<rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><item><description>Short</description>'
        "<itunes:summary>Short, and then much more</itunes:summary></item></channel></rss>"
    ).entries[0]
    assert (entry.content, entry.summary) == ("Short, and then much more", "Short")


def test_an_address_that_cannot_be_opened_is_no_link() -> None:
    assert item("<link>javascript:alert(1)</link>").url is None
    assert item("<guid>12345</guid>").url is None
    assert item("<link>/post</link>").url == "https://site.example/post"


def test_a_feed_without_entries_is_still_a_feed() -> None:
    assert read(rss()).entries == ()


def test_an_atom_id_is_left_as_it_is() -> None:
    """Also in a document so damaged that another parser reads it: an id that changes doubles its entry."""
    whole = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://base.example/x/"><title>T</title>'
        '<entry><id>Abc/1</id><title>One</title><link href="p"/></entry></feed>'
    )
    for document in (whole, whole.replace(' xml:base="https://base.example/x/"', "")):
        assert read(document).entries[0].guid == "Abc/1"
        damaged = read_with_feedparser(document.encode(), content_type=None, url="https://u.example/feed")
        assert isinstance(damaged, ParsedFeed)
        assert damaged.entries[0].guid == "Abc/1"


@pytest.mark.parametrize("attribute", ['href = "/notes"', "HREF  =  '/notes'", 'href= "/notes"', 'href ="/notes"'])
def test_links_with_spaces_in_their_tag_lead_from_the_page_of_the_entry(attribute: str) -> None:
    words = f"<p>a = b</p><script>x = 1</script><a {attribute}>Notes</a>"
    entry = item(f"<link>https://site.example/1</link><description><![CDATA[{words}]]></description>")
    assert "https://site.example/notes" in entry.content

"""What the walks read: small feeds with one purpose each, so that no walk is in another's way."""

from tests.feedsite import FeedSite

HOSTILE = (
    "<p onclick='window.hurt=1'>Text</p><script>window.hurt=1</script><img src=x onerror='window.hurt=1'>"
    "<a href='javascript:window.hurt=1'>go</a><svg onload='window.hurt=1'></svg>"
    "<iframe src='javascript:window.hurt=1'></iframe><style>body{display:none}</style>"
    "<form action='/logout' method=post><button>press</button></form>"
)
PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
RICH = (
    "<p>The reeds stand in the water again, and the herons have come back with them to the old canal.</p>"
    "<h2>What was counted</h2><table><tr><th>Year</th><th>Herons</th></tr><tr><td>1931</td><td>12</td></tr>"
    "</table><table><tr><td>One cell, as mails have it.</td></tr></table>"
    f"<pre><code>count = {'long_name + ' * 30}1</code></pre>"
    f"<figure><img src='{PICTURE}' alt='A heron'>"
    "<figcaption>A heron.</figcaption></figure><p>A note.<sup><a href='#fn1'>1</a></sup></p>"
    + "<p>It is a quiet place to read in, with one long sentence\nafter another, and no hurry at all.</p>"
    * 30
)
LONG_WORD = "Donau" + "dampfschiff" * 12
PARAGRAPH = "<p>" + "A hand goes round and empties the bucket that is due, whatever stands in the others. " * 8 + "</p>"
WIDE_TABLE = (
    "<table><caption>Values</caption><thead><tr>"
    + "".join(f"<th>A long heading of column {n}</th>" for n in range(9))
    + "</tr></thead><tbody><tr>"
    + "".join(f"<td>A value of row one, {n}</td>" for n in range(9))
    + "</tr></tbody></table>"
)
ESSAY = (
    "<p>A timing wheel is a ring of buckets.<sup><a href='#fn1' id='ref1'>1</a></sup> It has "
    "<a href='https://example.org/paper'>a paper</a>.</p>"
    f"<h2>The ring</h2>{PARAGRAPH * 4}{WIDE_TABLE}<h2>The hand</h2>{PARAGRAPH * 4}"
    "<details><summary>How it was measured</summary><p>A million times.</p></details>"
    f"<h2>The end of it</h2>{PARAGRAPH * 4}<blockquote><p>البحر لا ينسى أحدا من أصحابه.</p></blockquote>"
    "<ol><li id='fn1'>The hand is a counter. <a href='#ref1'>\u21a9</a></li></ol>"
)
FEEDS = {"main": 90, "rich": 4, "hostile": 1, "words": 3, "bulk": 8, "essay": 3}
"""The feeds and how many entries each holds."""


def write_library(site: FeedSite) -> None:
    for number in range(FEEDS["main"]):
        site.publish(f"Entry {number} about reeds", key=str(number), content=f"<p>Words {number}.</p>" * 8)
    site.feed("rich", title="The Marrowby Courier")
    for name in ("Herons return to the canal", "A second look at the canal", "The third morning", "A fourth"):
        site.publish(name, feed="rich", content=RICH, author="Tobin Ferrow")
    site.publish("Hostile", key="h", feed="hostile", content=HOSTILE)
    site.feed("words", title="All words " + "of the water and the reeds " * 6)
    site.publish(LONG_WORD, feed="words", content="<p>Long.</p>")
    site.publish("Turned \u202egnirts\u202c around", feed="words", content="<p>Bidi.</p>")
    site.publish("الصيادون يعودون إلى الشباك", feed="words", content="<p>ثلاثة قوارب من الميناء.</p>")
    for number in range(FEEDS["bulk"]):
        site.publish(f"Bulk {number}", feed="bulk", content="<p>One of many.</p>")
    site.feed("essay", title="Small Machines")
    site.publish("Timing wheels, or how to forget alarms", feed="essay", content=ESSAY, author="Ada Lauck")
    site.publish("Timing wheels, once more", feed="essay", content=ESSAY, author="Ada Lauck")
    site.publish(
        "A marble run out of a piano",
        feed="essay",
        content="<p>We built it.</p><iframe src='https://www.youtube.com/embed/abcdefghijk'></iframe><p>See?</p>",
    )
    site.feed("quiet", title="The Quiet Page")
    site.publish("Nothing happened", feed="quiet", content="<p>All day.</p>")

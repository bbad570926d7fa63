"""The rows of a list, as a browser gets them."""

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import texts


async def test_a_note_without_a_title_is_not_told_twice(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("", key="short", content="<p>Only a greeting.</p>")
    long = "The reeds stand in the water again, and the herons have come back with them to"
    site.publish("", key="long", content=f"<p>{long} the old canal.</p><p>They stay.</p>")
    site.publish("The reeds", key="named", content=f"<p>{long} the old canal.</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    assert texts((await reader.get("/all")).text, 'class="row-text"') == [
        f"Unread. The reeds\n{long} the old canal.",
        f"Unread. {long}…\n… the old canal. They stay.",
        "Unread. Only a greeting.",
    ]

"""How a feed and its hub get along, in words for its readers."""

from reedbed.domain.records import record
from reedbed.domain.websub import HubStanding
from reedbed.services.runtime import Runtime
from reedbed.store import websub

NO_HUB = "The feed names no hub, so it is checked in its own rhythm."
NOT_YET = "The hub will be asked within a minute."


@record
class ShownHub:
    hub_url: str | None
    status: str
    """none, off, new, asked, active, failed or denied."""
    reason: str
    relied_on: bool = False
    standing: HubStanding | None = None


async def hub_standing(runtime: Runtime, feed_id: int) -> ShownHub:
    async with runtime.db.read() as tx:
        hub_url = await websub.hub_of(tx, feed_id)
        standing = await websub.of_feed(tx, feed_id)
    if hub_url is None:
        return ShownHub(None, "none", NO_HUB)
    if runtime.hubs.off is not None:
        return ShownHub(hub_url, "off", runtime.hubs.off)
    if standing is None:
        return ShownHub(hub_url, "new", NOT_YET)
    relied_on = standing.is_relied_on(runtime.now())
    return ShownHub(hub_url, standing.state, _reason(standing, relied_on=relied_on), relied_on, standing)


def _reason(standing: HubStanding, *, relied_on: bool) -> str:
    if relied_on:
        return "The hub sends news as they happen; one check a day makes sure that none is lost."
    match standing.state:
        case "active":
            return "The hub missed news, so the feed is checked in its own rhythm until it sends some again."
        case "new":
            return NOT_YET
        case "asked":
            return "The hub was asked and has not confirmed yet."
        case _:
            return standing.last_error or "The hub does not answer."

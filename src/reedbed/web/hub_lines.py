"""A feed's hub in a line for people: who it is, whether it is relied on, and what came of it."""

from datetime import tzinfo

from reedbed.domain.times import Instant
from reedbed.domain.websub import HubStanding
from reedbed.services.websub_standing import ShownHub
from reedbed.web.moments import full_moment
from reedbed.web.sentences import retell
from reedbed.web.speech import ngettext, translate


def hub_facts(hub: ShownHub, now: Instant, zone: tzinfo) -> list[tuple[str, str]]:
    """Nothing for a feed that names no hub."""
    if hub.hub_url is None:
        return []
    facts = [(translate("Hub"), f"{hub.hub_url} · {_why(hub)}")]
    if hub.standing is not None and (hub.standing.pushes or hub.standing.missed):
        facts.append((translate("What the hub sent"), _record(hub.standing, now, zone)))
    return facts


def _why(hub: ShownHub) -> str:
    if hub.relied_on:
        return translate("It sends news as they happen; one check a day makes sure that none is lost.")
    match hub.status:
        case "off":
            return f"{translate('Not asked.')} {retell(hub.reason)}"
        case "active":
            return translate("It missed news, so the feed is checked in its own rhythm until it sends some.")
        case "new":
            return translate("It will be asked within a minute.")
        case "asked":
            return translate("It was asked and has not confirmed yet.")
        case _:
            return f"{retell(hub.reason)} {translate('The feed is checked in its own rhythm.')}"


def _record(standing: HubStanding, now: Instant, zone: tzinfo) -> str:
    said = [
        ngettext("%(num)s push.", "%(num)s pushes.", standing.pushes),
        ngettext("%(num)s entry came that way.", "%(num)s entries came that way.", standing.entries),
    ]
    if standing.missed:
        said.append(ngettext("%(num)s was missed.", "%(num)s were missed.", standing.missed))
    if standing.last_push_at is not None:
        when = full_moment(standing.last_push_at, now, zone).words
        said.append(translate("Last: %(when)s.", when=when))
    return " ".join(said)

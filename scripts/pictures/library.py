"""An invented shelf of outlets for pictures of the page: nobody and nothing here exists."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from scripts.pictures.landscapes import Landscape, draw
from tests.feedsite import FeedSite


@dataclass(frozen=True)
class Outlet:
    key: str
    name: str
    folder: str


@dataclass(frozen=True)
class SampleEntry:
    outlet: str
    title: str
    line: str
    hours: float
    """How long ago."""
    picture: Landscape | None = None
    more: str = ""


OUTLETS = (
    Outlet("courier", "The Marrowby Courier", "Around home"),
    Outlet("post", "Tidewater Post", "Around home"),
    Outlet("kiosk", "Harbour Kiosk", "Around home"),
    Outlet("nordlys", "Nordlys Teknikk", "Craft and machines"),
    Outlet("machines", "Small Machines", "Craft and machines"),
    Outlet("orbit", "Low Orbit Weekly", "Craft and machines"),
    Outlet("sel", "Le Carnet du sel", "Slow reading"),
    Outlet("bread", "Slow Bread", "Slow reading"),
)
VOTE = "The council voted 31 to 28 to close the swing bridge to cars from September."
BRIDGE = (
    "<p>After a debate of nearly five hours the council chose the longer of two repair plans: fourteen "
    "months, with one lane open throughout for buses, cyclists and people on foot. Cars and lorries will be "
    "sent round by the lock, a detour of 4.2 kilometres.</p>"
    "<h2>What it costs</h2><p>The repair costs 18.4 million, a third of it from the harbour fund. The rest "
    "comes from the town, in three yearly parts.</p>"
    "<blockquote><p>A bridge that opens for every boat should not close for want of a bolt.</p></blockquote>"
    "<p>The first of the new bearings is to be cast in October. Until then the old ones are greased by hand, "
    "twice a day, by a crew of two who have done it for nineteen years.</p>"
    "<p>The harbour office expects the first week to be the hardest. Its timetable adds a bus every ten "
    "minutes until the new year, and the ferry will carry bicycles without a fee.</p>"
)
PIECES = (
    SampleEntry(
        "courier",
        "Marrowby council closes the swing bridge to cars",
        f"{VOTE} Buses and cyclists keep one lane.",
        0.6,
        Landscape("dusk", sun=0.68, reeds=24),
        BRIDGE,
    ),
    SampleEntry(
        "post",
        "Swing bridge: council votes to close it to cars",
        f"{VOTE} Shopkeepers on the quay fear for their autumn trade.",
        1.1,
        Landscape("noon", sun=0.3),
    ),
    SampleEntry(
        "sel",
        "Les paludiers rouvrent les œillets du nord",
        "Après six ans de friche, la première récolte est attendue pour l'été.",
        1.6,
        Landscape("dawn", sun=0.25),
    ),
    SampleEntry(
        "machines",
        "A feed parser in four hundred lines, and what the last forty taught me",
        "Most of the effort goes into dates; the rest goes into being polite.",
        2.3,
    ),
    SampleEntry(
        "bread",
        "No. 48: Rye in a cold kitchen",
        "Give the dough the night, and the oven ten minutes more than you think.",
        3.0,
    ),
    SampleEntry(
        "nordlys",
        "Fjordferja går nå på ren strøm gjennom hele vinteren",
        "Et batteribytte på fire timer erstatter dieselreserven på den lengste ruten.",
        3.8,
        Landscape("night", sun=0.74),
    ),
    SampleEntry(
        "kiosk",
        "Marrowby swing bridge to close to cars, council decides",
        f"{VOTE} The rowing club offers to take schoolchildren across.",
        4.2,
    ),
    SampleEntry(
        "orbit",
        "The weather satellite that outlived three of its launch vehicles",
        "Planned for five years, it has now measured sea ice for twenty-one.",
        5.5,
        Landscape("night", sun=0.2),
    ),
    SampleEntry(
        "courier",
        "Library opens on Sundays from March",
        "Four hours every Sunday, with the reading room heated first.",
        7.0,
    ),
    SampleEntry(
        "post",
        "Herons return to the old canal after nine years",
        "Three pairs were counted at the weekend, and one of them is building.",
        25.0,
        Landscape("dawn", sun=0.6, reeds=40),
    ),
    SampleEntry(
        "machines",
        "Why the cheapest lathe on my street is a shared one",
        "Eleven neighbours, one key cabinet and a calendar that nobody has broken yet.",
        28.0,
    ),
    SampleEntry(
        "bread",
        "No. 47: What steam does in the first ten minutes",
        "A tin of water, a closed door and patience make the better crust.",
        50.0,
    ),
    SampleEntry(
        "sel", "Ce que le vent écrit sur l'eau", "Trois matins au bord des vasières, un carnet et un seau.", 74.0
    ),
)


def write_library(site: FeedSite) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    for outlet in OUTLETS:
        site.feed(outlet.key, title=outlet.name)
    for number, piece in enumerate(PIECES):
        site.publish(
            piece.title,
            key=str(number),
            feed=piece.outlet,
            content=_content(site, number, piece),
            published=now - timedelta(hours=piece.hours),
        )


def _content(site: FeedSite, number: int, piece: SampleEntry) -> str:
    words = f"<p>{piece.line}</p>{piece.more}"
    if piece.picture is None:
        return words
    address = site.put(f"art/{number}.png", draw(piece.picture), content_type="image/png")
    return f"<figure><img src='{address}' alt='' width='1200' height='540'></figure>{words}"

"""Tides as a feed, calmer titles, a service for entries, and a model of one sentence."""

import json
import math
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

HOOKS_VERSION = 1

# --- A source: feeds of these hosts are never fetched from the network.

source_hosts = ("tides.example",)
HARBOURS = {"harwich": 0.4, "dover": 2.9, "leith": 5.6}
"""Hours after midnight of a first high water."""
PERIOD = timedelta(hours=12, minutes=25)


def fetch_source(url):
    harbour = urlsplit(url).path.strip("/").lower()
    if harbour not in HARBOURS:
        raise LookupError(f"there is no harbour {harbour!r}; known are {', '.join(HARBOURS)}")
    items = [
        {
            "id": f"{harbour}-{at:%Y-%m-%dT%H}",
            "url": f"https://tides.example/{harbour}?at={at:%Y-%m-%dT%H}",
            "title": f"High water at {harbour.title()}, {at:%d %B, %H:%M}",
            "content_text": f"The tide turns at {at:%H:%M} UTC.",
            "date_published": at.isoformat(),
        }
        for at in _high_waters(harbour, datetime.now(UTC))
    ]
    title = f"Tides at {harbour.title()}"
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items})


def _high_waters(harbour, now):
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=HARBOURS[harbour])
    passed = math.floor((now - start) / PERIOD)
    return [start + PERIOD * number for number in range(passed - 1, passed + 1)]


# --- Entries that arrive, before they are stored.


def entry_arriving(entry):
    if entry["title"].lower().startswith(("sponsored:", "advertisement:")):
        return False
    changes = {}
    letters = [letter for letter in entry["title"] if letter.isalpha()]
    if len(letters) > 10 and all(letter.isupper() for letter in letters):
        changes["title"] = entry["title"].capitalize()
    if re.search(r"[€£$]\s?\d", entry["title"]):
        changes["categories"] = [*entry["categories"], "prices"]
    return changes or None


# --- A service to send entries to. The text is that of a recipe; see docs/plugins.md.


def connector():
    return """
kind = "connector"
name = "Harbour log"
purpose = "save"

[[fields]]
name = "token"
label = "Token"

[[steps]]
method = "POST"
address = "{address}/log"
headers = { Authorization = "Bearer {token}" }
json = { link = "{url}", title = "{title}", tags = "{tags}" }
"""


# --- A model: the answer must be JSON of the schema in the request.


def ask_model(request):
    first = re.split(r"(?<=[.!?])\s", request["material"].strip(), maxsplit=1)[0]
    return json.dumps(_filled(request["schema"], first[:200]))


def _filled(schema, text):
    match schema.get("type"):
        case "object":
            return {name: _filled(part, text) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [_filled(schema.get("items", {}), text)]
        case "integer" | "number":
            return 1
        case "boolean":
            return False
        case _:
            return schema["enum"][0] if "enum" in schema else text

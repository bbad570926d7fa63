"""Pages a user saves by their address, to read later."""

from urllib.parse import unquote, urlsplit

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, MINUTE

FEED_URL = "reedbed:saved"
"""The address of everybody's own feed of saved pages; what tells them apart is their owner."""
FEED_TITLE = "Saved pages"
MAX_TITLE = 500
FIRST_WAIT, GIVE_UP_AFTER = 10 * MINUTE, HOUR
"""Between the tries to read a page whose site does not answer."""


@record
class SavedPage:
    entry_id: int
    new: bool
    """False: it was among the user's entries already, and is now marked for later."""


def title_from_address(url: str) -> str:
    """Something to call a page by until it has been read: `example.org/how-reeds-grow`."""
    parts = urlsplit(url)
    path = unquote(parts.path, errors="replace").rstrip("/")
    return f"{parts.netloc.rpartition('@')[2].removeprefix('www.')}{path}"[:MAX_TITLE] or url[:MAX_TITLE]

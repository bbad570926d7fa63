"""What a user follows, as light as a sidebar needs it."""

import re
from typing import Literal, NamedTuple

from reedbed.domain.verdicts import Status

GONE = 410
_NO_SUCH_NAME = re.compile(r"The name \S+ could not be found\.")

TroubleKind = Literal["gone", "stopped", "locked", "address", "waits", "damaged"]


class ShelfFeed(NamedTuple):
    """A tuple, because every page of the application makes one for each feed its reader follows."""

    subscription_id: int
    feed_id: int
    folder_id: int | None
    title: str
    unread: int
    icon_id: int | None
    language: str | None
    stop_reason: str | None
    full_text: str
    status: Status
    last_error: str | None
    last_http_status: int | None
    paused: bool


class Trouble(NamedTuple):
    kind: TroubleKind
    reason: str

    @property
    def needs_reader(self) -> bool:
        """False: it may pass by itself."""
        return self.kind not in ("waits", "damaged")


def trouble_of(feed: ShelfFeed) -> Trouble | None:
    """Why a feed brings nothing, or not everything; None for one that works or is paused."""
    reason = feed.stop_reason or feed.last_error
    if reason is None or feed.paused:
        return None
    return Trouble(_kind(feed), reason)


def _kind(feed: ShelfFeed) -> TroubleKind:
    if feed.stop_reason is not None:
        return "gone" if feed.last_http_status == GONE else "stopped"
    match feed.status:
        case "success":
            return "damaged"
        case "unauthorized":
            return "locked"
        case "permanent_error":
            return "address"
        case _:
            return "address" if _NO_SUCH_NAME.fullmatch(feed.last_error or "") else "waits"

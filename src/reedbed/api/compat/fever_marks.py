"""What Fever changes: an item is set to a state, a feed or a group is read up to a moment."""

from reedbed.api.compat.calls import Call
from reedbed.domain.accounts import Scope
from reedbed.domain.entries import Selection
from reedbed.domain.reader_edits import TagEdit
from reedbed.domain.reader_ids import LARGEST_ID
from reedbed.domain.times import LATEST, SECOND, Instant
from reedbed.services.reader_apps import edit_entries, mark_arrived, unread_recent
from reedbed.store import following

EDITS = {
    "read": TagEdit(read=True),
    "unread": TagEdit(read=False),
    "saved": TagEdit(starred=True),
    "unsaved": TagEdit(starred=False),
}
UNREAD_IDS, SAVED_IDS = frozenset({"unread_item_ids"}), frozenset({"saved_item_ids"})
EVERYTHING = 0


async def apply_marks(call: Call) -> frozenset[str]:
    """Which lists of ids are different now; a mark that makes no sense changes nothing."""
    if Scope.WRITE not in call.caller.scopes:
        return frozenset()
    if call.params.one("unread_recently_read") == "1":
        await unread_recent(call.runtime, call.user_id)
        return UNREAD_IDS
    kind, wish = call.params.one("mark"), call.params.one("as")
    id = _signed(call.params.one("id"))
    if kind == "item" and wish in EDITS:
        return await _mark_items(call, wish)
    if kind in ("feed", "group") and wish == "read" and id is not None:
        await mark_arrived(call.runtime, call.user_id, await _chosen(call, kind, id), _before(call))
        return UNREAD_IDS
    return frozenset()


async def _mark_items(call: Call, wish: str) -> frozenset[str]:
    """One id, though some apps send several with commas."""
    given = (_signed(text) for text in call.params.one("id").split(","))
    ids = [id for id in given if id is not None and id > 0]
    if ids:
        await edit_entries(call.runtime, call.user_id, ids, EDITS[wish])
    return UNREAD_IDS if EDITS[wish].read is not None else SAVED_IDS


async def _chosen(call: Call, kind: str, id: int) -> list[Selection]:
    """Group 0 is everything. Group -1 are sparks, which nobody has here."""
    if kind == "group" and id == EVERYTHING:
        return [Selection()]
    async with call.runtime.db.read() as tx:
        followed = await following.followed(tx, call.user_id)
    feeds = tuple(one.feed_id for one in followed if id == (one.feed_id if kind == "feed" else one.folder_id))
    return [Selection(feed_ids=feeds)] if feeds else []


def _before(call: Call) -> Instant | None:
    """To the end of that second: apps send moments of ours, cut to seconds. None is now."""
    moment = _signed(call.params.one("before").partition(".")[0])
    if not moment:
        return None
    end = min(max(moment, 0) * SECOND + SECOND - 1, LATEST)
    return None if end >= call.runtime.now() else end


def _signed(text: str) -> int | None:
    plain = text.strip()
    digits = plain.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 19:
        return None
    return max(min(int(plain), LARGEST_ID), -LARGEST_ID)

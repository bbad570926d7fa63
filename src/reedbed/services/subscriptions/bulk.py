"""Changes of many subscriptions at once."""

from collections.abc import Sequence

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.subscriptions import SubscriptionFilter
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import MAX_SUBSCRIPTIONS, SubscriptionChange, change_subscription
from reedbed.store import subscriptions

DEFAULTS = SubscriptionChange(
    paused=False,
    interval=None,
    full_text="auto",
    notify=False,
    keep_entries=None,
    keep_days=None,
    keep_unread_days=None,
    summary_words=None,
    local_only=False,
    muted_until=None,
    unread_display="number",
    in_unread=True,
    unread_limit=None,
    without_shorts=False,
)
"""The default settings of a feed. Title, address and folders are not among them."""


@record
class BulkChange:
    change: SubscriptionChange
    add_folder: int | Unset = UNSET
    """One more folder for each feed."""


async def change_many(runtime: Runtime, user_id: int, ids: Sequence[int], bulk: BulkChange) -> int:
    """Change these subscriptions; return how many there were. Those that are gone meanwhile are left out."""
    if len(ids) > MAX_SUBSCRIPTIONS:
        raise Invalid("There can be at most %(limit)s feeds.", field="ids", limit=MAX_SUBSCRIPTIONS)
    changed = 0
    for id_ in dict.fromkeys(ids):
        async with runtime.db.read() as tx:
            current = await subscriptions.get(tx, user_id, id_)
        if current is None:
            continue
        change = bulk.change
        if not isinstance(bulk.add_folder, Unset):
            change = SubscriptionChange(folder_ids=(*current.folder_ids, bulk.add_folder))
        try:
            await change_subscription(runtime, user_id, id_, change)
        except NotFound:
            if not isinstance(bulk.add_folder, Unset):
                raise
            continue
        changed += 1
    return changed


async def list_ids(runtime: Runtime, user_id: int, chosen: SubscriptionFilter) -> list[int]:
    """Every subscription that the filter shows."""
    async with runtime.db.read() as tx:
        rows = await subscriptions.page(tx, user_id, chosen, limit=MAX_SUBSCRIPTIONS, offset=0)
    return [row.id for row in rows]

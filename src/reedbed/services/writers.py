"""Who writes for a user: the built-in extract, or the model where the user lets texts be sent to it."""

from reedbed.domain.accounts import User
from reedbed.domain.preferences import Preferences
from reedbed.domain.summaries import EXTRACT, Variant
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.store import local_only
from reedbed.store.database import Tx


def variant_for(runtime: Runtime, user: User) -> Variant:
    """The summary this user wants of any text."""
    return variant_of(runtime, preferences_of(user))


def variant_of(runtime: Runtime, chosen: Preferences) -> Variant:
    model = runtime.ai.model
    if model is None or not may_send(runtime, chosen):
        return Variant(EXTRACT)
    return Variant(model.name, chosen.summary_language or runtime.ai.language)


async def variant_for_feed(tx: Tx, runtime: Runtime, user: User, feed_id: int) -> Variant:
    """The summary this user wants of a text of this feed."""
    variant = variant_for(runtime, user)
    if variant.model != EXTRACT and feed_id in await kept_here(tx, runtime, user.id):
        return Variant(EXTRACT)
    return variant


async def kept_here(tx: Tx, runtime: Runtime, user_id: int) -> frozenset[int]:
    """The feeds whose texts this user does not want sent; none while the model is nobody else's."""
    model = runtime.ai.model
    if model is None or not model.is_remote:
        return frozenset()
    return await local_only.feeds_of(tx, user_id)


def may_send(runtime: Runtime, chosen: Preferences) -> bool:
    """Nothing goes to somebody else's model before its user has said so."""
    model = runtime.ai.model
    return model is not None and (chosen.remote_ai or not model.is_remote)

"""Feeds made from pages: their recipes, and the entries that they are known by."""

import orjson
from sqlalchemy import bindparam, null, update

from reedbed.domain.page_feeds import PageFeed, PageRecipe, WatchState, recipe_from_fields, watch_state_from_fields
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, insert, row_of, select
from reedbed.store.tables import entries, feeds, page_feeds, subscriptions

_COLUMNS = (page_feeds.c.recipe, page_feeds.c.former_recipe, page_feeds.c.rebuilt_at, page_feeds.c.watched)


def _page_feed(recipe: str, former: str | None, rebuilt_at: Instant | None, watched: str | None) -> PageFeed:
    before = recipe_from_fields(orjson.loads(former)) if former else None
    state = watch_state_from_fields(orjson.loads(watched)) if watched else None
    return PageFeed(recipe_from_fields(orjson.loads(recipe)), before, rebuilt_at, state)


_GET = Query(select(*_COLUMNS).where(page_feeds.c.feed_id == bindparam("feed_id")), into=_page_feed)
_GET_OF_SUBSCRIPTION = Query(
    select(*_COLUMNS).where(
        subscriptions.c.id == bindparam("subscription_id"),
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.feed_id == page_feeds.c.feed_id,
    ),
    into=_page_feed,
)
_RECIPES = Query(
    select(subscriptions.c.id, page_feeds.c.recipe).where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.feed_id == page_feeds.c.feed_id,
    ),
    into=row_of(int, str),
)
_PUT = Command(
    insert(page_feeds)
    .values(feed_id=bindparam("feed_id"), recipe=bindparam("recipe"))
    .on_conflict_do_update(
        index_elements=["feed_id"],
        set_={"recipe": bindparam("recipe"), "former_recipe": null(), "rebuilt_at": null(), "watched": null()},
    )
)
_ALLOW_DUPLICATE_URLS = Command(
    update(feeds).where(feeds.c.id == bindparam("feed")).values(allow_duplicate_urls=bindparam("allowed"))
)
_REPLACE = Command(
    update(page_feeds)
    .where(page_feeds.c.feed_id == bindparam("feed"))
    .values(recipe=bindparam("new"), former_recipe=bindparam("former"), rebuilt_at=bindparam("now"))
)
_KEEP_WATCHED = Command(
    update(page_feeds).where(page_feeds.c.feed_id == bindparam("feed")).values(watched=bindparam("state"))
)
_KNOWN = Query(
    select(entries.c.guid)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.guid.is_not(None))
    .order_by(entries.c.id.desc())
    .limit(bindparam("limit")),
    into=str,
)
_OLDER = Query(
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .offset(bindparam("newest"))
    .limit(1_000),
    into=int,
)


async def get(tx: Tx, feed_id: int) -> PageFeed | None:
    return await tx.one(_GET, {"feed_id": feed_id})


async def of_subscription(tx: Tx, user_id: int, subscription_id: int) -> PageFeed | None:
    return await tx.one(_GET_OF_SUBSCRIPTION, {"user_id": user_id, "subscription_id": subscription_id})


async def recipes_of_user(tx: Tx, user_id: int) -> dict[int, str]:
    """Recipes as JSON, by subscription."""
    return dict(await tx.all(_RECIPES, {"user_id": user_id}))


async def put(tx: Tx, feed_id: int, recipe: PageRecipe) -> None:
    await tx.run(_PUT, {"feed_id": feed_id, "recipe": orjson.dumps(recipe).decode()})
    # Sections of one page have links that differ only in the fragment; changes of a page have the same link.
    allowed = recipe.source == "sections" or recipe.watches
    await tx.run(_ALLOW_DUPLICATE_URLS, {"feed": feed_id, "allowed": allowed})


async def replace_recipe(tx: Tx, feed_id: int, recipe: PageRecipe, former: PageRecipe, now: Instant) -> None:
    """After the page was rebuilt; the former recipe is kept to show what has changed."""
    values = {"feed": feed_id, "new": orjson.dumps(recipe).decode(), "former": orjson.dumps(former).decode()}
    await tx.run(_REPLACE, {**values, "now": now})


async def keep_watched(tx: Tx, feed_id: int, state: WatchState) -> None:
    await tx.run(_KEEP_WATCHED, {"feed": feed_id, "state": orjson.dumps(state).decode()})


async def known_keys(tx: Tx, feed_id: int, limit: int = 300) -> set[str]:
    """The keys of the newest entries."""
    return set(await tx.all(_KNOWN, {"feed_id": feed_id, "limit": limit}))


async def older_entries(tx: Tx, feed_id: int, newest: int) -> list[int]:
    """All but the newest entries."""
    return await tx.all(_OLDER, {"feed_id": feed_id, "newest": newest})

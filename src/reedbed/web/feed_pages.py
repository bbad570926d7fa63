"""What the pages about feeds show: the filtered list, the filters, the form of one feed."""

from dataclasses import replace
from datetime import tzinfo

from fastapi import Request

from reedbed.domain.accounts import Caller, User
from reedbed.domain.folders import FolderNode, FolderRow, build_tree
from reedbed.domain.subscriptions import Subscription, SubscriptionFilter
from reedbed.domain.times import HOUR, MINUTE
from reedbed.services.article_selectors import selectors_of
from reedbed.services.runtime import Runtime
from reedbed.services.websub_standing import ShownHub, hub_standing
from reedbed.store import folders, newsletters, subscriptions
from reedbed.store.database import Tx
from reedbed.web.feed_filters import PAGE_SIZE, Wanted
from reedbed.web.feed_framing import feed_framing
from reedbed.web.feed_lines import LineMaker
from reedbed.web.hub_lines import hub_facts
from reedbed.web.keep_choices import keep_choices
from reedbed.web.moments import full_moment, span_words, zone_of
from reedbed.web.newsletter_marks import sender_facts
from reedbed.web.sentences import retell
from reedbed.web.sidebar import icon_address
from reedbed.web.speech import translate
from reedbed.web.summary_choices import summary_choices
from reedbed.web.views.frame import Choice, Count, feed_mark
from reedbed.web.views.managing import FeedArticles, FeedEdit, FeedList, FeedsPage

INTERVALS = (15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR)


async def read_list(request: Request, runtime: Runtime, tx: Tx, user_id: int, wanted: Wanted) -> FeedList:
    asked = SubscriptionFilter(wanted.search, wanted.status)
    total = await subscriptions.how_many(tx, user_id, asked)
    found = await subscriptions.page(tx, user_id, asked, limit=PAGE_SIZE, offset=wanted.offset)
    lines = LineMaker(runtime.now(), zone_of(request)).lines(found)
    empty = wanted.empty_words(translate("Nothing followed yet. Add a site you like."))
    return FeedList(lines, wanted.pages(len(lines), total), empty)


async def read_statuses(tx: Tx, user_id: int, wanted: Wanted) -> tuple[Choice, ...]:
    counted = await subscriptions.count_by_status(tx, user_id, SubscriptionFilter(wanted.search))
    total, working, pending = sum(counted.values()), counted.get("success", 0), counted.get("pending", 0)
    named = (
        ("all", translate("All"), total),
        ("working", translate("Working"), working),
        ("pending", translate("Pending"), pending),
        ("error", translate("Error"), total - working - pending),
    )
    return tuple(
        Choice(value, name, value == wanted.status, wanted.address(status=value), Count(count))
        for value, name, count in named
    )


async def read_page(
    request: Request, runtime: Runtime, user_id: int, wanted: Wanted, *, with_list: bool = True
) -> FeedsPage:
    async with runtime.db.read() as tx:
        statuses = await read_statuses(tx, user_id, wanted)
        listed = await read_list(request, runtime, tx, user_id, wanted) if with_list else None
    return FeedsPage(
        wanted.search,
        statuses,
        listed,
        list_url=wanted.address(page=wanted.page),
        start_url=f"/feeds?page={wanted.page}" if wanted.page > 1 else "/feeds",
    )


def edit_form(
    request: Request, runtime: Runtime, one: Subscription, rows: list[FolderRow], hub: ShownHub
) -> FeedEdit:
    model = runtime.ai.model
    return FeedEdit(
        id=one.id,
        title=one.title,
        name=one.title,
        url=one.url,
        username=one.feed.username or "",
        has_password=one.feed.has_password,
        locked=one.feed.state.status == "unauthorized",
        mark=feed_mark(one.title, one.feed.id, icon_address(one.feed.icon_id)),
        folders=folder_choices(rows, one.folder_id),
        intervals=interval_choices(one.interval),
        paused=one.paused,
        full_text=one.full_text == "always",
        notify=one.notify,
        keep=keep_choices(one.keep),
        summaries=summary_choices(one.summary_words, translate("As the folder says")),
        model=model.name if model is not None and model.is_remote else "",
        local_only=one.local_only,
        facts=_facts(request, runtime, one, hub),
        by_mail=one.feed.kind != "web",
    )


async def read_edit(
    request: Request, runtime: Runtime, user_id: int, subscription_id: int
) -> FeedEdit | None:
    async with runtime.db.read() as tx:
        one = await subscriptions.get(tx, user_id, subscription_id)
        rows = await folders.of_user(tx, user_id)
        sender = await newsletters.sender_of_feed(tx, user_id, one.feed.id) if one else None
    if one is None:
        return None
    form = edit_form(request, runtime, one, rows, await hub_standing(runtime, one.feed.id))
    if sender is not None:
        return replace(form, facts=(*sender_facts(sender), *form.facts))
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return form
    return replace(
        form,
        framing=await feed_framing(runtime, caller.user, one, zone_of(request)),
        articles=await _articles(runtime, caller.user, one),
    )


async def _articles(runtime: Runtime, user: User, one: Subscription) -> FeedArticles | None:
    found = await selectors_of(runtime, user, one.id)
    if not found.may_change:
        return None
    keep, drop = "\n".join(found.selectors.keep), "\n".join(found.selectors.drop)
    return FeedArticles(keep, drop, shared=not one.feed.private, newest=found.newest)


def folder_choices(rows: list[FolderRow], chosen: int | None) -> tuple[Choice, ...]:
    """Every folder under its full way down; the first choice is none."""
    return (
        Choice("", translate("No folder"), chosen is None),
        *(
            Choice(str(id_), name, id_ == chosen)
            for node in build_tree(rows)
            for id_, name in _ways(node, "")
        ),
    )


def interval_choices(chosen: int | None) -> tuple[Choice, ...]:
    spans = sorted({*INTERVALS, *((chosen,) if chosen else ())})
    return (
        Choice("", translate("In its own rhythm"), chosen is None),
        *(
            Choice(str(span), translate("Every %(span)s", span=span_words(span)), span == chosen)
            for span in spans
        ),
    )


def _ways(node: FolderNode, above: str) -> list[tuple[int, str]]:
    name = f"{above}{node.name}"
    inner = [way for child in node.children for way in _ways(child, f"{name} / ")]
    return [(node.id, name), *inner]


def _facts(
    request: Request, runtime: Runtime, one: Subscription, hub: ShownHub
) -> tuple[tuple[str, str], ...]:
    state, now, zone = one.feed.state, runtime.now(), zone_of(request)
    facts = [
        (translate("Site"), one.feed.site_url or ""),
        (translate("Added as"), one.asked_url if one.asked_url not in ("", one.feed.url) else ""),
        (translate("About itself"), one.feed.description or ""),
        (translate("Followed since"), full_moment(one.subscribed_at, now, zone).words),
        (translate("Last checked"), _moment(state.last_checked_at, now, zone)),
        (translate("Last good answer"), _moment(state.last_success_at, now, zone)),
        (translate("Last trouble"), retell(state.last_error or "")),
        (translate("Next look"), LineMaker(now, zone).lines([one])[0].why),
        *hub_facts(hub, now, zone),
    ]
    return tuple((name, value) for name, value in facts if value)


def _moment(moment: int | None, now: int, zone: tzinfo) -> str:
    return "" if moment is None else full_moment(moment, now, zone).words

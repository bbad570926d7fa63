"""The form that changes a subscription: its options, and what it says about the feed and its hub."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo

from fastapi import Request

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow
from reedbed.domain.page_feeds import PageFeed
from reedbed.domain.retention import RetentionOverride
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.summaries import NEVER
from reedbed.domain.times import HOUR, MINUTE, Instant
from reedbed.domain.users import Caller, User
from reedbed.domain.websub import HubStatus
from reedbed.services.articles import selectors_of
from reedbed.services.runtime import Runtime
from reedbed.services.websub import HubView, hub_status
from reedbed.store import folders, page_feeds, subscriptions
from reedbed.store.newsletters import inbound
from reedbed.web.feeds.views import UNREAD_LIMITS, FeedRowBuilder
from reedbed.web.formats import ago, format_interval, full_time, zone_of
from reedbed.web.forms import folder_options
from reedbed.web.framing import feed_framing
from reedbed.web.i18n import explain, ngettext, translate
from reedbed.web.newsletters import sender_facts
from reedbed.web.sidebar import display_options, mute_options
from reedbed.web.views.feeds import FeedArticles, FeedEdit, RetentionOptions
from reedbed.web.views.layout import SelectOption, feed_mark


def hub_facts(hub: HubView, now: Instant, zone: tzinfo) -> list[tuple[str, str]]:
    """Facts about the feed's WebSub hub; empty if the feed names none."""
    if hub.hub_url is None:
        return []
    facts = [(translate("Hub"), f"{hub.hub_url} · {_hub_state(hub)}")]
    if hub.standing is not None and (hub.standing.pushes or hub.standing.missed):
        facts.append((translate("What the hub sent"), _push_stats(hub.standing, now, zone)))
    return facts


def _hub_state(hub: HubView) -> str:
    if hub.relied_on:
        return translate("It sends new entries at once; one check a day makes sure that none is lost.")
    match hub.status:
        case "off":
            return f"{translate('Not asked.')} {explain(hub.failure)}"
        case "active":
            return translate("It missed news, so the feed is checked in its own rhythm until it sends some.")
        case "new":
            return translate("It will be asked within a minute.")
        case "asked":
            return translate("It was asked, but has not confirmed yet.")
        case _:
            return f"{explain(hub.failure)} {translate('The feed is checked in its own rhythm.')}"


def _push_stats(hub: HubStatus, now: Instant, zone: tzinfo) -> str:
    parts = [
        ngettext("%(num)s push.", "%(num)s pushes.", hub.pushes),
        ngettext("%(num)s entry came that way.", "%(num)s entries came that way.", hub.entries),
    ]
    if hub.missed:
        parts.append(ngettext("%(num)s was missed.", "%(num)s were missed.", hub.missed))
    if hub.last_push_at is not None:
        when = full_time(hub.last_push_at, now, zone).words
        parts.append(translate("Last: %(when)s.", when=when))
    return " ".join(parts)


DAYS = (30, 90, 180, 365, 1_095)
UNREAD_DAYS = (7, 30, 90, 365)
ENTRIES = (50, 100, 500, 1_000, 5_000)


def retention_options(override: RetentionOverride) -> RetentionOptions:
    return RetentionOptions(
        days=_number_options(override.days, DAYS, _days_label, translate("For ever")),
        unread_days=_number_options(override.unread_days, UNREAD_DAYS, _days_label, translate("For ever")),
        entries=_number_options(override.entries, ENTRIES, _newest_label, translate("All")),
    )


def _number_options(
    chosen: int | None, defaults: Sequence[int], label: Callable[[int], str], no_limit: str
) -> tuple[SelectOption, ...]:
    numbers = sorted({*defaults, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("As the server does"), chosen is None),
        *(SelectOption(str(number), label(number), number == chosen) for number in numbers),
        SelectOption("0", no_limit, chosen == 0),
    )


def _days_label(count: int) -> str:
    return ngettext("%(num)s day", "%(num)s days", count)


def _newest_label(count: int) -> str:
    return ngettext("The newest %(num)s", "The newest %(num)s", count)


WORDS = (200, 500, 1_000)


def summary_options(chosen: int | None, default_label: str) -> tuple[SelectOption, ...]:
    numbers = sorted({*WORDS, *((chosen,) if chosen and chosen > 0 else ())})
    return (
        SelectOption("", default_label, chosen is None),
        SelectOption(str(NEVER), translate("Never"), chosen == NEVER),
        SelectOption("0", translate("All of them"), chosen == 0),
        *(SelectOption(str(number), _at_least_label(number), number == chosen) for number in numbers),
    )


def parse_summary_words(text: str) -> int | None:
    """None means the setting of the enclosing folder or the user."""
    if not text:
        return None
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise Invalid("summary_words must be a whole number.", field="summary_words")
    return int(text)


def _at_least_label(word_count: int) -> str:
    return ngettext("From %(num)s word on", "From %(num)s words on", word_count)


def _unread_limit_options(chosen: int | None) -> tuple[SelectOption, ...]:
    numbers = sorted({*UNREAD_LIMITS, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("All"), chosen is None),
        *(SelectOption(str(number), _newest_label(number), number == chosen) for number in numbers),
    )


INTERVALS = (15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR)


def edit_form(
    request: Request, runtime: Runtime, subscription: Subscription, rows: list[FolderRow], hub: HubView
) -> FeedEdit:
    model = runtime.ai.model
    return FeedEdit(
        id=subscription.id,
        title=subscription.title,
        name=subscription.title,
        url=subscription.url,
        username=subscription.feed.username or "",
        has_password=subscription.feed.has_password,
        locked=subscription.feed.state.status == "unauthorized",
        mark=feed_mark(subscription.title, subscription.feed.id, subscription.feed.icon_id),
        folders=folder_options(rows, subscription.folder_id),
        other_folders=tuple(
            replace(option, chosen=int(option.value) in subscription.other_folders)
            for option in folder_options(rows, None)[1:]
        ),
        intervals=interval_options(subscription.interval),
        paused=subscription.paused,
        full_text=subscription.full_text == "always",
        notify=subscription.notify,
        keep=retention_options(subscription.keep),
        unread_limits=_unread_limit_options(subscription.unread_limit),
        summaries=summary_options(subscription.summary_words, translate("As the folder says")),
        model=model.name if model is not None and model.is_remote else "",
        local_only=subscription.local_only,
        mutes=mute_options(subscription.muted_until, zone_of(request), runtime.now()),
        unread_displays=display_options(subscription.unread_display),
        in_unread=subscription.in_unread,
        without_shorts=subscription.without_shorts if "youtube.com/" in subscription.url else None,
        facts=_facts(request, runtime, subscription, hub),
        by_mail=subscription.feed.kind != "web",
    )


async def read_edit(request: Request, runtime: Runtime, user_id: int, subscription_id: int) -> FeedEdit | None:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, user_id, subscription_id)
        rows = await folders.of_user(tx, user_id)
        sender = await inbound.sender_of_feed(tx, user_id, subscription.feed.id) if subscription else None
        made = await page_feeds.of_subscription(tx, user_id, subscription_id)
    if subscription is None:
        return None
    form = edit_form(request, runtime, subscription, rows, await hub_status(runtime, subscription.feed.id))
    if sender is not None:
        return replace(form, facts=(*sender_facts(sender), *form.facts))
    if made is not None:
        form = replace(form, facts=(*_page_facts(runtime, made), *form.facts))
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return form
    return replace(
        form,
        translation=await _translation_options(runtime, caller.user_id, subscription.id),
        framing=await feed_framing(runtime, caller.user, subscription, zone_of(request)),
        articles=await _articles(runtime, caller.user, subscription),
    )


async def _translation_options(runtime: Runtime, user_id: int, subscription_id: int) -> tuple[SelectOption, ...]:
    if runtime.ai.translator is None:
        return ()
    from reedbed.services.translations.manage import feed_mode  # few servers translate

    chosen = await feed_mode(runtime, user_id, subscription_id)
    names = (("", translate("As the settings say")), ("always", translate("Always")), ("never", translate("Never")))
    return tuple(SelectOption(mode, name, mode == chosen) for mode, name in names)


def _page_facts(runtime: Runtime, made: PageFeed) -> Iterator[tuple[str, str]]:
    """How the list on the page is found, and what changed when the page was rebuilt."""
    if made.recipe.watches:
        yield translate("Watched for changes"), made.recipe.selectors.item or translate("The whole page")
        return
    yield translate("Made from a page"), made.recipe.selectors.item or made.recipe.source
    if made.former is not None and made.rebuilt_at is not None:
        when = ago(made.rebuilt_at, runtime.now())
        before = made.former.selectors.item or made.former.source
        text = translate(
            "%(when)s; the list was found again by its known links. Before: %(item)s", when=when, item=before
        )
        yield translate("Page was rebuilt"), text


async def _articles(runtime: Runtime, user: User, subscription: Subscription) -> FeedArticles | None:
    current = await selectors_of(runtime, user, subscription.id)
    if not current.may_change:
        return None
    keep, drop = "\n".join(current.selectors.keep), "\n".join(current.selectors.drop)
    return FeedArticles(keep, drop, shared=not subscription.feed.private, newest=current.newest)


def interval_options(chosen: int | None) -> tuple[SelectOption, ...]:
    spans = sorted({*INTERVALS, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("In its own rhythm"), chosen is None),
        *(
            SelectOption(str(span), translate("Every %(span)s", span=format_interval(span)), span == chosen)
            for span in spans
        ),
    )


def _facts(request: Request, runtime: Runtime, subscription: Subscription, hub: HubView) -> tuple[tuple[str, str], ...]:
    state, now, zone = subscription.feed.state, runtime.now(), zone_of(request)
    facts = [
        (translate("Site"), subscription.feed.site_url or ""),
        (
            translate("Added as"),
            subscription.asked_url if subscription.asked_url not in ("", subscription.feed.url) else "",
        ),
        (translate("About itself"), subscription.feed.description or ""),
        (translate("Followed since"), full_time(subscription.subscribed_at, now, zone).words),
        (translate("Last checked"), _time_text(state.last_checked_at, now, zone)),
        (translate("Last success"), _time_text(state.last_success_at, now, zone)),
        (translate("Last error"), explain(state.last_error)),
        (translate("Next check"), FeedRowBuilder(now, zone).lines([subscription])[0].why),
        *hub_facts(hub, now, zone),
    ]
    return tuple((name, value) for name, value in facts if value)


def _time_text(at: int | None, now: int, zone: tzinfo) -> str:
    return "" if at is None else full_time(at, now, zone).words

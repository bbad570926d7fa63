"""Make a feed from a page: preview its lists or the text to watch, follow it, look at its recipe."""

from dataclasses import replace
from urllib.parse import urljoin

from reedbed.ai.prompts import list_prompt
from reedbed.ai.responses import read_list_choice
from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.page_feeds import PageBlocks, PageFeed, PageList, PageLists, PageRecipe, PageSelectors, WatchedPage
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, Gone, Outcome, Throttled
from reedbed.domain.subscriptions import Discovery, FeedCandidate, Subscription
from reedbed.domain.text import clean_line
from reedbed.domain.urls import MAX_NAME, check_feed_url
from reedbed.domain.users import User
from reedbed.ingest.discovery import fetch_first, urls_from_typed
from reedbed.ingest.http.client import ACCEPT_PAGE
from reedbed.ingest.page_feeds.finder import NO_LIST
from reedbed.ingest.page_feeds.sandbox import apply_safely, blocks_safely, find_lists_safely, watch_safely
from reedbed.ingest.page_feeds.sources import telegram_page
from reedbed.services.ai import ask_model, may_send
from reedbed.services.read_state import change_entries
from reedbed.services.recipes import find_list_of_recipe
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import Address
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from reedbed.services.users import preferences_of
from reedbed.store import page_feeds

NO_SELECTORS = PageSelectors()
NO_BLOCKS = PageBlocks("", "", 0, (), ())
TITLES_FOR_MODEL = 6
FIRST_UNREAD = 5
"""How many entries of a page that was just followed are unread; the others are old."""
_NEWS_SITEMAPS = ("/sitemap-news.xml", "/news-sitemap.xml", "/sitemap_news.xml")


@record
class PagePreview:
    url: str
    lists: PageLists = PageLists()
    watched: WatchedPage | None = None
    """The text as it is now, if the recipe watches the page."""

    @property
    def title(self) -> str:
        return self.lists.title if self.watched is None else self.watched.title

    @property
    def reason(self) -> Failure | None:
        """Why there is nothing to follow."""
        return self.lists.reason if self.watched is None else self.watched.reason


@record
class PageChoice:
    """A page with the lists to choose from, and the parts of the entries to pick in a list."""

    preview: PagePreview
    chosen: PageList | None = None
    blocks: PageBlocks | None = None
    """None where the list is nowhere in the markup, as in data for programs."""
    reason: Failure | Invalid | None = None
    """Why nothing is chosen."""


async def open_page(
    runtime: Runtime, user_id: int, url: str, selectors: PageSelectors = NO_SELECTORS, *, at: int = 0
) -> PageChoice:
    """The lists of the page; the one at this place, or what the selectors find, as entries and in the page itself.

    The page is fetched once for the many picks that may follow.
    """
    preview, document = await _preview(runtime, url, None, user_id=user_id)
    lists, now, kind = preview.lists, runtime.now(), document.content_type
    chosen = lists.lists[min(at, len(lists.lists) - 1)] if lists.lists else None
    reason: Failure | Invalid | None = lists.reason
    if selectors != NO_SELECTORS:
        recipe = _picked_recipe(chosen, selectors)
        chosen = None
        try:
            applied = await apply_safely(document.body, recipe, document.url, now=now, content_type=kind)
            chosen, reason = applied.lists[0] if applied.lists else None, applied.reason
        except Invalid as error:  # a selector that is none
            reason = error
    shown = chosen or (lists.lists[0] if lists.lists else None)
    if shown is None:
        return PageChoice(preview, reason=reason)
    blocks = await blocks_safely(document.body, shown.recipe, document.url, now=now, content_type=kind)
    return PageChoice(preview, chosen, blocks, reason if chosen is None else None)


def model_may_choose(runtime: Runtime, user: User) -> bool:
    return may_send(runtime, preferences_of(user))


async def choose_by_model(runtime: Runtime, user: User, url: str) -> int | None:
    """The place of the list that a model takes for what is new on the page; None without its answer.

    The model chooses and writes nothing: the entries are read from the page as without it.
    """
    preview, _ = await _preview(runtime, url, None, user_id=user.id)
    found = preview.lists.lists
    if not model_may_choose(runtime, user) or len(found) < 2:
        return None
    titles = [[entry.title for entry in one.entries[:TITLES_FOR_MODEL]] for one in found]
    prompt = list_prompt(preview.title or preview.url, titles)
    number = await ask_model(runtime, user.id, prompt, lambda response: read_list_choice(response, len(found)))
    return number - 1 if number else None


def _picked_recipe(found: PageList | None, selectors: PageSelectors) -> PageRecipe:
    """The recipe with these selectors. It keeps the fingerprints if its items are the same."""
    if found is not None and found.recipe.source == "markup" and selectors.item in ("", found.recipe.selectors.item):
        item = found.recipe.selectors.item
        return replace(found.recipe, selectors=replace(selectors, item=item))
    return PageRecipe("markup", selectors)


async def preview_page(runtime: Runtime, url: str, recipe: PageRecipe | None = None) -> PagePreview:
    """The lists of the page, best first, or what this recipe finds."""
    return (await _preview(runtime, url, recipe))[0]


async def follow_page(
    runtime: Runtime,
    user_id: int,
    url: str,
    recipe: PageRecipe | None = None,
    *,
    title: str | None = None,
    folder_id: int | None = None,
) -> Subscription:
    """Follow the best list of the page, or what this recipe finds. Raise `Invalid` if that is nothing."""
    preview, document = await _preview(runtime, url, recipe, user_id=user_id)
    if preview.watched is None or recipe is None:
        recipe = _best_list(preview.lists).recipe
    elif preview.watched.reason is not None:
        raise Invalid(preview.watched.reason, field="url")
    name = clean_line(preview.title)[:MAX_NAME]
    found = Discovery((FeedCandidate(preview.url, name, "page", "page"),), document=document)
    runtime.recent_discoveries.keep((user_id, Address(preview.url)), found, runtime.now())
    options = SubscribeOptions(preview.url, folder_id, title, recipe=recipe)
    subscription = await subscribe(runtime, user_id, options)
    async with runtime.db.read() as tx:
        older = await page_feeds.older_entries(tx, subscription.feed.id, FIRST_UNREAD)
    if older:
        await change_entries(runtime, user_id, older, StateChange(read=True))
    return subscription


def _best_list(lists: PageLists) -> PageList:
    if not lists.lists:
        raise Invalid(lists.reason or Failure(FailureCode.LIST_NOT_FOUND), field="url")
    return lists.lists[0]


async def page_feed(runtime: Runtime, user_id: int, subscription_id: int) -> PageFeed:
    async with runtime.db.read() as tx:
        found = await page_feeds.of_subscription(tx, user_id, subscription_id)
    if found is None:
        raise NotFound("This feed is not made from a page.")
    return found


async def _preview(
    runtime: Runtime, text: str, recipe: PageRecipe | None, *, user_id: int | None = None
) -> tuple[PagePreview, Fetched]:
    url, outcome = await _fetch_typed(runtime, text, user_id)
    now, kind = runtime.now(), outcome.content_type
    if recipe is not None and recipe.watches:
        watched = await watch_safely(outcome.body, recipe.selectors.item, outcome.url, content_type=kind)
        return PagePreview(url, watched=watched), outcome
    if recipe is None:
        lists = await find_lists_safely(outcome.body, outcome.url, now=now, content_type=kind)
        if (known := await find_list_of_recipe(runtime, outcome)) is not None:
            lists = replace(lists, lists=(known, *lists.lists), reason=None)
        if lists.reason == NO_LIST and (found := await _news_sitemap(runtime, outcome.url)) is not None:
            return found
    else:
        lists = await apply_safely(outcome.body, recipe, outcome.url, now=now, content_type=kind)
    return PagePreview(url, lists), outcome


async def _fetch_typed(runtime: Runtime, text: str, user_id: int | None) -> tuple[str, Fetched]:
    """The page that was typed. Without a scheme, http is tried where nothing answers with https."""
    urls = urls_from_typed(text) or (text,)
    if "@" in urls[0]:  # a password is not sent without https
        urls = urls[:1]
    urls = tuple(telegram_page(check_feed_url(typed)) for typed in urls)
    url, outcome = await fetch_first(urls, lambda url: _fetch(runtime, url, user_id))
    if isinstance(outcome, Failed | Gone | Throttled):
        raise Invalid(failure_of_page(outcome), field="url")
    if not isinstance(outcome, Fetched):
        raise Invalid(Failure(FailureCode.UNCHANGED), field="url")
    return url, outcome


def failure_of_page(outcome: Failed | Gone | Throttled) -> Failure:
    """Why a page could not be fetched; what is known of the outcome speaks of a feed."""
    failure, size = outcome.failure, str(outcome.failure.params.get("size", ""))
    if failure.code is FailureCode.FEED_NOT_FOUND:
        return Failure(FailureCode.NOTHING_AT_ADDRESS, {"status": outcome.status or 404})
    if failure.code is FailureCode.FEED_TOO_LARGE and size.endswith(" MB"):
        return Failure(FailureCode.LIST_PAGE_TOO_LARGE, {"size": size.removesuffix(" MB")})
    return failure


async def _fetch(runtime: Runtime, url: str, user_id: int | None) -> Outcome:
    """The page, or for this user what was fetched of it a moment ago."""
    key, now = ("page", user_id, url), runtime.now()
    kept = runtime.recent_discoveries.take(key, now) if user_id is not None else None
    if kept is not None and kept.document is not None:
        runtime.recent_discoveries.keep(key, kept, now)
        return kept.document
    outcome = await runtime.fetcher.fetch(FetchRequest(url, accept=ACCEPT_PAGE))
    if user_id is not None and isinstance(outcome, Fetched):
        runtime.recent_discoveries.keep(key, Discovery((), document=outcome), now)
    return outcome


async def _news_sitemap(runtime: Runtime, page_url: str) -> tuple[PagePreview, Fetched] | None:
    """The site's list of its newest articles for search engines, where the page itself shows none."""
    for path in _NEWS_SITEMAPS:
        url = urljoin(page_url, path)
        outcome = await runtime.fetcher.fetch(FetchRequest(url))
        if isinstance(outcome, Throttled) or (isinstance(outcome, Failed) and outcome.status is None):
            return None
        if isinstance(outcome, Fetched):
            lists = await find_lists_safely(outcome.body, outcome.url, now=runtime.now())
            if lists.lists and lists.lists[0].recipe.source == "news-sitemap":
                return PagePreview(url, lists), outcome
    return None

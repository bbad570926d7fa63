"""Make a feed from a page: preview its lists or the text to watch, follow it, look at its recipe."""

from urllib.parse import urljoin

from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.page_feeds import PageFeed, PageList, PageLists, PageRecipe, WatchedPage
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, Gone, Throttled
from reedbed.domain.subscriptions import Discovery, FeedCandidate, Subscription
from reedbed.domain.text import clean_line
from reedbed.domain.urls import MAX_NAME, check_feed_url
from reedbed.ingest.discovery import url_from_typed
from reedbed.ingest.http.client import ACCEPT_PAGE
from reedbed.ingest.page_feeds.finder import NO_LIST
from reedbed.ingest.page_feeds.sandbox import apply_safely, find_lists_safely, watch_safely
from reedbed.ingest.page_feeds.sources import telegram_page
from reedbed.services.read_state import change_entries
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import Address
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from reedbed.store import page_feeds

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
    preview, document = await _preview(runtime, url, recipe)
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


async def _preview(runtime: Runtime, text: str, recipe: PageRecipe | None) -> tuple[PagePreview, Fetched]:
    url = telegram_page(check_feed_url(url_from_typed(text)))
    outcome = await runtime.fetcher.fetch(FetchRequest(url, accept=ACCEPT_PAGE))
    if isinstance(outcome, Failed | Gone | Throttled):
        raise Invalid(outcome.failure, field="url")
    if not isinstance(outcome, Fetched):
        raise Invalid(Failure(FailureCode.UNCHANGED), field="url")
    now, kind = runtime.now(), outcome.content_type
    if recipe is not None and recipe.watches:
        watched = await watch_safely(outcome.body, recipe.selectors.item, outcome.url, content_type=kind)
        return PagePreview(url, watched=watched), outcome
    if recipe is None:
        lists = await find_lists_safely(outcome.body, outcome.url, now=now, content_type=kind)
        if lists.reason == NO_LIST and (found := await _news_sitemap(runtime, outcome.url)) is not None:
            return found
    else:
        lists = await apply_safely(outcome.body, recipe, outcome.url, now=now, content_type=kind)
    return PagePreview(url, lists), outcome


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

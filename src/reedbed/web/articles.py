"""Articles: toggle the full text of an entry, save a page for later, edit a feed's selectors, play a video."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.articles import video
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, RefreshLimit
from reedbed.services.articles import read_full_article, save_page, set_selectors
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.users import preferences_of
from reedbed.web.entries.routes import read_article
from reedbed.web.feeds.add import show_add_error
from reedbed.web.feeds.form import read_edit
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import explain, translate
from reedbed.web.pages import is_htmx, page, see_other, theme_of
from reedbed.web.sidebar import app_page, build_sidebar
from reedbed.web.views.entries import ReadingPage
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)


@router.post("/entry/{entry_id}/full")
async def switch(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    _: RefreshLimit,
    value: FormFlag = True,
) -> Response:
    failed = (await read_full_article(runtime, caller.user_id, entry_id)).failed if value else None
    async with runtime.db.read() as tx:
        article = await read_article(
            request, runtime, tx, caller.user_id, entry_id, place=None, show_full=value, full_failed=explain(failed)
        )
        view = ReadingPage(article.title, article=article, shows="article")
        if is_htmx(request):
            return await page(request, "entries/page.html", view, block="article")
        sidebar = await build_sidebar(tx, caller.user_id, "", theme_of(request), runtime.now())
    return await page(request, "entries/page.html", view, sidebar=sidebar)


saved_pages_router = APIRouter(include_in_schema=False)


@saved_pages_router.post("/saved-pages")
async def save(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit, url: Text = ""
) -> Response:
    try:
        saved = await save_page(runtime, caller.user_id, url)
    except Invalid as error:
        return await show_add_error(request, runtime, caller, url, explain(error), status_of(error))
    if saved.new:
        message = translate("Saved for later. Its article is being fetched.")
    else:
        message = translate("It was among your entries, and is now under Later.")
    return see_other(request, "/later", toast=Toast(message))


selectors_router = APIRouter(include_in_schema=False)

Lines = Annotated[str, Form(max_length=20_000)]


@selectors_router.post("/feeds/{subscription_id}/selectors")
async def change(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    subscription_id: IdPath,
    keep: Lines = "",
    drop: Lines = "",
) -> Response:
    try:
        await set_selectors(runtime, caller.user, subscription_id, keep=keep.splitlines(), drop=drop.splitlines())
    except Invalid as error:
        return await _show_rejected(request, runtime, caller, subscription_id, keep, drop, error)
    toast = Toast(translate("Saved. Its articles are read anew."))
    return see_other(request, f"/feeds/{subscription_id}/edit#articles", toast=toast)


async def _show_rejected(
    request: Request, runtime: Runtime, caller: Caller, subscription_id: int, keep: str, drop: str, error: Invalid
) -> Response:
    edit = await read_edit(request, runtime, caller.user_id, subscription_id)
    if edit is None or edit.articles is None:
        raise NotFound(NO_SUCH)
    errors = {"drop_error" if error.field == "drop" else "keep_error": explain(error)}
    articles = replace(edit.articles, keep=keep, drop=drop, **errors)
    view = replace(edit, articles=articles)
    return await app_page(request, runtime, caller, "feeds/edit.html", view, status=400)


# --- Videos

player_router = APIRouter(include_in_schema=False)


@player_router.get("/player/{site}/{video_id}")
async def play(request: Request, caller: CurrentCaller, site: str, video_id: str) -> Response:
    """A document whose policy allows one video site: the policy of the page itself allows none."""
    found = video(site, video_id, own_site=preferences_of(caller.user).video_site)
    if found is None:
        raise NotFound("There is no such video.")
    policy = (
        f"default-src 'none'; style-src 'self'; frame-src {found.frame_origin}; frame-ancestors 'self'; "
        "base-uri 'none'; form-action 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "X-Frame-Options": "SAMEORIGIN",
        # Without a referrer the site refuses to play; it learns the origin of this server, not the page.
        "Referrer-Policy": "strict-origin-when-cross-origin",
    }
    return await page(request, "entries/player.html", found, headers=headers)

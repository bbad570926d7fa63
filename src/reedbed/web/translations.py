"""Translate an article, and choose what is translated."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.translations import View
from reedbed.domain.users import User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.runtime import Runtime
from reedbed.services.translations.manage import get_translation, request_translation, set_feed_mode
from reedbed.services.users import set_preferences
from reedbed.web.entries.routes import read_article
from reedbed.web.entries.translations import translation_line
from reedbed.web.formats import zone_of
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.views.entries import ReadingPage, TranslationAnswer
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)


@router.get("/entry/{entry_id}/translation")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    """Asked by a page that waits: the line again, or the whole article when it is translated."""
    if not is_htmx(request):
        return see_other(request, f"/entry/{entry_id}")
    state = await get_translation(runtime, caller.user, entry_id)
    if state.status == "none" and state.automatic:
        state = await request_translation(runtime, caller.user, entry_id, None)
    if state.status == "ready":
        return await _article(request, runtime, caller.user, entry_id)
    line = translation_line(state, caller.user, runtime.now(), zone_of(request))
    return await page(request, "entries/translation.html", None, article=TranslationAnswer(entry_id, line))


@router.post("/entry/{entry_id}/translation")
async def choose(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    view: Text = "translation",
    again: FormFlag = False,
    next: Text = "/",
) -> Response:
    chosen: View = "original" if view == "original" else "both" if view == "both" else "translation"
    await request_translation(runtime, caller.user, entry_id, chosen, again=again)
    if is_htmx(request):
        return await _article(request, runtime, caller.user, entry_id)
    return see_other(request, next if next != "/" else f"/entry/{entry_id}")


async def _article(request: Request, runtime: Runtime, user: User, entry_id: int) -> Response:
    async with runtime.db.read() as tx:
        article = await read_article(request, runtime, tx, user.id, entry_id, place=None)
    view = ReadingPage(article.title, article=article, shows="article")
    response = await page(request, "entries/page.html", view, block="article")
    response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#article", "innerHTML"
    return response


@router.post("/feeds/{subscription_id}/translation")
async def choose_for_feed(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, mode: Text = ""
) -> Response:
    await set_feed_mode(runtime, caller.user_id, subscription_id, mode)
    return see_other(request, f"/feeds/{subscription_id}/edit#translation", toast=Toast(translate("Saved.")))


@router.post("/settings/translation")
async def save_settings(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    translation_language: Text = "",
    languages_read: Text = "",
    auto_translate: FormFlag = False,
    translations_in_apps: FormFlag = False,
    remote_ai: FormFlag = False,
) -> Response:
    changes = {
        "translation_language": translation_language.strip(),
        "languages_read": languages_read.strip(),
        "auto_translate": auto_translate,
        "translations_in_apps": translations_in_apps,
        "remote_ai": remote_ai,
    }
    await set_preferences(runtime, caller, changes)
    return see_other(request, "/settings/reading#translation", toast=Toast(translate("Saved.")))

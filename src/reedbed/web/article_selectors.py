"""What of a feed's pages is the article, on the page of the feed."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Invalid, NotFound
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.services.article_selectors import set_selectors
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions import NO_SUCH
from reedbed.web.feed_pages import read_edit
from reedbed.web.pages import see_other
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.frame import Toast

router = APIRouter(include_in_schema=False)

Lines = Annotated[str, Form(max_length=20_000)]


@router.post("/feeds/{subscription_id}/selectors")
async def change(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    subscription_id: IdPath,
    keep: Lines = "",
    drop: Lines = "",
) -> Response:
    try:
        await set_selectors(
            runtime, caller.user, subscription_id, keep=keep.splitlines(), drop=drop.splitlines()
        )
    except Invalid as error:
        return await _show_refused(request, runtime, caller, subscription_id, keep, drop, error)
    toast = Toast(translate("Saved. Its articles are read anew."))
    return see_other(request, f"/feeds/{subscription_id}/edit#articles", toast=toast)


async def _show_refused(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    subscription_id: int,
    keep: str,
    drop: str,
    error: Invalid,
) -> Response:
    shown = await read_edit(request, runtime, caller.user_id, subscription_id)
    if shown is None or shown.articles is None:
        raise NotFound(NO_SUCH)
    said = {"drop_error" if error.field == "drop" else "keep_error": error.message}
    typed = replace(shown.articles, keep=keep, drop=drop, **said)
    view = replace(shown, articles=typed)
    return await app_page(request, runtime, caller, "manage/feed_edit.html", view, status=400)

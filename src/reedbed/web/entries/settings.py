"""Keep how a list is shown: unread or all, order and layout."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import ListSettings
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.entries import get_list_settings, keep_list_settings
from reedbed.services.users import set_preferences
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)


@router.post("/list-settings")
async def save_list_settings(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    list: Text,
    show: Text = "",
    order: Text = "",
    layout: Text = "",
    days: Text = "",
    stories: Text = "",
    for_every_list: FormFlag = False,
    next: Text = "/",
) -> Response:
    """Settings that are not sent stay as they are."""
    kept = await get_list_settings(runtime, caller.user_id)
    settings = ListSettings(show, order, layout, days).over(kept.get(list, ListSettings()))
    await keep_list_settings(runtime, caller.user_id, list, settings, for_every_list=for_every_list)
    if stories:
        await set_preferences(runtime, caller, {"group_stories": stories == "one_row"})
    toast = Toast(translate("Every list is now shown like this.")) if for_every_list else None
    if not is_htmx(request):
        return see_other(request, _list_url(next, list, show), toast=toast)
    return await page(request, "partials/toast.html", None, toast=toast) if toast else Response(status_code=204)


def _list_url(url: str, name: str, show: str) -> str:
    """The list without an order of its own in the URL; `/unread` and `/all` are the sides of Everything."""
    parts = urlsplit(url)
    path = f"/{show}" if name == "everything" and show else parts.path
    params = urlencode([(key, value) for key, value in parse_qsl(parts.query) if key not in ("order", "cursor")])
    return f"{path}?{params}" if params else path

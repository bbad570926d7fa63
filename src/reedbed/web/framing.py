"""The doors of framing in the page: the meter of an article, the switch of a feed, one's own limits."""

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.errors import Conflict
from reedbed.domain.framing import AnalysisState
from reedbed.domain.preferences import Preferences
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.services.framing import get_analysis, read_again, set_wish
from reedbed.services.preferences import preferences_of, set_preferences
from reedbed.services.runtime import Runtime
from reedbed.web.form_values import Text, Ticked
from reedbed.web.framing_views import framing_block
from reedbed.web.moments import zone_of
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.settings_pages import settings_page
from reedbed.web.speech import decimal, translate
from reedbed.web.views.frame import Choice, Toast
from reedbed.web.views.framing import FramingAnswer
from reedbed.web.views.settings import FramingSettings

router = APIRouter(include_in_schema=False)

LIMITS = (20, 34, 50, 67, 80, 90)


@router.get("/entry/{entry_id}/framing")
async def show(request: Request, runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath) -> Response:
    if not is_htmx(request):
        return see_other(request, f"/entry/{entry_id}")
    return await _block(request, runtime, entry_id, await get_analysis(runtime, caller.user, entry_id))


@router.post("/entry/{entry_id}/framing")
async def again(
    request: Request, runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath, next: Text = "/"
) -> Response:
    state = await read_again(runtime, caller.user, entry_id)
    if is_htmx(request):
        return await _block(request, runtime, entry_id, state)
    return see_other(request, next if next != "/" else f"/entry/{entry_id}")


@router.post("/feeds/{subscription_id}/framing")
async def switch(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    subscription_id: IdPath,
    value: Ticked,
    remote_ai: Ticked = False,
) -> Response:
    """The tick beside the switch is the user's word that texts may be sent."""
    user, back = caller.user, f"/feeds/{subscription_id}/edit#framing"
    if value and remote_ai and not preferences_of(user).remote_ai:
        user = await set_preferences(runtime, caller, {"remote_ai": True})
    try:
        await set_wish(runtime, user, subscription_id, wished=value)
    except Conflict as refused:
        return see_other(request, back, toast=Toast(translate(refused.message)))
    said = (
        translate("New entries of this feed are read for their framing.")
        if value
        else translate("This feed is not read for its framing any more.")
    )
    return see_other(request, back, toast=Toast(said))


@router.get("/settings/framing")
async def show_settings(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    return await settings_page(
        request, runtime, caller, "framing", _settings(runtime, preferences_of(caller.user))
    )


@router.post("/settings/framing")
async def save_settings(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    wording: Text = "original",
    loud_entries: Text = "show",
    loud_limit: Annotated[int, Form()] = 67,
    remote_ai: Ticked = False,
) -> Response:
    changes = {"wording": wording, "loud_entries": loud_entries, "loud_limit": loud_limit}
    sends = runtime.ai.model is not None and runtime.ai.model.is_remote
    await set_preferences(runtime, caller, {**changes, **({"remote_ai": remote_ai} if sends else {})})
    return see_other(request, "/settings/framing", toast=Toast(translate("Saved.")))


async def _block(request: Request, runtime: Runtime, entry_id: int, state: AnalysisState) -> Response:
    block = framing_block(state, runtime.now(), zone_of(request))
    return await page(request, "reading/framing.html", None, article=FramingAnswer(entry_id, block))


def _settings(runtime: Runtime, wishes: Preferences) -> FramingSettings:
    model = runtime.ai.model
    limits = sorted({*LIMITS, wishes.loud_limit})
    return FramingSettings(
        wordings=(
            Choice("original", translate("As the outlet wrote them"), wishes.wording == "original"),
            Choice("neutral", translate("In neutral words"), wishes.wording == "neutral"),
        ),
        loud=tuple(
            Choice(value, name, value == wishes.loud_entries)
            for value, name in (
                ("show", translate("Show them like all others")),
                ("dim", translate("Show them dimmed")),
                ("rewrite", translate("Show them in neutral words")),
                ("hide", translate("Hide them in lists")),
            )
        ),
        limits=tuple(Choice(str(one), decimal(one / 100, 2), one == wishes.loud_limit) for one in limits),
        model=model.name if model else "",
        sends=model is not None and model.is_remote,
        allowed=wishes.remote_ai,
    )

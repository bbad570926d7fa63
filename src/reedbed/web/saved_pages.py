"""Saving a page for later by its address, from the field where anything is added."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Invalid
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.errors import status_of
from reedbed.http.limits import RefreshLimit
from reedbed.services.saved_pages import save_page
from reedbed.web.add import show_refused
from reedbed.web.form_values import Text
from reedbed.web.pages import see_other
from reedbed.web.speech import translate
from reedbed.web.views.frame import Toast

router = APIRouter(include_in_schema=False)


@router.post("/saved-pages")
async def save(
    request: Request, runtime: RuntimeOf, caller: CallerOf, _: RefreshLimit, url: Text = ""
) -> Response:
    try:
        saved = await save_page(runtime, caller.user_id, url)
    except Invalid as error:
        return await show_refused(request, runtime, caller, url, error.message, status_of(error))
    if saved.new:
        said = translate("Saved for later. Its article is being fetched.")
    else:
        said = translate("It was among your entries, and is now under Later.")
    return see_other(request, "/later", toast=Toast(said))

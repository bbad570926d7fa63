"""Ask: a question over one's own entries, its answer, and all of them."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.cited import Scope
from reedbed.domain.errors import Invalid
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath, path_id
from reedbed.http.limits import SearchLimit
from reedbed.services.questions import ask_question, delete_question, get_question
from reedbed.services.runtime import Runtime
from reedbed.services.writers import variant_for
from reedbed.store import questions
from reedbed.web.form_values import Text
from reedbed.web.moments import zone_of
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.question_views import question_line, question_page
from reedbed.web.scope_choices import EVERYTHING, chosen_scope, scopes_of
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.frame import Toast
from reedbed.web.views.questions import AskPage

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 30


@router.get("/ask")
async def show_all(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    return await _all(request, runtime, caller, question=request.query_params.get("question", "")[:500])


@router.post("/ask")
async def ask(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    _: SearchLimit,
    question: Text = "",
    about: Text = "",
) -> Response:
    scope = chosen_scope(about)
    try:
        made = await ask_question(runtime, caller.user, question, scope)
    except Invalid as error:
        return await _all(
            request, runtime, caller, question=question, scope=scope, error=error.message, status=400
        )
    return see_other(request, f"/ask/{made.id}")


@router.get("/ask/{question_id}")
async def show(request: Request, runtime: RuntimeOf, caller: CallerOf, question_id: IdPath) -> Response:
    question = await get_question(runtime, caller.user_id, question_id)
    view = question_page(question, runtime.now(), zone_of(request))
    if is_htmx(request):
        return await page(request, "ask/answer.html", view, block="answer")
    return await app_page(request, runtime, caller, "ask/answer.html", view)


@router.post("/ask/{question_id}/delete")
async def delete(request: Request, runtime: RuntimeOf, caller: CallerOf, question_id: IdPath) -> Response:
    await delete_question(runtime, caller.user_id, question_id)
    return see_other(request, "/ask", toast=Toast(translate("Deleted.")))


async def _all(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    question: str = "",
    scope: Scope = EVERYTHING,
    error: str = "",
    status: int = 200,
) -> Response:
    before = request.query_params.get("before", "")
    async with runtime.db.read() as tx:
        start = path_id(before) if before else None
        found = await questions.newest(tx, caller.user_id, limit=PAGE_SIZE + 1, before=start)
        scopes = await scopes_of(tx, caller.user_id)
    now, zone, model = runtime.now(), zone_of(request), runtime.ai.model
    is_sent = model is not None and model.is_remote and variant_for(runtime, caller.user).model == model.name
    view = AskPage(
        lines=tuple(question_line(one, now, zone) for one in found[:PAGE_SIZE]),
        about=scopes.choices(scope),
        question=question,
        error=translate(error) if error else "",
        next_url=f"/ask?before={found[PAGE_SIZE - 1].id}" if len(found) > PAGE_SIZE else "",
        sends_to=model.name if is_sent and model is not None else "",
    )
    return await app_page(request, runtime, caller, "ask/list.html", view, status=status)

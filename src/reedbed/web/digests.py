"""Digests on the page: the latest in short, one in full, all of them, and who writes them when."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.digests import Digest, minute_of
from reedbed.domain.errors import Invalid, NotFound, Unavailable
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath, path_id
from reedbed.services.digest_schedules import end_schedule, set_schedule
from reedbed.services.digests import ask_digest, delete_digest, get_digest
from reedbed.services.preferences import preferences_of, set_preferences
from reedbed.services.runtime import Runtime
from reedbed.store import digests
from reedbed.web.digest_views import digest_line, digest_page, latest_view
from reedbed.web.form_values import Text, Ticked
from reedbed.web.moments import zone_of
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.scope_choices import EVERYTHING, chosen_scope, scopes_of
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.digests import DigestsPage
from reedbed.web.views.frame import Toast

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 30


@router.get("/summaries/latest")
async def latest(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    async with runtime.db.read() as tx:
        found = await digests.newest(tx, caller.user_id, limit=1)
    if not is_htmx(request):
        return see_other(request, f"/digests/{found[0].id}" if found else "/summaries")
    return await _latest(request, runtime, found[0] if found else None)


@router.post("/summaries")
async def generate(
    request: Request, runtime: RuntimeOf, caller: CallerOf, about: Text = "", since: Text = "day"
) -> Response:
    try:
        made = await ask_digest(runtime, caller.user, chosen_scope(about), since_last=since == "last")
    except (NotFound, Unavailable) as error:
        status = 404 if isinstance(error, NotFound) else 503
        if is_htmx(request):
            return await _latest(request, runtime, None, error=error.message, status=status)
        return await _all(request, runtime, caller, error=error.message, status=status)
    if is_htmx(request):
        return await _latest(request, runtime, made)
    return see_other(request, f"/digests/{made.id}")


@router.get("/summaries")
async def show_all(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    return await _all(request, runtime, caller)


@router.post("/summaries/writer")
async def choose_writer(
    request: Request, runtime: RuntimeOf, caller: CallerOf, *, remote_ai: Ticked = False
) -> Response:
    await set_preferences(runtime, caller, {"remote_ai": remote_ai})
    return see_other(request, "/summaries", toast=Toast(translate("Saved.")))


@router.post("/summaries/automatic")
async def choose_automatic(
    request: Request, runtime: RuntimeOf, caller: CallerOf, words: Text = "0", *, automatic: Ticked = False
) -> Response:
    try:
        if not words.isascii() or not words.isdigit() or len(words) > 6:
            raise Invalid("The number of words must be a whole number.", field="words")
        wishes = {"auto_summaries": automatic, "auto_summary_words": int(words)}
        await set_preferences(runtime, caller, wishes)
    except Invalid as error:
        return await _all(request, runtime, caller, error=error.message, status=400)
    return see_other(request, "/summaries", toast=Toast(translate("Saved.")))


@router.post("/summaries/schedule")
async def plan(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    time: Text = "",
    about: Text = "",
    *,
    mail: Ticked = False,
) -> Response:
    """An empty time ends it."""
    try:
        if time:
            zone = preferences_of(caller.user).time_zone or str(zone_of(request))
            minute, scope = minute_of(time), chosen_scope(about)
            await set_schedule(runtime, caller.user, minute=minute, zone=zone, scope=scope, mail=mail)
        else:
            await end_schedule(runtime, caller.user_id)
    except Invalid as error:
        return await _all(request, runtime, caller, error=error.message, status=400)
    return see_other(request, "/summaries", toast=Toast(translate("Saved.")))


@router.get("/digests/{digest_id}")
async def show(request: Request, runtime: RuntimeOf, caller: CallerOf, digest_id: IdPath) -> Response:
    digest = await get_digest(runtime, caller.user_id, digest_id)
    async with runtime.db.read() as tx:
        scopes = await scopes_of(tx, caller.user_id)
    view = digest_page(digest, scopes, runtime.now(), zone_of(request))
    if is_htmx(request):
        return await page(request, "digest/page.html", view, block="digest")
    return await app_page(request, runtime, caller, "digest/page.html", view)


@router.post("/digests/{digest_id}/delete")
async def delete(request: Request, runtime: RuntimeOf, caller: CallerOf, digest_id: IdPath) -> Response:
    await delete_digest(runtime, caller.user_id, digest_id)
    return see_other(request, "/summaries", toast=Toast(translate("Deleted.")))


async def _latest(
    request: Request, runtime: Runtime, digest: Digest | None, *, error: str = "", status: int = 200
) -> Response:
    said = translate(error) if error else ""
    view = latest_view(digest, runtime.now(), zone_of(request), error=said)
    return await page(request, "digest/latest.html", view, status=status)


async def _all(
    request: Request, runtime: Runtime, caller: Caller, *, error: str = "", status: int = 200
) -> Response:
    before = request.query_params.get("before", "")
    async with runtime.db.read() as tx:
        start = path_id(before) if before else None
        found = await digests.newest(tx, caller.user_id, limit=PAGE_SIZE + 1, before=start)
        planned = await digests.schedule_of(tx, caller.user_id)
        scopes = await scopes_of(tx, caller.user_id)
    now, zone, model = runtime.now(), zone_of(request), runtime.ai.model
    chosen = preferences_of(caller.user)
    view = DigestsPage(
        lines=tuple(digest_line(one, scopes, now, zone) for one in found[:PAGE_SIZE]),
        about=scopes.choices(),
        next_url=f"/summaries?before={found[PAGE_SIZE - 1].id}" if len(found) > PAGE_SIZE else "",
        model=model.name if model is not None and model.is_remote else "",
        uses_model=chosen.remote_ai,
        automatic=chosen.auto_summaries,
        least_words=chosen.auto_summary_words,
        time=f"{planned.minute // 60:02}:{planned.minute % 60:02}" if planned else "",
        planned_about=scopes.choices(planned.scope if planned else EVERYTHING),
        mail=planned.mail if planned else False,
        can_mail=runtime.mailer is not None,
        error=translate(error) if error else "",
    )
    return await app_page(request, runtime, caller, "digest/list.html", view, status=status)

"""The page of rules: conditions and actions as a plain form, tried on what is there before they are kept."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Conflict, Invalid
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.errors import status_of
from reedbed.http.ids import IdPath, path_id
from reedbed.services.rule_runs import DryRun as Tried
from reedbed.services.rules import (
    RuleDraft,
    apply_rule,
    change_rule,
    create_rule,
    delete_rule,
    get_rule,
    reorder_rules,
    try_rule,
)
from reedbed.services.runtime import Runtime
from reedbed.store import rules
from reedbed.web.form_values import Text, Ticked
from reedbed.web.moments import short_moment, zone_of
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.rule_forms import blank_form, form_of, line_of, read_draft, typed_form
from reedbed.web.shell import app_page
from reedbed.web.speech import ngettext, translate
from reedbed.web.steps import stepped
from reedbed.web.views.frame import Toast
from reedbed.web.views.managing import DryRun, DryRunHit, RuleForm, RulesPage

router = APIRouter(include_in_schema=False)


@router.get("/rules")
async def show_rules(request: Request, runtime: RuntimeOf, caller: CallerOf, edit: str = "") -> Response:
    form = blank_form()
    if edit:
        form = form_of((await get_rule(runtime, caller.user_id, path_id(edit))).rule)
    return await _show(request, runtime, caller, form)


@router.post("/rules")
async def make_rule(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    form = await request.form()
    try:
        made = await create_rule(runtime, caller.user_id, read_draft(form))
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, typed_form(form, None, error), status_of(error))
    said = translate("%(name)s is kept and used from now on.", name=made.rule.name)
    return see_other(request, "/rules", toast=Toast(said))


@router.post("/rules/dry-run")
async def try_it(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    form = await request.form()
    try:
        tried = await try_rule(runtime, caller.user_id, read_draft(form, named="—"))
        shown = _dry_run(request, runtime, tried)
        typed, status = typed_form(form, None, None), 200
    except Invalid as error:
        shown, status = DryRun(error.message, ()), 400
        typed = typed_form(form, None, error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#dry-run", "HX-Reswap": "innerHTML"} if status == 400 else None
        view = RulesPage((), typed, shown)
        return await page(request, "manage/rules.html", view, block="dry_run", status=status, headers=headers)
    return await _show(request, runtime, caller, typed, status, dry_run=shown if status == 200 else None)


@router.post("/rules/{rule_id}")
async def keep_rule(request: Request, runtime: RuntimeOf, caller: CallerOf, rule_id: IdPath) -> Response:
    form = await request.form()
    try:
        await change_rule(runtime, caller.user_id, rule_id, read_draft(form))
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, typed_form(form, rule_id, error), status_of(error))
    return see_other(request, "/rules", toast=Toast(translate("Saved.")))


@router.post("/rules/{rule_id}/enabled")
async def use_rule(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    rule_id: IdPath,
    value: Ticked,
    next: Text = "/rules",
) -> Response:
    await change_rule(runtime, caller.user_id, rule_id, RuleDraft(enabled=value))
    return see_other(request, next)


@router.post("/rules/{rule_id}/move")
async def move_rule(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    rule_id: IdPath,
    to: Text = "",
    next: Text = "/rules",
) -> Response:
    async with runtime.db.read() as tx:
        ids = [row.rule.id for row in await rules.of_user(tx, caller.user_id)]
    await reorder_rules(runtime, caller.user_id, stepped(ids, rule_id, to))
    return see_other(request, next)


@router.post("/rules/{rule_id}/apply")
async def apply_now(
    request: Request, runtime: RuntimeOf, caller: CallerOf, rule_id: IdPath, next: Text = "/rules"
) -> Response:
    await apply_rule(runtime, caller.user_id, rule_id)
    said = translate("The rule is being applied to the entries that are here.")
    return see_other(request, next, toast=Toast(said))


@router.post("/rules/{rule_id}/delete")
async def remove_rule(
    request: Request, runtime: RuntimeOf, caller: CallerOf, rule_id: IdPath, next: Text = "/rules"
) -> Response:
    await delete_rule(runtime, caller.user_id, rule_id)
    back = "/rules" if next.startswith("/rules") else next
    return see_other(request, back, toast=Toast(translate("The rule is gone.")))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    form: RuleForm,
    status: int = 200,
    *,
    dry_run: DryRun | None = None,
) -> Response:
    async with runtime.db.read() as tx:
        rows = await rules.of_user(tx, caller.user_id)
    shown = RulesPage(tuple(line_of(row) for row in rows), form, dry_run)
    return await app_page(request, runtime, caller, "manage/rules.html", shown, status=status)


def _dry_run(request: Request, runtime: Runtime, tried: Tried) -> DryRun:
    now, zone = runtime.now(), zone_of(request)
    hits = tuple(
        DryRunHit(
            url=f"/entry/{one.id}",
            title=one.title or translate("Without a title"),
            source=one.feed_title,
            when=short_moment(one.sort_at, now, zone),
            language=one.language or "",
        )
        for one in tried.shown
    )
    said = ngettext("%(num)s entry would match", "%(num)s entries would match", tried.matched)
    looked = ngettext("of the newest %(num)s", "of the newest %(num)s", tried.looked_at)
    return DryRun(f"{said}, {looked}.", hits)

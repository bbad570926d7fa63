"""The page of rules: conditions and actions as a plain form, tried on what is there before they are kept."""

from collections.abc import Iterator
from dataclasses import replace

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.rules import (
    Action,
    ActionKind,
    Channel,
    Condition,
    Field,
    Join,
    Rule,
    RuleRow,
    operator_word,
    read_action,
    read_condition,
)
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.rules.manage import DryRun as Tried
from reedbed.services.rules.manage import (
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
from reedbed.web.formats import short_time, zone_of
from reedbed.web.forms import Text, Ticked, stepped
from reedbed.web.i18n import ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import ConditionView, DryRunHit, DryRunView, RuleForm, RulesPage, RuleView
from reedbed.web.views.layout import SelectOption, Toast

EMPTY_LINES = 2
NOTIFY = "notify:"


def blank_form() -> RuleForm:
    return RuleForm(
        joins=_joins(Join.ALL), conditions=tuple(_lines([])), actions=_actions(frozenset({"star"}))
    )


def form_of(rule: Rule) -> RuleForm:
    return RuleForm(
        id=rule.id,
        name=rule.name,
        joins=_joins(rule.join),
        conditions=tuple(_lines([(one.field, operator_word(one), one.value) for one in rule.conditions])),
        actions=_actions(frozenset(_word(action) for action in rule.actions)),
        tag=next((one.value for one in rule.actions if one.kind is ActionKind.TAG), ""),
        webhook=next((one.url for one in rule.actions if one.url), ""),
    )


def typed_form(form: FormData, rule_id: int | None, error: Invalid | Conflict | None) -> RuleForm:
    """What was filled in, with what is wrong about it."""
    return RuleForm(
        id=rule_id,
        name=_text(form, "name"),
        joins=_joins(_text(form, "match")),
        conditions=tuple(_lines(_filled(form))),
        actions=_actions(frozenset(str(one) for one in form.getlist("action"))),
        tag=_text(form, "tag"),
        webhook=_text(form, "webhook"),
        errors={} if error is None else {_place(error.field): error.message},
    )


def read_draft(form: FormData, *, named: str = "") -> RuleDraft:
    """`named` stands in where a name is not needed yet."""
    return RuleDraft(
        name=_text(form, "name") or named,
        join=_text(form, "match") or Join.ALL,
        conditions=[_condition(*line) for line in _filled(form)],
        actions=[_action(str(word), form) for word in form.getlist("action")],
    )


def line_of(row: RuleRow) -> RuleView:
    rule = row.rule
    joined = translate(" and ") if rule.join is Join.ALL else translate(" or ")
    return RuleView(
        id=rule.id,
        name=rule.name,
        when=joined.join(_said(one) for one in rule.conditions),
        does=", ".join(_done(one) for one in rule.actions),
        enabled=rule.enabled,
        hits=ngettext("Met %(num)s time.", "Met %(num)s times.", row.matched),
    )


def _condition(field: str, operator: str, value: str) -> Condition:
    if field in (Field.FEED, Field.FOLDER) and operator in ("is", "is_not") and not value.isdigit():
        raise Invalid(translate("For a feed or a folder, choose “contains”."), field="conditions")
    try:
        return read_condition(field, operator, value)
    except Invalid as error:
        raise Invalid(error.message, field="conditions") from error


def _action(word: str, form: FormData) -> Action:
    kind, _, channel = word.partition(":")
    value = _text(form, "tag") if kind == ActionKind.TAG else channel
    try:
        return read_action(kind, value, _text(form, "webhook"))
    except Invalid as error:
        field = {"url": "webhook", "value": "tag" if kind == ActionKind.TAG else "actions"}
        raise Invalid(error.message, field=field.get(error.field or "", "actions")) from error


def _filled(form: FormData) -> list[tuple[str, str, str]]:
    fields, operators, values = (form.getlist(name) for name in ("field", "operator", "value"))
    lines = zip(fields, operators, values, strict=False)
    return [(str(field), str(how), str(value)) for field, how, value in lines if str(value).strip()]


def _lines(filled: list[tuple[str, str, str]]) -> Iterator[ConditionView]:
    for field, operator, value in [*filled, *[("title", "contains", "")] * EMPTY_LINES]:
        yield ConditionView(
            fields=tuple(replace(one, chosen=one.value == field) for one in _fields()),
            operators=tuple(replace(one, chosen=one.value == operator) for one in _operators()),
            value=value,
        )


def _fields() -> tuple[SelectOption, ...]:
    return (
        SelectOption(Field.TITLE, translate("Title")),
        SelectOption(Field.CONTENT, translate("Text")),
        SelectOption(Field.AUTHOR, translate("Author")),
        SelectOption(Field.FEED, translate("Name of the feed")),
        SelectOption(Field.FOLDER, translate("Name of the folder")),
        SelectOption(Field.URL, translate("Address")),
        SelectOption(Field.LANGUAGE, translate("Language")),
    )


def _operators() -> tuple[SelectOption, ...]:
    return (
        SelectOption("contains", translate("contains")),
        SelectOption("not_contains", translate("does not contain")),
        SelectOption("is", translate("is")),
        SelectOption("is_not", translate("is not")),
        SelectOption("regex", translate("fits the pattern")),
        SelectOption("not_regex", translate("does not fit the pattern")),
    )


def _joins(chosen: str) -> tuple[SelectOption, ...]:
    return (
        SelectOption(Join.ALL, translate("in all of these lines"), chosen != Join.ANY),
        SelectOption(Join.ANY, translate("in any of these lines"), chosen == Join.ANY),
    )


def _actions(chosen: frozenset[str]) -> tuple[SelectOption, ...]:
    return tuple(SelectOption(word, name, word in chosen) for word, name in _action_names().items())


def _action_names() -> dict[str, str]:
    return {
        ActionKind.MARK_READ: translate("Mark it read"),
        ActionKind.STAR: translate("Star it"),
        ActionKind.LATER: translate("Put it in Later"),
        ActionKind.TAG: translate("Put the tag on it"),
        ActionKind.MUTE: translate("Mute it: out of sight, no further rules"),
        f"{NOTIFY}{Channel.PAGE}": translate("Tell me on the page"),
        f"{NOTIFY}{Channel.PUSH}": translate("Tell my devices"),
        f"{NOTIFY}{Channel.MAIL}": translate("Tell me by mail"),
        f"{NOTIFY}{Channel.WEBHOOK}": translate("Call the address"),
    }


def _word(action: Action) -> str:
    return f"{NOTIFY}{action.value}" if action.kind is ActionKind.NOTIFY else action.kind


def _said(one: Condition) -> str:
    names = {choice.value: choice.name for choice in (*_fields(), *_operators())}
    return translate(
        "%(field)s %(operator)s “%(value)s”",
        field=names[one.field],
        operator=names[operator_word(one)],
        value=one.value,
    )


def _done(action: Action) -> str:
    if action.kind is ActionKind.TAG:
        return translate("tag “%(tag)s”", tag=action.value)
    return _action_names().get(_word(action), _word(action))


def _place(field: str | None) -> str:
    return field if field in ("name", "conditions", "actions", "tag", "webhook") else "conditions"


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


router = APIRouter(include_in_schema=False)


@router.get("/rules")
async def show_rules(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, edit: str = ""
) -> Response:
    form = blank_form()
    if edit:
        form = form_of((await get_rule(runtime, caller.user_id, path_id(edit))).rule)
    return await _show(request, runtime, caller, form)


@router.post("/rules")
async def make_rule(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = await request.form()
    try:
        made = await create_rule(runtime, caller.user_id, read_draft(form))
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, typed_form(form, None, error), status_of(error))
    said = translate("%(name)s is kept and used from now on.", name=made.rule.name)
    return see_other(request, "/rules", toast=Toast(said))


@router.post("/rules/dry-run")
async def try_it(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = await request.form()
    try:
        tried = await try_rule(runtime, caller.user_id, read_draft(form, named="—"))
        shown = _dry_run(request, runtime, tried)
        typed, status = typed_form(form, None, None), 200
    except Invalid as error:
        shown, status = DryRunView(error.message, ()), 400
        typed = typed_form(form, None, error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#dry-run", "HX-Reswap": "innerHTML"} if status == 400 else None
        view = RulesPage((), typed, shown)
        return await page(request, "rules/list.html", view, block="dry_run", status=status, headers=headers)
    return await _show(request, runtime, caller, typed, status, dry_run=shown if status == 200 else None)


@router.post("/rules/{rule_id}")
async def keep_rule(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath
) -> Response:
    form = await request.form()
    try:
        await change_rule(runtime, caller.user_id, rule_id, read_draft(form))
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, typed_form(form, rule_id, error), status_of(error))
    return see_other(request, "/rules", toast=Toast(translate("Saved.")))


@router.post("/rules/{rule_id}/enabled")
async def use_rule(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    rule_id: IdPath,
    value: Ticked,
    next: Text = "/rules",
) -> Response:
    await change_rule(runtime, caller.user_id, rule_id, RuleDraft(enabled=value))
    return see_other(request, next)


@router.post("/rules/{rule_id}/move")
async def move_rule(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
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
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath, next: Text = "/rules"
) -> Response:
    await apply_rule(runtime, caller.user_id, rule_id)
    said = translate("The rule is being applied to the entries that are here.")
    return see_other(request, next, toast=Toast(said))


@router.post("/rules/{rule_id}/delete")
async def remove_rule(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath, next: Text = "/rules"
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
    dry_run: DryRunView | None = None,
) -> Response:
    async with runtime.db.read() as tx:
        rows = await rules.of_user(tx, caller.user_id)
    shown = RulesPage(tuple(line_of(row) for row in rows), form, dry_run)
    return await app_page(request, runtime, caller, "rules/list.html", shown, status=status)


def _dry_run(request: Request, runtime: Runtime, tried: Tried) -> DryRunView:
    now, zone = runtime.now(), zone_of(request)
    hits = tuple(
        DryRunHit(
            url=f"/entry/{one.id}",
            title=one.title or translate("Without a title"),
            source=one.feed_title,
            when=short_time(one.sort_at, now, zone),
            language=one.language or "",
        )
        for one in tried.shown
    )
    said = ngettext("%(num)s entry would match", "%(num)s entries would match", tried.matched)
    looked = ngettext("of the newest %(num)s", "of the newest %(num)s", tried.looked_at)
    return DryRunView(f"{said}, {looked}.", hits)

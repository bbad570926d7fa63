"""The rules page: conditions and actions as a plain form, with a dry run on existing entries."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.records import record
from reedbed.domain.rules import (
    Action,
    ActionKind,
    Channel,
    Condition,
    Field,
    Join,
    Rule,
    RuleRow,
    operator_name,
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
from reedbed.store import rules, sharing
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import FormFlag, Text, stepped
from reedbed.web.i18n import enumerated, explain, ngettext, sentence, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, TimeView, Toast


@record
class RuleView:
    id: int
    name: str
    when: str
    does: str
    enabled: bool
    hits: str


@record
class DryRunHit:
    url: str
    title: str
    source: str
    when: TimeView
    language: str = ""


@record
class DryRunView:
    summary: str
    hits: tuple[DryRunHit, ...]


@record
class ConditionView:
    fields: tuple[SelectOption, ...]
    operators: tuple[SelectOption, ...]
    value: str = ""


@record
class RuleForm:
    id: int | None = None
    name: str = ""
    joins: tuple[SelectOption, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    """Includes empty rows to fill in; rows left empty are ignored."""
    actions: tuple[SelectOption, ...] = ()
    shares: frozenset[str] = frozenset()
    """The actions that send to services; the page adds the user's services to `actions`."""
    tag: str = ""
    webhook: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class RulesPage:
    rules: tuple[RuleView, ...]
    form: RuleForm
    dry_run: DryRunView | None = None


EMPTY_LINES = 2
NOTIFY = "notify:"
SHARE = "share:"


def blank_form() -> RuleForm:
    return RuleForm(
        joins=_join_options(Join.ALL),
        conditions=tuple(_condition_rows([])),
        actions=_action_options(frozenset({"star"})),
    )


def form_of(rule: Rule) -> RuleForm:
    return RuleForm(
        id=rule.id,
        name=rule.name,
        joins=_join_options(rule.join),
        conditions=tuple(
            _condition_rows(
                [(condition.field, operator_name(condition), condition.value) for condition in rule.conditions]
            )
        ),
        actions=_action_options(frozenset(_action_key(action) for action in rule.actions)),
        shares=frozenset(_action_key(action) for action in rule.actions if action.kind is ActionKind.SHARE),
        tag=next((action.value for action in rule.actions if action.kind is ActionKind.TAG), ""),
        webhook=next((action.url for action in rule.actions if action.url), ""),
    )


def typed_form(form: FormData, rule_id: int | None, error: Invalid | Conflict | None) -> RuleForm:
    """The form with the submitted values and the error."""
    return RuleForm(
        id=rule_id,
        name=_text(form, "name"),
        joins=_join_options(_text(form, "match")),
        conditions=tuple(_condition_rows(_filled_rows(form))),
        actions=_action_options(frozenset(str(action) for action in form.getlist("action"))),
        shares=frozenset(str(action) for action in form.getlist("action") if str(action).startswith(SHARE)),
        tag=_text(form, "tag"),
        webhook=_text(form, "webhook"),
        errors={} if error is None else {_error_field(error.field): explain(error)},
    )


def read_draft(form: FormData, *, named: str = "") -> RuleDraft:
    """`named` is the name if the form has none, for a dry run."""
    return RuleDraft(
        name=_text(form, "name") or named,
        join=_text(form, "match") or Join.ALL,
        conditions=[_condition(*row) for row in _filled_rows(form)],
        actions=[_action(str(key), form) for key in form.getlist("action")],
    )


def line_of(row: RuleRow, services: Mapping[str, str]) -> RuleView:
    """`services` has the names of the user's services by the key of their action."""
    rule = row.rule
    joined = translate(" and ") if rule.join is Join.ALL else translate(" or ")
    return RuleView(
        id=rule.id,
        name=rule.name,
        when=joined.join(_condition_text(condition) for condition in rule.conditions),
        does=enumerated(_action_text(action, services) for action in rule.actions),
        enabled=rule.enabled,
        hits=ngettext("Met %(num)s time.", "Met %(num)s times.", row.matched),
    )


def _condition(field: str, operator: str, value: str) -> Condition:
    if field in (Field.FEED, Field.FOLDER) and operator in ("is", "is_not") and not value.isdigit():
        raise Invalid("For a feed or a folder, choose “contains”.", field="conditions")
    try:
        return read_condition(field, operator, value)
    except Invalid as error:
        raise Invalid(error.failure, field="conditions") from error


def _action(key: str, form: FormData) -> Action:
    kind, _, channel = key.partition(":")
    value = _text(form, "tag") if kind == ActionKind.TAG else channel
    try:
        return read_action(kind, value, _text(form, "webhook"))
    except Invalid as error:
        field = {"url": "webhook", "value": "tag" if kind == ActionKind.TAG else "actions"}
        raise Invalid(error.failure, field=field.get(error.field or "", "actions")) from error


def _filled_rows(form: FormData) -> list[tuple[str, str, str]]:
    fields, operators, values = (form.getlist(name) for name in ("field", "operator", "value"))
    rows = zip(fields, operators, values, strict=False)
    return [(str(field), str(operator), str(value)) for field, operator, value in rows if str(value).strip()]


def _condition_rows(rows: list[tuple[str, str, str]]) -> Iterator[ConditionView]:
    for name, operator, value in [*rows, *[("title", "contains", "")] * EMPTY_LINES]:
        yield ConditionView(
            fields=tuple(replace(option, chosen=option.value == name) for option in _field_options()),
            operators=tuple(replace(option, chosen=option.value == operator) for option in _operator_options()),
            value=value,
        )


def _field_options() -> tuple[SelectOption, ...]:
    return (
        SelectOption(Field.TITLE, translate("Title")),
        SelectOption(Field.CONTENT, translate("Text")),
        SelectOption(Field.AUTHOR, translate("Author")),
        SelectOption(Field.FEED, translate("Name of the feed")),
        SelectOption(Field.FOLDER, translate("Name of the folder")),
        SelectOption(Field.URL, translate("Address")),
        SelectOption(Field.LANGUAGE, translate("Language")),
        SelectOption(Field.CATEGORY, translate("Category of the feed")),
    )


def _operator_options() -> tuple[SelectOption, ...]:
    return (
        SelectOption("contains", translate("contains")),
        SelectOption("not_contains", translate("does not contain")),
        SelectOption("is", translate("is")),
        SelectOption("is_not", translate("is not")),
        SelectOption("regex", translate("fits the pattern")),
        SelectOption("not_regex", translate("does not fit the pattern")),
    )


def _join_options(chosen: str) -> tuple[SelectOption, ...]:
    return (
        SelectOption(Join.ALL, translate("in all of these lines"), chosen != Join.ANY),
        SelectOption(Join.ANY, translate("in any of these lines"), chosen == Join.ANY),
    )


def _action_options(chosen: frozenset[str]) -> tuple[SelectOption, ...]:
    return tuple(SelectOption(key, name, key in chosen) for key, name in _action_names().items())


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


def _action_key(action: Action) -> str:
    if action.kind is ActionKind.NOTIFY:
        return f"{NOTIFY}{action.value}"
    return f"{SHARE}{action.value}" if action.kind is ActionKind.SHARE else action.kind


def _condition_text(condition: Condition) -> str:
    names = {choice.value: choice.name for choice in (*_field_options(), *_operator_options())}
    return translate(
        "%(field)s %(operator)s “%(value)s”",
        field=names[condition.field],
        operator=names[operator_name(condition)],
        value=condition.value,
    )


def _action_text(action: Action, services: Mapping[str, str]) -> str:
    if action.kind is ActionKind.TAG:
        return translate("tag “%(tag)s”", tag=action.value)
    if action.kind is ActionKind.SHARE:
        return services.get(_action_key(action), translate("send it to a service that was removed"))
    return _action_names().get(_action_key(action), _action_key(action))


def _error_field(field: str | None) -> str:
    return field if field in ("name", "conditions", "actions", "tag", "webhook") else "conditions"


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


# --- Routes

router = APIRouter(include_in_schema=False)


@router.get("/rules")
async def show_rules(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, edit: str = "") -> Response:
    form = blank_form()
    if edit:
        form = form_of((await get_rule(runtime, caller.user_id, path_id(edit))).rule)
    return await _show(request, runtime, caller, form)


@router.post("/rules")
async def make_rule(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = await request.form()
    try:
        row = await create_rule(runtime, caller.user_id, read_draft(form))
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, typed_form(form, None, error), status_of(error))
    message = translate("%(name)s is kept and used from now on.", name=row.rule.name)
    return see_other(request, "/rules", toast=Toast(message))


@router.post("/rules/dry-run")
async def try_it(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = await request.form()
    try:
        result = await try_rule(runtime, caller.user_id, read_draft(form, named="—"))
        dry_run = _dry_run(request, runtime, result)
        typed, status = typed_form(form, None, None), 200
    except Invalid as error:
        dry_run, status = DryRunView(explain(error), ()), 400
        typed = typed_form(form, None, error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#dry-run", "HX-Reswap": "innerHTML"} if status == 400 else None
        view = RulesPage((), typed, dry_run)
        return await page(request, "rules/list.html", view, block="dry_run", status=status, headers=headers)
    return await _show(request, runtime, caller, typed, status, dry_run=dry_run if status == 200 else None)


@router.post("/rules/{rule_id}")
async def keep_rule(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath) -> Response:
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
    value: FormFlag,
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
    message = translate("The rule is being applied to the entries that are here.")
    return see_other(request, next, toast=Toast(message))


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
        targets = await sharing.names(tx, caller.user_id)
    services = {f"{SHARE}{id_}": translate("Send it to %(name)s", name=name) for id_, name in targets}
    options = tuple(SelectOption(key, name, key in form.shares) for key, name in services.items())
    form = replace(form, actions=(*form.actions, *options))
    view = RulesPage(tuple(line_of(row, services) for row in rows), form, dry_run)
    return await app_page(request, runtime, caller, "rules/list.html", view, status=status)


def _dry_run(request: Request, runtime: Runtime, result: Tried) -> DryRunView:
    now, zone = runtime.now(), zone_of(request)
    hits = tuple(
        DryRunHit(
            url=f"/entry/{entry.id}",
            title=entry.title or translate("Without a title"),
            source=entry.feed_title,
            when=dated_time(entry.sort_at, now, zone),
            language=entry.language or "",
        )
        for entry in result.shown
    )
    matched = ngettext("%(num)s entry would match", "%(num)s entries would match", result.matched)
    checked = ngettext("of the newest %(num)s", "of the newest %(num)s", result.looked_at)
    return DryRunView(sentence(enumerated((matched, checked))), hits)

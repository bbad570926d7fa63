"""Rules: list, change, reorder, test and apply them."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from reedbed.domain.rules import (
    MAX_ACTIONS,
    MAX_CONDITIONS,
    Action,
    Condition,
    RuleRow,
    operator_name,
    read_action,
    read_condition,
)
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import SearchLimit
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId
from reedbed.http.responses import json_response, moment
from reedbed.services.rules.manage import (
    DryRun,
    RuleDraft,
    apply_rule,
    change_rule,
    create_rule,
    delete_rule,
    get_rule,
    reorder_rules,
    try_rule,
)
from reedbed.store import rules
from reedbed.store.entries.read import EntryText

router = APIRouter(prefix="/api/v1/rules", tags=["rules"])

_EXAMPLE: dict[str, Any] = {
    "name": "No sports",
    "match": "any",
    "conditions": [{"field": "title", "operator": "contains", "value": "football"}],
    "actions": [{"action": "mute"}],
}


class ConditionRequest(ApiModel):
    field: Literal["feed", "folder", "title", "author", "content", "url", "language"]
    operator: Literal["contains", "not_contains", "regex", "not_regex", "is", "is_not"]
    value: str = Field(description="For `feed` and `folder` with `is`: an id.")


class ActionRequest(ApiModel):
    action: Literal["mark_read", "star", "later", "tag", "mute", "notify"]
    value: str = Field("", description="The tag; or mail, webhook, push or page for `notify`.")
    url: str = Field("", description="The URL that a webhook is sent to.")


class RuleRequest(ApiModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: str
    match: Literal["all", "any"] = "all"
    conditions: list[ConditionRequest] = Field(description=f"At most {MAX_CONDITIONS}.")
    actions: list[ActionRequest] = Field(description=f"At most {MAX_ACTIONS}.")
    enabled: bool = True


class ChangeRuleRequest(ApiModel):
    name: str | None = None
    match: Literal["all", "any"] | None = None
    conditions: list[ConditionRequest] | None = None
    actions: list[ActionRequest] | None = None
    enabled: bool | None = None


class DryRunRequest(ApiModel):
    name: str = "Trial"
    match: Literal["all", "any"] = "all"
    conditions: list[ConditionRequest]


class ReorderRulesRequest(ApiModel):
    ids: list[JsonId]


class RuleResponse(ApiModel):
    id: str
    name: str
    match: str
    conditions: list[ConditionRequest]
    actions: list[ActionRequest]
    enabled: bool
    position: int
    matched: int
    created_at: str


class RuleList(ApiModel):
    items: list[RuleResponse]
    next_cursor: str | None


class DryRunEntry(ApiModel):
    id: str
    feed_id: str
    feed_title: str
    title: str
    url: str | None
    sort_at: str


class DryRunResponse(ApiModel):
    looked_at: int
    matched: int
    complete: bool
    items: list[DryRunEntry]


class JobResponse(ApiModel):
    job_id: str


ONE: dict[int | str, dict[str, Any]] = {200: {"model": RuleResponse}}


@router.get("", summary="List rules in the order they are applied", responses={200: {"model": RuleList}})
async def list_rules(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        rows = await rules.of_user(tx, caller.user_id)
    return json_response({"items": [rule_json(row) for row in rows], "next_cursor": None})


@router.post("", status_code=201, summary="Create a rule", responses={201: {"model": RuleResponse}})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: RuleRequest) -> Response:
    draft = RuleDraft(
        body.name, body.match, _read_conditions(body.conditions), _read_actions(body.actions), body.enabled
    )
    return json_response(rule_json(await create_rule(runtime, caller.user_id, draft)), 201)


@router.post("/reorder", status_code=204, summary="Reorder rules; list every rule once")
async def reorder(runtime: CurrentRuntime, caller: CurrentCaller, body: ReorderRulesRequest) -> Response:
    await reorder_rules(runtime, caller.user_id, body.ids)
    return Response(status_code=204)


@router.post(
    "/dry-run",
    summary="Test conditions on the newest 500 entries without applying anything",
    responses={200: {"model": DryRunResponse}},
)
async def dry_run(
    runtime: CurrentRuntime, caller: CurrentCaller, body: DryRunRequest, _: SearchLimit
) -> Response:
    draft = RuleDraft(body.name, body.match, _read_conditions(body.conditions), [read_action("star")])
    return json_response(_trial_json(await try_rule(runtime, caller.user_id, draft)))


@router.get("/{rule_id}", summary="Get a rule", responses=ONE)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath) -> Response:
    return json_response(rule_json(await get_rule(runtime, caller.user_id, rule_id)))


@router.patch("/{rule_id}", summary="Change a rule; fields that are not sent stay", responses=ONE)
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath, body: ChangeRuleRequest
) -> Response:
    draft = RuleDraft(
        body.name,
        body.match,
        None if body.conditions is None else _read_conditions(body.conditions),
        None if body.actions is None else _read_actions(body.actions),
        body.enabled,
    )
    return json_response(rule_json(await change_rule(runtime, caller.user_id, rule_id, draft)))


@router.delete("/{rule_id}", status_code=204, summary="Delete a rule; its effects stay")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath) -> Response:
    await delete_rule(runtime, caller.user_id, rule_id)
    return Response(status_code=204)


@router.post(
    "/{rule_id}/apply",
    status_code=202,
    summary="Apply a rule to existing entries; `progress` events report how far it is",
    responses={202: {"model": JobResponse}},
)
async def apply(runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath, _: SearchLimit) -> Response:
    return json_response({"job_id": str(await apply_rule(runtime, caller.user_id, rule_id))}, 202)


def rule_json(row: RuleRow) -> dict[str, Any]:
    rule = row.rule
    return {
        "id": str(rule.id),
        "name": rule.name,
        "match": rule.join,
        "conditions": [
            {"field": condition.field, "operator": operator_name(condition), "value": condition.value}
            for condition in rule.conditions
        ],
        "actions": [
            {"action": action.kind, "value": action.value, "url": action.url} for action in rule.actions
        ],
        "enabled": rule.enabled,
        "position": row.position,
        "matched": row.matched,
        "created_at": moment(row.created_at),
    }


def _read_conditions(bodies: list[ConditionRequest]) -> list[Condition]:
    return [read_condition(body.field, body.operator, body.value) for body in bodies[: MAX_CONDITIONS + 1]]


def _read_actions(bodies: list[ActionRequest]) -> list[Action]:
    return [read_action(body.action, body.value, body.url) for body in bodies[: MAX_ACTIONS + 1]]


def _trial_json(trial: DryRun) -> dict[str, Any]:
    return {
        "looked_at": trial.looked_at,
        "matched": trial.matched,
        "complete": trial.complete,
        "items": [_hit_json(entry) for entry in trial.shown],
    }


def _hit_json(entry: EntryText) -> dict[str, Any]:
    return {
        "id": str(entry.id),
        "feed_id": str(entry.feed_id),
        "feed_title": entry.feed_title,
        "title": entry.title,
        "url": entry.url,
        "sort_at": moment(entry.sort_at),
    }

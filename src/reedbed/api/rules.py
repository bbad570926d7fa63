"""Rules: list, change, reorder, test and apply them."""

from typing import Annotated, Any, Literal

from fastapi import Response
from pydantic import ConfigDict, Field

from reedbed.domain.records import record
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
from reedbed.http.models import ApiModel, JobResponse, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, SearchLimit
from reedbed.http.responses import ApiRouter, Json
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

router = ApiRouter(prefix="/api/v1/rules", tags=["rules"])

_EXAMPLE: dict[str, Any] = {
    "name": "No sports",
    "match": "any",
    "conditions": [{"field": "title", "operator": "contains", "value": "football"}],
    "actions": [{"action": "mute"}],
}


class ConditionRequest(ApiModel):
    field: Literal["feed", "folder", "title", "author", "content", "url", "language", "category"]
    operator: Literal["contains", "not_contains", "regex", "not_regex", "is", "is_not"]
    value: str = Field(description="For `feed` and `folder` with `is`: an id.")


class ActionRequest(ApiModel):
    action: Literal["mark_read", "star", "later", "tag", "mute", "notify", "share"]
    value: str = Field(
        "", description="The tag; mail, webhook, push or page for `notify`; the id of a share target for `share`."
    )
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


@record
class ConditionResponse(ResponseModel):
    field: Literal["feed", "folder", "title", "author", "content", "url", "language", "category"]
    operator: Literal["contains", "not_contains", "regex", "not_regex", "is", "is_not"]
    value: Annotated[str, Field(description="For `feed` and `folder` with `is`: an id.")]


@record
class ActionResponse(ResponseModel):
    action: Literal["mark_read", "star", "later", "tag", "mute", "notify", "share"]
    value: Annotated[
        str,
        Field(description="The tag; mail, webhook, push or page for `notify`; the id of a share target for `share`."),
    ]
    url: Annotated[str, Field(description="The URL that a webhook is sent to.")]


@record
class RuleResponse(ResponseModel):
    id: JsonId
    name: str
    match: str
    conditions: list[ConditionResponse]
    actions: list[ActionResponse]
    enabled: bool
    position: int
    matched: int
    created_at: Timestamp


@record
class DryRunEntry(ResponseModel):
    id: JsonId
    feed_id: JsonId
    feed_title: str
    title: str
    url: str | None
    sort_at: Timestamp


@record
class DryRunResponse(ResponseModel):
    looked_at: int
    matched: int
    complete: bool
    items: list[DryRunEntry]


@router.get("", summary="List rules in the order they are applied")
async def list_rules(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[RuleResponse]]:
    async with runtime.db.read() as tx:
        rows = await rules.of_user(tx, caller.user_id)
    return Json(ListPage([rule_response(row) for row in rows]))


@router.post("", status_code=201, summary="Create a rule")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: RuleRequest) -> Json[RuleResponse]:
    draft = RuleDraft(
        body.name, body.match, _read_conditions(body.conditions), _read_actions(body.actions), body.enabled
    )
    return Json(rule_response(await create_rule(runtime, caller.user_id, draft)), 201)


@router.post("/reorder", status_code=204, summary="Reorder rules; list every rule once")
async def reorder(runtime: CurrentRuntime, caller: CurrentCaller, body: ReorderRulesRequest) -> Response:
    await reorder_rules(runtime, caller.user_id, body.ids)
    return Response(status_code=204)


@router.post("/dry-run", summary="Test conditions on the newest 500 entries without applying anything")
async def dry_run(
    runtime: CurrentRuntime, caller: CurrentCaller, body: DryRunRequest, _: SearchLimit
) -> Json[DryRunResponse]:
    draft = RuleDraft(body.name, body.match, _read_conditions(body.conditions), [read_action("star")])
    return Json(_trial_response(await try_rule(runtime, caller.user_id, draft)))


@router.get("/{rule_id}", summary="Get a rule")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath) -> Json[RuleResponse]:
    return Json(rule_response(await get_rule(runtime, caller.user_id, rule_id)))


@router.patch("/{rule_id}", summary="Change a rule; fields that are not sent stay")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath, body: ChangeRuleRequest
) -> Json[RuleResponse]:
    draft = RuleDraft(
        body.name,
        body.match,
        None if body.conditions is None else _read_conditions(body.conditions),
        None if body.actions is None else _read_actions(body.actions),
        body.enabled,
    )
    return Json(rule_response(await change_rule(runtime, caller.user_id, rule_id, draft)))


@router.delete("/{rule_id}", status_code=204, summary="Delete a rule; its effects stay")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath) -> Response:
    await delete_rule(runtime, caller.user_id, rule_id)
    return Response(status_code=204)


@router.post(
    "/{rule_id}/apply",
    status_code=202,
    summary="Apply a rule to existing entries; `progress` events report how far it is",
)
async def apply(runtime: CurrentRuntime, caller: CurrentCaller, rule_id: IdPath, _: SearchLimit) -> Json[JobResponse]:
    return Json(JobResponse(await apply_rule(runtime, caller.user_id, rule_id)), 202)


def rule_response(row: RuleRow) -> RuleResponse:
    conditions = [
        ConditionResponse.of(condition, operator=operator_name(condition)) for condition in row.rule.conditions
    ]
    actions = [ActionResponse.of(action, action=action.kind) for action in row.rule.actions]
    return RuleResponse.of(row, row.rule, match=row.rule.join, conditions=conditions, actions=actions)


def _read_conditions(bodies: list[ConditionRequest]) -> list[Condition]:
    return [read_condition(body.field, body.operator, body.value) for body in bodies[: MAX_CONDITIONS + 1]]


def _read_actions(bodies: list[ActionRequest]) -> list[Action]:
    return [read_action(body.action, body.value, body.url) for body in bodies[: MAX_ACTIONS + 1]]


def _trial_response(trial: DryRun) -> DryRunResponse:
    return DryRunResponse.of(trial, items=[DryRunEntry.of(entry) for entry in trial.shown])

"""Secrets for programs: API tokens and app passwords."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.accounts import ApiToken, read_scopes, scope_words
from reedbed.domain.errors import Invalid
from reedbed.http.caller import CallerOf, RuntimeOf, SessionOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.services.tokens import create_api_token, create_app_password, list_tokens, revoke_token

router = APIRouter(prefix="/api/v1/users/me/tokens", tags=["tokens"])


class TokenBody(ApiModel):
    name: str = Field(max_length=500, examples=["My script"])
    kind: Literal["api", "app_password"] = "api"
    scopes: list[str] | None = Field(
        None, max_length=10, description="read, write, admin; for API tokens. Without: read and write."
    )


class TokenOut(ApiModel):
    id: str
    name: str
    kind: str
    scopes: list[str]
    created_at: str
    last_used_at: str | None


class NewTokenOut(TokenOut):
    secret: str = Field(description="Shown this once.")


class TokenList(ApiModel):
    items: list[TokenOut]
    next_cursor: str | None


@router.get("", summary="API tokens and app passwords", responses={200: {"model": TokenList}})
async def list_all(runtime: RuntimeOf, caller: CallerOf) -> Response:
    found = await list_tokens(runtime, caller.user_id)
    return json_response({"items": [token_json(token) for token in found], "next_cursor": None})


@router.post(
    "", status_code=201, summary="Make a token or an app password", responses={201: {"model": NewTokenOut}}
)
async def create(runtime: RuntimeOf, caller: SessionOf, body: TokenBody) -> Response:
    if body.kind == "api":
        scopes = read_scopes(["read", "write"] if body.scopes is None else body.scopes)
        made = await create_api_token(runtime, caller, body.name, scopes)
    elif body.scopes is not None:
        raise Invalid("App passwords always read and write; leave the scopes out.", field="scopes")
    else:
        made = await create_app_password(runtime, caller, body.name)
    shown = {**token_json(made.token), "secret": made.secret}
    return json_response(shown, 201, {"Cache-Control": "no-store"})


@router.delete("/{token_id}", status_code=204, summary="Revoke a token or an app password")
async def delete(runtime: RuntimeOf, caller: SessionOf, token_id: IdPath) -> Response:
    await revoke_token(runtime, caller, token_id)
    return Response(status_code=204)


def token_json(token: ApiToken) -> dict[str, Any]:
    return {
        "id": str(token.id),
        "name": token.name,
        "kind": token.kind,
        "scopes": scope_words(token.scopes).split(),
        "created_at": moment(token.created_at),
        "last_used_at": moment(token.last_used_at),
    }

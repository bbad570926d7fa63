"""Signing in by others: who may vouch, where to go, and which accounts elsewhere are linked."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime, SessionOf, client_ip, set_sign_in_cookie
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, moment
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import StartedSignIn, begin, callback_url, linked, provider_named, unlink

router = APIRouter(tags=["auth"])

Next = Annotated[str, Query(max_length=2_000, description="The path to come back to.")]
Invite = Annotated[str, Query(max_length=200, description="From an invitation's link.")]


class ProviderResponse(ApiModel):
    provider: str = Field(examples=["google"])
    name: str = Field(examples=["Google"])
    login_url: str = Field(description="Open it in a browser.")
    callback_url: str = Field(description="What the provider has to be told to come back to.")


class ProviderList(ApiModel):
    items: list[ProviderResponse]
    next_cursor: str | None


class OidcResponse(ApiModel):
    enabled: bool
    name: str | None
    login_url: str | None
    callback_url: str | None


class AuthorizationUrlResponse(ApiModel):
    url: str = Field(
        description="The provider's page. It has to be opened in the browser that got the cookie."
    )


class IdentityResponse(ApiModel):
    id: str
    provider: str
    email: str
    created_at: str
    last_used_at: str | None


class IdentityList(ApiModel):
    items: list[IdentityResponse]
    next_cursor: str | None


class LinkRequest(ApiModel):
    provider: str = Field(max_length=20, examples=["google"])


@router.get(
    "/api/v1/auth/oauth", summary="Who may vouch for people", responses={200: {"model": ProviderList}}
)
async def providers(runtime: CurrentRuntime) -> Response:
    items = [_provider_json(runtime, key) for key in runtime.sign_in.providers]
    return json_response({"items": items, "next_cursor": None})


@router.get(
    "/api/v1/auth/oauth/{provider}",
    summary="Begin to log in with a provider: where to send the browser",
    responses={200: {"model": AuthorizationUrlResponse}},
)
async def oauth_url(
    request: Request, runtime: CurrentRuntime, provider: str, next: Next = "/", invite: Invite = ""
) -> Response:
    return await _begin(request, runtime, provider, next, invite)


@router.get(
    "/api/v1/auth/oidc", summary="Whether OpenID Connect is set up", responses={200: {"model": OidcResponse}}
)
async def oidc(runtime: CurrentRuntime) -> Response:
    if "oidc" not in runtime.sign_in.providers:
        return json_response({"enabled": False, "name": None, "login_url": None, "callback_url": None})
    shown = _provider_json(runtime, "oidc")
    return json_response({"enabled": True, **{key: shown[key] for key in shown if key != "provider"}})


@router.get(
    "/api/v1/auth/oidc/login",
    summary="Begin to log in with OpenID Connect: where to send the browser",
    responses={200: {"model": AuthorizationUrlResponse}},
)
async def oidc_url(
    request: Request, runtime: CurrentRuntime, next: Next = "/", invite: Invite = ""
) -> Response:
    return await _begin(request, runtime, "oidc", next, invite)


@router.get(
    "/api/v1/auth/oidc/callback", summary="Where the provider sends the browser back", status_code=303
)
async def oidc_callback(request: Request) -> Response:
    return _on(request, "oidc", 303)


@router.get(
    "/api/v1/auth/oauth/{provider}/callback",
    summary="Where the provider sends the browser back",
    status_code=303,
)
async def oauth_callback(request: Request, runtime: CurrentRuntime, provider: str) -> Response:
    return _on(request, provider_named(runtime, provider).key, 303)


@router.post(
    "/api/v1/auth/oauth/{provider}/callback",
    summary="Where a provider sends the browser back with a form",
    status_code=307,
)
async def oauth_form(request: Request, runtime: CurrentRuntime, provider: str) -> Response:
    return _on(request, provider_named(runtime, provider).key, 307)


@router.get(
    "/api/v1/users/me/identities",
    tags=["account"],
    summary="The caller's accounts elsewhere",
    responses={200: {"model": IdentityList}},
)
async def identities(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    items = [
        {
            "id": str(each.id),
            "provider": each.provider,
            "email": each.email,
            "created_at": moment(each.created_at),
            "last_used_at": moment(each.last_used_at),
        }
        for each in await linked(runtime, caller.user_id)
    ]
    return json_response({"items": items, "next_cursor": None})


@router.post(
    "/api/v1/users/me/identities",
    tags=["account"],
    summary="Begin to link an account elsewhere: where to send the browser",
    responses={200: {"model": AuthorizationUrlResponse}},
)
async def link(request: Request, runtime: CurrentRuntime, caller: SessionOf, body: LinkRequest) -> Response:
    begun = await begin(
        runtime,
        body.provider,
        ip=client_ip(request),
        next_path="/settings/account",
        user_id=caller.user_id,
    )
    return _address(request, runtime, begun)


@router.delete(
    "/api/v1/users/me/identities/{identity_id}",
    tags=["account"],
    status_code=204,
    summary="Unlink an account elsewhere",
)
async def remove(runtime: CurrentRuntime, caller: SessionOf, identity_id: IdPath) -> Response:
    await unlink(runtime, caller, identity_id)
    return Response(status_code=204)


async def _begin(request: Request, runtime: Runtime, key: str, next: str, invite: str) -> Response:
    ours = next.startswith("/") and not next.startswith(("//", "/\\")) and next.isprintable()
    begun = await begin(
        runtime,
        key,
        ip=client_ip(request),
        next_path=next if ours else "/",
        invite=storable(invite) or None,
    )
    return _address(request, runtime, begun)


def _address(request: Request, runtime: Runtime, begun: StartedSignIn) -> Response:
    response = json_response({"url": begun.url}, headers={"Cache-Control": "no-store"})
    set_sign_in_cookie(request, response, runtime, begun.browser, comes_back_by_form=begun.form_post)
    return response


def _on(request: Request, key: str, status: int) -> Response:
    """To the page, which shows people what became of it. 307 takes the form along."""
    query = request.url.query
    return RedirectResponse(f"/login/back/{key}?{query}" if query else f"/login/back/{key}", status)


def _provider_json(runtime: Runtime, key: str) -> dict[str, str]:
    provider = runtime.sign_in.providers[key]
    return {
        "provider": key,
        "name": provider.name,
        "login_url": f"{runtime.accounts.base_url}/login/with/{key}",
        "callback_url": callback_url(runtime, provider),
    }

"""Sign-in with external providers (OAuth and OpenID Connect), and the linked identities of the caller."""

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime, CurrentSession, client_ip, set_sign_in_cookie
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import StartedSignIn, begin, callback_url, get_provider, linked, unlink

router = ApiRouter(tags=["auth"])

Next = Annotated[str, Query(max_length=2_000, description="Path to return to after login.")]
Invite = Annotated[str, Query(max_length=200, description="From an invitation's link.")]


@record
class ProviderResponse(ResponseModel):
    provider: Annotated[str, Field(examples=["google"])]
    name: Annotated[str, Field(examples=["Google"])]
    login_url: Annotated[str, Field(description="Open it in a browser.")]
    callback_url: Annotated[str, Field(description="Redirect URI to register with the provider.")]


@record
class OidcResponse(ResponseModel):
    enabled: bool
    name: str | None
    login_url: str | None
    callback_url: str | None


@record
class AuthorizationUrlResponse(ResponseModel):
    url: Annotated[str, Field(description="The provider's page. Open it in the browser that received the cookie.")]


@record
class IdentityResponse(ResponseModel):
    id: JsonId
    provider: str
    email: str
    created_at: Timestamp
    last_used_at: Timestamp | None


class LinkRequest(ApiModel):
    provider: str = Field(max_length=20, examples=["google"])


@router.get("/api/v1/auth/oauth", summary="List sign-in providers")
async def providers(runtime: CurrentRuntime) -> Json[ListPage[ProviderResponse]]:
    items = [_provider_response(runtime, key) for key in runtime.sign_in.providers]
    return Json(ListPage(items))


@router.get("/api/v1/auth/oauth/{provider}", summary="Start a login with a provider; returns the URL to open")
async def oauth_url(
    request: Request, runtime: CurrentRuntime, provider: str, next: Next = "/", invite: Invite = ""
) -> Json[AuthorizationUrlResponse]:
    return await _start(request, runtime, provider, next, invite)


@router.get("/api/v1/auth/oidc", summary="Check whether OpenID Connect is configured")
async def oidc(runtime: CurrentRuntime) -> Json[OidcResponse]:
    if "oidc" not in runtime.sign_in.providers:
        return Json(OidcResponse(enabled=False, name=None, login_url=None, callback_url=None))
    return Json(OidcResponse.of(_provider_response(runtime, "oidc"), enabled=True))


@router.get("/api/v1/auth/oidc/login", summary="Start a login with OpenID Connect; returns the URL to open")
async def oidc_url(
    request: Request, runtime: CurrentRuntime, next: Next = "/", invite: Invite = ""
) -> Json[AuthorizationUrlResponse]:
    return await _start(request, runtime, "oidc", next, invite)


@router.get("/api/v1/auth/oidc/callback", summary="Redirect target for the provider", status_code=303)
async def oidc_callback(request: Request) -> Response:
    return _redirect_to_web(request, "oidc", 303)


@router.get("/api/v1/auth/oauth/{provider}/callback", summary="Redirect target for the provider", status_code=303)
async def oauth_callback(request: Request, runtime: CurrentRuntime, provider: str) -> Response:
    return _redirect_to_web(request, get_provider(runtime, provider).key, 303)


@router.post(
    "/api/v1/auth/oauth/{provider}/callback", summary="Redirect target for providers that post a form", status_code=307
)
async def oauth_form(request: Request, runtime: CurrentRuntime, provider: str) -> Response:
    return _redirect_to_web(request, get_provider(runtime, provider).key, 307)


@router.get("/api/v1/users/me/identities", tags=["account"], summary="List linked accounts")
async def identities(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[IdentityResponse]]:
    return Json(ListPage([IdentityResponse.of(identity) for identity in await linked(runtime, caller.user_id)]))


@router.post(
    "/api/v1/users/me/identities", tags=["account"], summary="Start linking an account; returns the URL to open"
)
async def link(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, body: LinkRequest
) -> Json[AuthorizationUrlResponse]:
    started = await begin(
        runtime, body.provider, ip=client_ip(request), next_path="/settings/security", user_id=caller.user_id
    )
    return _url_response(request, runtime, started)


@router.delete(
    "/api/v1/users/me/identities/{identity_id}", tags=["account"], status_code=204, summary="Unlink an account"
)
async def remove(runtime: CurrentRuntime, caller: CurrentSession, identity_id: IdPath) -> Response:
    await unlink(runtime, caller, identity_id)
    return Response(status_code=204)


async def _start(
    request: Request, runtime: Runtime, key: str, next: str, invite: str
) -> Json[AuthorizationUrlResponse]:
    is_local = next.startswith("/") and not next.startswith(("//", "/\\")) and next.isprintable()
    started = await begin(
        runtime, key, ip=client_ip(request), next_path=next if is_local else "/", invite=storable(invite) or None
    )
    return _url_response(request, runtime, started)


def _url_response(request: Request, runtime: Runtime, started: StartedSignIn) -> Json[AuthorizationUrlResponse]:
    response = Json(AuthorizationUrlResponse(started.url), headers={"Cache-Control": "no-store"})
    set_sign_in_cookie(request, response, runtime, started.browser, comes_back_by_form=started.form_post)
    return response


def _redirect_to_web(request: Request, key: str, status: int) -> Response:
    """Redirect to the web page that finishes the sign-in. 307 preserves the posted form."""
    query = request.url.query
    return RedirectResponse(f"/login/back/{key}?{query}" if query else f"/login/back/{key}", status)


def _provider_response(runtime: Runtime, key: str) -> ProviderResponse:
    provider = runtime.sign_in.providers[key]
    return ProviderResponse(
        provider=key,
        name=provider.name,
        login_url=f"{runtime.accounts.base_url}/login/with/{key}",
        callback_url=callback_url(runtime, provider),
    )

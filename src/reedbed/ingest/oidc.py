"""OpenID Connect client for signing in: provider metadata, signing keys and the authorization code exchange.

Every `SignInRejected` carries one sentence for the log; the user only learns that signing in failed.
"""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode, urlsplit

import orjson

from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed
from reedbed.domain.sign_in import Identity, Provider, challenge_of, identity_of, is_current
from reedbed.domain.times import HOUR, MINUTE, SECOND, Instant
from reedbed.ingest.http.headers import basic_auth
from reedbed.ingest.http.requests import HttpCaller

if TYPE_CHECKING:
    from jwt import PyJWK


# --- Provider metadata


class SignInRejected(Exception):
    """The provider's response is invalid or missing."""


@record
class ProviderMetadata:
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str = ""
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    secret_in_form: bool = False
    names_issuer: bool = False
    """Whether the provider sends its issuer (`iss`) with the redirect back (RFC 9207)."""
    at: Instant = 0


def read_provider_metadata(provider: Provider, document: Mapping[str, Any], now: Instant) -> ProviderMetadata:
    issuer = document.get("issuer")
    if not isinstance(issuer, str) or issuer.rstrip("/") != provider.issuer.rstrip("/"):
        raise SignInRejected(f"{provider.issuer} says that it is {issuer!r}.")
    methods = str(document.get("token_endpoint_auth_methods_supported") or "client_secret_basic")
    return ProviderMetadata(
        issuer=issuer,
        authorization_endpoint=_endpoint(provider, document, "authorization_endpoint", required=True),
        token_endpoint=_endpoint(provider, document, "token_endpoint", required=True),
        jwks_uri=_endpoint(provider, document, "jwks_uri", required=True),
        userinfo_endpoint=_endpoint(provider, document, "userinfo_endpoint"),
        end_session_endpoint=_endpoint(provider, document, "end_session_endpoint"),
        secret_in_form="client_secret_basic" not in methods,
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        at=now,
    )


def _endpoint(provider: Provider, document: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    """Accept plain http only if the issuer itself uses http."""
    url = document.get(name)
    schemes = ("https://",) if provider.issuer.startswith("https://") else ("https://", "http://")
    if isinstance(url, str) and url.startswith(schemes):
        return url
    if required:
        raise SignInRejected(f"{provider.issuer} offers no usable {name}.")
    return ""


def facebook_metadata(provider: Provider) -> ProviderMetadata:
    graph = provider.graph.rpartition("/")[0]
    return ProviderMetadata(
        issuer=provider.issuer,
        authorization_endpoint=f"{provider.issuer}/{urlsplit(graph).path.strip('/')}/dialog/oauth",
        token_endpoint=f"{graph}/oauth/access_token",
    )


# --- Sign-in

MAX_AGE = HOUR
"""How long metadata and keys of a provider are cached."""
KEY_REFRESH_INTERVAL = MINUTE
"""Minimum time between two requests for keys. An unknown key id may be new, but must not cause a flood."""
CLIENT_SECRET_LIFETIME = 5 * MINUTE

# Neither "none" nor algorithms with a shared secret.
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})


@record
class Return:
    """Parameters of the redirect back from the provider, with the values stored before it."""

    code: str = field(repr=False)
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)
    redirect_uri: str
    issuer: str | None = None


@dataclass(slots=True)
class _Keys:
    by_id: "Mapping[str, PyJWK]"
    at: Instant


class OidcClient:
    def __init__(self, http: HttpCaller, clock: Callable[[], Instant]) -> None:
        self._http = http
        self._clock = clock
        self._metadata: dict[str, ProviderMetadata] = {}
        self._keys: dict[str, _Keys] = {}
        self._keys_lock = asyncio.Lock()

    async def close(self) -> None:
        await self._http.close()

    async def address(self, provider: Provider, *, state: str, nonce: str, verifier: str, redirect_uri: str) -> str:
        """The URL to which to send the user to sign in."""
        metadata = await self.offer(provider)
        params = {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": provider.scopes,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        if not provider.graph:
            params["nonce"] = nonce
        if provider.form_post:
            params["response_mode"] = "form_post"
        return _with_query(metadata.authorization_endpoint, params)

    async def identity(self, provider: Provider, back: Return) -> Identity:
        """The identity of the user who came back. Raise `SignInRejected` if anything does not match."""
        metadata = await self.offer(provider)
        if (back.issuer or metadata.names_issuer) and back.issuer != metadata.issuer:
            raise SignInRejected(f"They were sent back by {back.issuer}, not by {metadata.issuer}.")
        tokens = await self._exchange_code(provider, metadata, back)
        if provider.graph:
            return await self._graph_identity(provider, metadata, tokens)
        claims = await self._claims(provider, metadata, tokens, back.nonce)
        if "email" not in claims and metadata.userinfo_endpoint:
            claims = {**await self._userinfo(metadata, tokens, claims["sub"]), **claims}
        user = identity_of(provider, metadata.issuer, claims)
        if user is None:
            raise SignInRejected("The token does not say who it is.")
        return user

    async def logout_url(self, provider: Provider, back_to: str) -> str | None:
        """The URL that logs out at the provider as well; None if it has none."""
        metadata = await self.offer(provider)
        if not metadata.end_session_endpoint:
            return None
        params = {"client_id": provider.client_id, "post_logout_redirect_uri": back_to}
        return _with_query(metadata.end_session_endpoint, params)

    async def offer(self, provider: Provider) -> ProviderMetadata:
        if provider.graph:
            return facebook_metadata(provider)
        cached = self._metadata.get(provider.key)
        if cached is not None and self._clock() - cached.at < MAX_AGE:
            return cached
        url = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        metadata = read_provider_metadata(provider, await self._json(url), self._clock())
        self._metadata[provider.key] = metadata
        return metadata

    async def _exchange_code(self, provider: Provider, metadata: ProviderMetadata, back: Return) -> Mapping[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": back.code,
            "redirect_uri": back.redirect_uri,
            "code_verifier": back.verifier,
            "client_id": provider.client_id,
        }
        secret, headers = self._client_secret(provider), dict[str, str]()
        if secret and (metadata.secret_in_form or provider.signing_key or provider.graph):
            form["client_secret"] = secret
        elif secret:
            client_id, password = quote(provider.client_id, safe=""), quote(secret, safe="")
            headers["Authorization"] = basic_auth(client_id, password)
        return await self._json(metadata.token_endpoint, form=form, headers=headers)

    def _client_secret(self, provider: Provider) -> str:
        key = provider.signing_key
        if key is None:
            return provider.client_secret
        import jwt

        now = self._clock() // SECOND
        claims = {
            "iss": key.team_id,
            "iat": now,
            "exp": now + CLIENT_SECRET_LIFETIME // SECOND,
            "aud": provider.issuer,
            "sub": provider.client_id,
        }
        return jwt.encode(claims, key.private_key, algorithm="ES256", headers={"kid": key.key_id})

    async def _claims(
        self, provider: Provider, metadata: ProviderMetadata, tokens: Mapping[str, Any], nonce: str
    ) -> Mapping[str, Any]:
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise SignInRejected("The provider gave no ID token.")
        claims = await self._signed_claims(provider, metadata, token)
        audience: Any = claims.get("aud")
        audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
        if claims.get("iss") != metadata.issuer:
            raise SignInRejected(f"The token was issued by {claims.get('iss')!r}.")
        if provider.client_id not in audiences:
            raise SignInRejected("The token is for somebody else.")
        if claims.get("azp", provider.client_id) != provider.client_id:
            raise SignInRejected("The token was made for another party.")
        if not is_current(claims, self._clock()):
            raise SignInRejected("The token is not valid at this time.")
        if not hmac.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()):
            raise SignInRejected("The token answers another question (nonce).")
        return claims

    async def _signed_claims(self, provider: Provider, metadata: ProviderMetadata, token: str) -> Mapping[str, Any]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            algorithm = str(header.get("alg"))
            if algorithm not in ALGORITHMS:
                raise SignInRejected(f"The token is signed with {algorithm}.")
            key = await self._key(provider, metadata, header.get("kid"))
            # `_claims` checks times and names itself: on our clock, with a message about what is wrong.
            # PyJWT's annotations leave the key types partially unknown.
            return jwt.decode(  # pyright: ignore[reportUnknownMemberType]
                token,
                key,
                algorithms=[algorithm],
                options={"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False},
            )
        except jwt.PyJWTError as error:
            raise SignInRejected(f"The token is not good: {error}") from error

    async def _key(self, provider: Provider, metadata: ProviderMetadata, key_id: object) -> "PyJWK":
        async with self._keys_lock:
            keys = self._keys.get(provider.key)
            age = None if keys is None else self._clock() - keys.at
            is_unknown = keys is not None and key_id not in keys.by_id
            if keys is None or age is None or age >= MAX_AGE or (age >= KEY_REFRESH_INTERVAL and is_unknown):
                keys = self._keys[provider.key] = await self._fetch_keys(metadata)
        if key_id is None and len(keys.by_id) == 1:
            return next(iter(keys.by_id.values()))
        if key_id not in keys.by_id:
            raise SignInRejected("The token is signed with a key the provider does not show.")
        return keys.by_id[str(key_id)]

    async def _fetch_keys(self, metadata: ProviderMetadata) -> _Keys:
        import jwt

        try:
            key_set = jwt.PyJWKSet.from_dict(dict(await self._json(metadata.jwks_uri)))
        except jwt.PyJWTError as error:
            raise SignInRejected(f"The provider's keys cannot be read: {error}") from error
        usable = [key for key in key_set.keys if key.public_key_use in (None, "sig")]
        return _Keys({key.key_id or "": key for key in usable}, self._clock())

    async def _userinfo(
        self, metadata: ProviderMetadata, tokens: Mapping[str, Any], subject: object
    ) -> Mapping[str, Any]:
        token = tokens.get("access_token")
        if not isinstance(token, str):
            return {}
        claims = await self._json(metadata.userinfo_endpoint, headers={"Authorization": f"Bearer {token}"})
        if claims.get("sub") != subject:
            raise SignInRejected("The provider speaks of somebody else than its token does.")
        return claims

    async def _graph_identity(
        self, provider: Provider, metadata: ProviderMetadata, tokens: Mapping[str, Any]
    ) -> Identity:
        """Facebook does not say whether the email address is confirmed, so it is shown but proves nothing."""
        token = tokens.get("access_token")
        if not isinstance(token, str):
            raise SignInRejected("The provider gave no token.")
        proof = hmac.new(provider.client_secret.encode(), token.encode(), sha256).hexdigest()
        params = {"fields": "id,email", "access_token": token, "appsecret_proof": proof}
        user = await self._json(_with_query(provider.graph, params))
        identity = identity_of(provider, metadata.issuer, {"sub": user.get("id"), "email": user.get("email")})
        if identity is None:
            raise SignInRejected("The provider does not say who it is.")
        return identity

    async def _json(
        self, url: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        response = await self._http.request_document(url, form=form, headers=headers)
        host = urlsplit(url).hostname
        if isinstance(response, Failed):
            raise SignInRejected(response.message)
        document = _parse_object(response.body)
        if response.status != 200 or document is None:
            reason = str((document or {}).get("error", ""))[:100]
            raise SignInRejected(f"{host} answered {response.status} {reason}".strip())
        return document


def _parse_object(body: bytes) -> Mapping[str, Any] | None:
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _with_query(url: str, params: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params)}"

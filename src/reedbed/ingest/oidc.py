"""OpenID Connect, as far as signing in needs it: what a provider offers, its keys, its answer to a code.

Every refusal is one sentence for the log; whoever signs in is told no more than that it did not work.
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


class SignInRefused(Exception):
    """What the provider said cannot be believed, or it said nothing."""


@record
class ProviderMetadata:
    """What a provider offers."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str = ""
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    secret_in_form: bool = False
    names_issuer: bool = False
    """It repeats its name when it sends people back."""
    at: Instant = 0


def read_offer(provider: Provider, said: Mapping[str, Any], now: Instant) -> ProviderMetadata:
    issuer = said.get("issuer")
    if not isinstance(issuer, str) or issuer.rstrip("/") != provider.issuer.rstrip("/"):
        raise SignInRefused(f"{provider.issuer} says that it is {issuer!r}.")
    methods = str(said.get("token_endpoint_auth_methods_supported") or "client_secret_basic")
    return ProviderMetadata(
        issuer=issuer,
        authorization_endpoint=_endpoint(provider, said, "authorization_endpoint", needed=True),
        token_endpoint=_endpoint(provider, said, "token_endpoint", needed=True),
        jwks_uri=_endpoint(provider, said, "jwks_uri", needed=True),
        userinfo_endpoint=_endpoint(provider, said, "userinfo_endpoint"),
        end_session_endpoint=_endpoint(provider, said, "end_session_endpoint"),
        secret_in_form="client_secret_basic" not in methods,
        names_issuer=said.get("authorization_response_iss_parameter_supported") is True,
        at=now,
    )


def _endpoint(provider: Provider, said: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    """Never less guarded than the provider itself."""
    url = said.get(name)
    schemes = ("https://",) if provider.issuer.startswith("https://") else ("https://", "http://")
    if isinstance(url, str) and url.startswith(schemes):
        return url
    if needed:
        raise SignInRefused(f"{provider.issuer} offers no usable {name}.")
    return ""


def facebook_offer(provider: Provider) -> ProviderMetadata:
    graph = provider.graph.rpartition("/")[0]
    return ProviderMetadata(
        issuer=provider.issuer,
        authorization_endpoint=f"{provider.issuer}/{urlsplit(graph).path.strip('/')}/dialog/oauth",
        token_endpoint=f"{graph}/oauth/access_token",
    )


if TYPE_CHECKING:
    from jwt import PyJWK

KEPT = HOUR
"""How long what a provider offers, and its keys, are believed without asking again."""
KEYS_AGAIN = MINUTE
"""A key we do not know may be a new one, but nobody makes us ask more often than this."""
NOTE_LASTS = 5 * MINUTE

# No "none", and nothing that is signed with a shared secret.
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)


@record
class Return:
    """With what a person came back from the provider."""

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
    def __init__(self, exchanger: HttpCaller, clock: Callable[[], Instant]) -> None:
        self._exchanger = exchanger
        self._clock = clock
        self._offers: dict[str, ProviderMetadata] = {}
        self._keys: dict[str, _Keys] = {}
        self._asking = asyncio.Lock()

    async def close(self) -> None:
        await self._exchanger.close()

    async def address(
        self, provider: Provider, *, state: str, nonce: str, verifier: str, redirect_uri: str
    ) -> str:
        """Where to send somebody who wants to sign in."""
        offer = await self.offer(provider)
        asked = {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": provider.scopes,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        if not provider.graph:
            asked["nonce"] = nonce
        if provider.form_post:
            asked["response_mode"] = "form_post"
        return _with_query(offer.authorization_endpoint, asked)

    async def identity(self, provider: Provider, back: Return) -> Identity:
        """Who came back. Raises `SignInRefused` for anything that does not fit."""
        offer = await self.offer(provider)
        if (back.issuer or offer.names_issuer) and back.issuer != offer.issuer:
            raise SignInRefused(f"They were sent back by {back.issuer}, not by {offer.issuer}.")
        tokens = await self._redeem(provider, offer, back)
        if provider.graph:
            return await self._ask_graph(provider, offer, tokens)
        claims = await self._claims(provider, offer, tokens, back.nonce)
        if "email" not in claims and offer.userinfo_endpoint:
            claims = {**await self._userinfo(offer, tokens, claims["sub"]), **claims}
        found = identity_of(provider, offer.issuer, claims)
        if found is None:
            raise SignInRefused("The token does not say who it is.")
        return found

    async def goodbye(self, provider: Provider, back_to: str) -> str | None:
        """Where to log out of the provider as well; None where it offers no such thing."""
        offer = await self.offer(provider)
        if not offer.end_session_endpoint:
            return None
        asked = {"client_id": provider.client_id, "post_logout_redirect_uri": back_to}
        return _with_query(offer.end_session_endpoint, asked)

    async def offer(self, provider: Provider) -> ProviderMetadata:
        if provider.graph:
            return facebook_offer(provider)
        known = self._offers.get(provider.key)
        if known is not None and self._clock() - known.at < KEPT:
            return known
        url = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        offer = read_offer(provider, await self._json(url), self._clock())
        self._offers[provider.key] = offer
        return offer

    async def _redeem(self, provider: Provider, offer: ProviderMetadata, back: Return) -> Mapping[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": back.code,
            "redirect_uri": back.redirect_uri,
            "code_verifier": back.verifier,
            "client_id": provider.client_id,
        }
        secret, headers = self._secret(provider), dict[str, str]()
        if secret and (offer.secret_in_form or provider.signing_key or provider.graph):
            form["client_secret"] = secret
        elif secret:
            name, word = quote(provider.client_id, safe=""), quote(secret, safe="")
            headers["Authorization"] = basic_auth(name, word)
        return await self._json(offer.token_endpoint, form=form, headers=headers)

    def _secret(self, provider: Provider) -> str:
        key = provider.signing_key
        if key is None:
            return provider.client_secret
        import jwt

        now = self._clock() // SECOND
        note = {
            "iss": key.team_id,
            "iat": now,
            "exp": now + NOTE_LASTS // SECOND,
            "aud": provider.issuer,
            "sub": provider.client_id,
        }
        return jwt.encode(note, key.private_key, algorithm="ES256", headers={"kid": key.key_id})

    async def _claims(
        self, provider: Provider, offer: ProviderMetadata, tokens: Mapping[str, Any], nonce: str
    ) -> Mapping[str, Any]:
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise SignInRefused("The provider gave no ID token.")
        claims = await self._signed_claims(provider, offer, token)
        audience: Any = claims.get("aud")
        audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
        if claims.get("iss") != offer.issuer:
            raise SignInRefused(f"The token was issued by {claims.get('iss')!r}.")
        if provider.client_id not in audiences:
            raise SignInRefused("The token is for somebody else.")
        if claims.get("azp", provider.client_id) != provider.client_id:
            raise SignInRefused("The token was made for another party.")
        if not is_current(claims, self._clock()):
            raise SignInRefused("The token is not valid at this time.")
        if not hmac.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()):
            raise SignInRefused("The token answers another question (nonce).")
        return claims

    async def _signed_claims(
        self, provider: Provider, offer: ProviderMetadata, token: str
    ) -> Mapping[str, Any]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            algorithm = str(header.get("alg"))
            if algorithm not in ALGORITHMS:
                raise SignInRefused(f"The token is signed with {algorithm}.")
            key = await self._key(provider, offer, header.get("kid"))
            # Times and names are checked by us: on our clock, with a word on what is wrong.
            # PyJWT's annotation of what it takes leaves the kinds of keys open.
            return jwt.decode(  # pyright: ignore[reportUnknownMemberType]
                token,
                key,
                algorithms=[algorithm],
                options={"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False},
            )
        except jwt.PyJWTError as error:
            raise SignInRefused(f"The token is not good: {error}") from error

    async def _key(self, provider: Provider, offer: ProviderMetadata, key_id: object) -> "PyJWK":
        async with self._asking:
            known = self._keys.get(provider.key)
            age = None if known is None else self._clock() - known.at
            if (
                known is None
                or age is None
                or age >= KEPT
                or (age >= KEYS_AGAIN and key_id not in known.by_id)
            ):
                known = self._keys[provider.key] = await self._fetch_keys(offer)
        if key_id is None and len(known.by_id) == 1:
            return next(iter(known.by_id.values()))
        if key_id not in known.by_id:
            raise SignInRefused("The token is signed with a key the provider does not show.")
        return known.by_id[str(key_id)]

    async def _fetch_keys(self, offer: ProviderMetadata) -> _Keys:
        import jwt

        try:
            shown = jwt.PyJWKSet.from_dict(dict(await self._json(offer.jwks_uri)))
        except jwt.PyJWTError as error:
            raise SignInRefused(f"The provider's keys cannot be read: {error}") from error
        usable = [key for key in shown.keys if key.public_key_use in (None, "sig")]
        return _Keys({key.key_id or "": key for key in usable}, self._clock())

    async def _userinfo(
        self, offer: ProviderMetadata, tokens: Mapping[str, Any], subject: object
    ) -> Mapping[str, Any]:
        token = tokens.get("access_token")
        if not isinstance(token, str):
            return {}
        said = await self._json(offer.userinfo_endpoint, headers={"Authorization": f"Bearer {token}"})
        if said.get("sub") != subject:
            raise SignInRefused("The provider speaks of somebody else than its token does.")
        return said

    async def _ask_graph(
        self, provider: Provider, offer: ProviderMetadata, tokens: Mapping[str, Any]
    ) -> Identity:
        """Facebook tells an address, though not whether it was confirmed: it is shown and proves nothing."""
        token = tokens.get("access_token")
        if not isinstance(token, str):
            raise SignInRefused("The provider gave no token.")
        proof = hmac.new(provider.client_secret.encode(), token.encode(), sha256).hexdigest()
        asked = {"fields": "id,email", "access_token": token, "appsecret_proof": proof}
        said = await self._json(_with_query(provider.graph, asked))
        found = identity_of(provider, offer.issuer, {"sub": said.get("id"), "email": said.get("email")})
        if found is None:
            raise SignInRefused("The provider does not say who it is.")
        return found

    async def _json(
        self, url: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        answer = await self._exchanger.inquire(url, form=form, headers=headers)
        host = urlsplit(url).hostname
        if isinstance(answer, Failed):
            raise SignInRefused(answer.message)
        said = _object(answer.body)
        if answer.status != 200 or said is None:
            reason = str((said or {}).get("error", ""))[:100]
            raise SignInRefused(f"{host} answered {answer.status} {reason}".strip())
        return said


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        said: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", said) if isinstance(said, dict) else None


def _with_query(url: str, params: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params)}"

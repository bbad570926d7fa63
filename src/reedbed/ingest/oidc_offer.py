"""What a sign-in provider offers, read from what it says of itself."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from reedbed.domain.identities import Provider
from reedbed.domain.records import record
from reedbed.domain.times import Instant


class SignInRefused(Exception):
    """What the provider said cannot be believed, or it said nothing."""


@record
class Metadata:
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


def read_offer(provider: Provider, said: Mapping[str, Any], now: Instant) -> Metadata:
    issuer = said.get("issuer")
    if not isinstance(issuer, str) or issuer.rstrip("/") != provider.issuer.rstrip("/"):
        raise SignInRefused(f"{provider.issuer} says that it is {issuer!r}.")
    methods = str(said.get("token_endpoint_auth_methods_supported") or "client_secret_basic")
    return Metadata(
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


def facebook_offer(provider: Provider) -> Metadata:
    graph = provider.graph.rpartition("/")[0]
    return Metadata(
        issuer=provider.issuer,
        authorization_endpoint=f"{provider.issuer}/{urlsplit(graph).path.strip('/')}/dialog/oauth",
        token_endpoint=f"{graph}/oauth/access_token",
    )

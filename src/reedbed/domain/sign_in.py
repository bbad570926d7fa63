"""Signing in with external identity providers: OpenID Connect and Facebook."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from reedbed.domain.email import known_as
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, Instant, Millis

LASTS: Millis = 15 * MINUTE
"""Time limit for a sign-in."""
LEEWAY: Millis = MINUTE
"""Allowed clock difference."""
MAX_SUBJECT_LENGTH = 255

_TRUE = (True, "true")  # Apple sends it as text


@record
class SigningKey:
    """For providers that require a signed JWT as client secret."""

    team_id: str
    key_id: str
    private_key: str = field(repr=False)


@record
class Provider:
    """An identity provider that the operator has configured."""

    key: str
    """oidc, google, apple or facebook; part of our URLs."""
    name: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid email profile"
    form_post: bool = False
    """It returns with a form POST instead of a redirect."""
    signing_key: SigningKey | None = None
    graph: str = ""
    """Set for Facebook, which has no OpenID Connect: the URL of the API that returns the user."""


@record
class Identity:
    """A user's identity as confirmed by a provider."""

    provider: str
    issuer: str
    subject: str
    email: str = ""
    email_verified: bool = False


@record
class LinkedIdentity:
    id: int
    user_id: int
    provider: str
    email: str
    created_at: Instant
    last_used_at: Instant | None


@record
class SignIn:
    """A sign-in that is in progress."""

    provider: str
    browser_hash: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    next_path: str = "/"
    invite: str | None = field(default=None, repr=False)
    user_id: int | None = None
    """Set if a logged-in user links an external account."""
    identity: Identity | None = None


def challenge_of(verifier: str) -> str:
    """The PKCE challenge (S256)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def identity_of(provider: Provider, issuer: str, claims: Mapping[str, Any]) -> Identity | None:
    """The identity in the claims; None if they contain no valid subject."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.isprintable():
        return None
    if not 0 < len(subject) <= MAX_SUBJECT_LENGTH:
        return None
    email = claims.get("email")
    email_address = known_as(email) if isinstance(email, str) else ""
    verified = bool(email_address) and claims.get("email_verified") in _TRUE
    return Identity(provider.key, issuer, subject, email_address, verified)


def is_current(claims: Mapping[str, Any], now: Instant) -> bool:
    """Whether the token is already valid and not expired."""
    expires, issued, not_before = claims.get("exp"), claims.get("iat"), claims.get("nbf", 0)
    times = (expires, issued, not_before)
    if not all(isinstance(time, int | float) and 0 <= time < 1e11 for time in times):
        return False
    assert expires is not None and issued is not None
    return expires * 1000 > now - LEEWAY and issued * 1000 < now + LEEWAY and not_before * 1000 < now + LEEWAY


@record
class ProxyUser:
    """Who has logged in at the portal in front of this server, as the portal says."""

    email: str
    groups: frozenset[str] = frozenset()

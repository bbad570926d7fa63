"""Signing in by others: who vouches for a person, what they say, and what it is good for."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from reedbed.domain.email import known_as
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, Instant, Millis

LASTS: Millis = 15 * MINUTE
"""From the button to the end of a sign-in."""
LEEWAY: Millis = MINUTE
"""How far two clocks may be apart."""
MAX_SUBJECT_LENGTH = 255

_TRUE = (True, "true")  # Apple writes it as text


@record
class SigningKey:
    """For providers that want a signed note instead of a secret."""

    team_id: str
    key_id: str
    private_key: str = field(repr=False)


@record
class Provider:
    """One who vouches for people, as the operator has set it up."""

    key: str
    """oidc, google, apple or facebook: a word of our addresses."""
    name: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid email profile"
    form_post: bool = False
    """It comes back with a form instead of a link."""
    signing_key: SigningKey | None = None
    graph: str = ""
    """Set: no OpenID Connect, but Facebook's own way, with this address to ask who it was."""


@record
class Identity:
    """Who somebody is elsewhere, as a provider has just said it."""

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
    """One that is under way."""

    provider: str
    browser_hash: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    next_path: str = "/"
    invite: str | None = field(default=None, repr=False)
    user_id: int | None = None
    """Set: this user wants to link an account elsewhere."""
    identity: Identity | None = None


def challenge_of(verifier: str) -> str:
    """PKCE, S256."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def identity_of(provider: Provider, issuer: str, claims: Mapping[str, Any]) -> Identity | None:
    """What the claims come to; None when they do not say who it is."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.isprintable():
        return None
    if not 0 < len(subject) <= MAX_SUBJECT_LENGTH:
        return None
    email = claims.get("email")
    address = known_as(email) if isinstance(email, str) else ""
    verified = bool(address) and claims.get("email_verified") in _TRUE
    return Identity(provider.key, issuer, subject, address, verified)


def is_current(claims: Mapping[str, Any], now: Instant) -> bool:
    """Made a short while ago and not over yet, by our clock."""
    expires, issued, not_before = claims.get("exp"), claims.get("iat"), claims.get("nbf", 0)
    moments = (expires, issued, not_before)
    if not all(isinstance(moment, int | float) and 0 <= moment < 1e11 for moment in moments):
        return False
    assert expires is not None and issued is not None
    return expires * 1000 > now - LEEWAY and issued * 1000 < now + LEEWAY and not_before * 1000 < now + LEEWAY

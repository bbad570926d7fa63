"""Sharing entries to link-saving services: the supported services and the requests to send to them.

Wallabag needs a login before each link; the others take a token. The requests are only built here, not sent.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlencode

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import MAX_URL_LENGTH, normalize_url

MAX_NAME = 100
MAX_SECRET = 2_000


class Kind(StrEnum):
    WALLABAG = "wallabag"
    READECK = "readeck"
    LINKDING = "linkding"
    KARAKEEP = "karakeep"


NAMES = {Kind.WALLABAG: "Wallabag", Kind.READECK: "Readeck", Kind.LINKDING: "Linkding", Kind.KARAKEEP: "Karakeep"}
_TOKEN_ONLY = ("token",)
FIELDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.WALLABAG: ("client_id", "client_secret", "username", "password"),
    Kind.READECK: _TOKEN_ONLY,
    Kind.LINKDING: _TOKEN_ONLY,
    Kind.KARAKEEP: _TOKEN_ONLY,
}
"""The credentials that each service needs."""


@record
class ShareTarget:
    id: int
    user_id: int
    kind: Kind
    name: str
    url: str
    secrets: Mapping[str, str] = field(repr=False)
    """Empty if they cannot be decrypted with the current key."""
    created_at: Instant
    used_at: Instant | None
    problem: Failure | None
    """Why the last link was rejected; None if it was accepted."""


@record
class ShareLink:
    url: str
    title: str
    tags: tuple[str, ...] = ()


@record
class ShareCall:
    """A POST request to send."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def read_kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        raise Invalid("Choose one of: %(choices)s.", field="kind", choices=", ".join(Kind)) from None


def check_name(name: str, kind: Kind) -> str:
    clean_name = " ".join(storable(name).split()) or NAMES[kind]
    if len(clean_name) > MAX_NAME:
        raise Invalid("The name must have at most %(limit)s characters.", field="name", limit=MAX_NAME)
    return clean_name


def check_url(url: str) -> str:
    """The base URL of the service without a trailing slash; it may include a path."""
    clean_url = storable(url).strip().rstrip("/")
    if len(clean_url) > MAX_URL_LENGTH or normalize_url(clean_url) is None or "?" in clean_url or "#" in clean_url:
        raise Invalid("The address of the service starts with http:// or https://", field="url")
    return clean_url


def check_secrets(kind: Kind, submitted: Mapping[str, str]) -> dict[str, str]:
    """Exactly the credentials that this kind needs; characters that no header can carry are rejected."""
    secrets = {name: submitted.get(name, "").strip() for name in FIELDS[kind]}
    for name, value in secrets.items():
        if not value or len(value) > MAX_SECRET or not value.isprintable():
            raise Invalid("%(service)s needs a %(name)s.", field=name, service=NAMES[kind], name=name.replace("_", " "))
    return secrets


def login_call(target: ShareTarget) -> ShareCall | None:
    """The login call to send first; None if the service takes a token."""
    if target.kind is not Kind.WALLABAG:
        return None
    body = urlencode({"grant_type": "password", **target.secrets}).encode()
    return ShareCall(f"{target.url}/oauth/v2/token", {"Content-Type": "application/x-www-form-urlencoded"}, body)


def token_in(response: bytes) -> str | None:
    """The access token of a login response."""
    try:
        fields: object = json.loads(response)
    except ValueError:
        return None
    token = cast(dict[str, object], fields).get("access_token") if isinstance(fields, dict) else None
    return token if isinstance(token, str) and 0 < len(token) <= MAX_SECRET and token.isprintable() else None


def save_call(target: ShareTarget, link: ShareLink, token: str) -> ShareCall:
    path, scheme, body = _REQUESTS[target.kind](link)
    headers = {"Authorization": f"{scheme} {token}", "Content-Type": "application/json", "Accept": "application/json"}
    return ShareCall(f"{target.url}{path}", headers, json.dumps(body, ensure_ascii=False).encode())


def _wallabag(link: ShareLink) -> tuple[str, str, dict[str, Any]]:
    tags = {"tags": ",".join(tag.replace(",", " ") for tag in link.tags)} if link.tags else {}
    return "/api/entries.json", "Bearer", {"url": link.url, "title": link.title, **tags}


def _readeck(link: ShareLink) -> tuple[str, str, dict[str, Any]]:
    return "/api/bookmarks", "Bearer", {"url": link.url, "title": link.title, "labels": list(link.tags)}


def _linkding(link: ShareLink) -> tuple[str, str, dict[str, Any]]:
    tags = ["-".join(tag.split()) for tag in link.tags]
    return "/api/bookmarks/", "Token", {"url": link.url, "title": link.title, "tag_names": tags}


def _karakeep(link: ShareLink) -> tuple[str, str, dict[str, Any]]:
    return "/api/v1/bookmarks", "Bearer", {"type": "link", "url": link.url, "title": link.title}


_REQUESTS = {Kind.WALLABAG: _wallabag, Kind.READECK: _readeck, Kind.LINKDING: _linkding, Kind.KARAKEEP: _karakeep}

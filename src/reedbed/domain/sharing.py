"""Services that keep links, and how each wants to be told of one. Nothing is sent here.

Wallabag wants a login before each link; the others take a token.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlencode

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import MAX_ADDRESS, normalize_url

MAX_NAME = 100
MAX_SECRET = 2_000


class Kind(StrEnum):
    WALLABAG = "wallabag"
    READECK = "readeck"
    LINKDING = "linkding"
    KARAKEEP = "karakeep"


NAMES = {
    Kind.WALLABAG: "Wallabag",
    Kind.READECK: "Readeck",
    Kind.LINKDING: "Linkding",
    Kind.KARAKEEP: "Karakeep",
}
_TOKEN = ("token",)
FIELDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.WALLABAG: ("client_id", "client_secret", "username", "password"),
    Kind.READECK: _TOKEN,
    Kind.LINKDING: _TOKEN,
    Kind.KARAKEEP: _TOKEN,
}
"""What each needs to let us in."""


@record
class ShareTarget:
    id: int
    user_id: int
    kind: Kind
    name: str
    url: str
    secrets: Mapping[str, str] = field(repr=False)
    """Empty: encrypted with a key that is not here."""
    created_at: Instant
    used_at: Instant | None
    problem: str
    """Why the last link was not taken; empty if it was."""


@record
class ShareLink:
    url: str
    title: str
    tags: tuple[str, ...] = ()


@record
class ShareCall:
    """A POST that is to be made."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def read_kind(word: str) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise Invalid(f"Choose one of: {', '.join(Kind)}.", field="kind") from None


def check_name(name: str, kind: Kind) -> str:
    shown = " ".join(storable(name).split()) or NAMES[kind]
    if len(shown) > MAX_NAME:
        raise Invalid(f"The name must have at most {MAX_NAME} characters.", field="name")
    return shown


def check_url(url: str) -> str:
    """Where the service is, without a slash at its end; it may live below a path."""
    tidy = storable(url).strip().rstrip("/")
    if len(tidy) > MAX_ADDRESS or normalize_url(tidy) is None or "?" in tidy or "#" in tidy:
        raise Invalid("The address of the service starts with http:// or https://", field="url")
    return tidy


def check_secrets(kind: Kind, given: Mapping[str, str]) -> dict[str, str]:
    """Everything this kind needs and nothing else; signs that no header can carry are refused."""
    known = {name: given.get(name, "").strip() for name in FIELDS[kind]}
    for name, value in known.items():
        if not value or len(value) > MAX_SECRET or not value.isprintable():
            raise Invalid(f"{NAMES[kind]} needs a {name.replace('_', ' ')}.", field=name)
    return known


def login_call(target: ShareTarget) -> ShareCall | None:
    """What has to be asked first; None where a token is all it takes."""
    if target.kind is not Kind.WALLABAG:
        return None
    body = urlencode({"grant_type": "password", **target.secrets}).encode()
    return ShareCall(
        f"{target.url}/oauth/v2/token", {"Content-Type": "application/x-www-form-urlencoded"}, body
    )


def token_in(answer: bytes) -> str | None:
    """The token that a login was answered with."""
    try:
        said: object = json.loads(answer)
    except ValueError:
        return None
    token = cast(dict[str, object], said).get("access_token") if isinstance(said, dict) else None
    return token if isinstance(token, str) and 0 < len(token) <= MAX_SECRET and token.isprintable() else None


def save_call(target: ShareTarget, link: ShareLink, token: str) -> ShareCall:
    path, scheme, body = _SAYS[target.kind](link)
    headers = {
        "Authorization": f"{scheme} {token}",
        "Content-Type": "application/json",
        "Accept": "application/json",
    }
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


_SAYS = {
    Kind.WALLABAG: _wallabag,
    Kind.READECK: _readeck,
    Kind.LINKDING: _linkding,
    Kind.KARAKEEP: _karakeep,
}

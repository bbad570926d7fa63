"""The table of services: what each asks its user for, and which requests save a link or send a message there.

A request is a template. `{name}` in an address, a header or a text stands for a value: the user's fields, what an
earlier step has read, or the link (`link_values` in `calls`). A text that is one placeholder alone takes the value
as it is (a list of tags stays a list). Fields of a body whose value is empty are left out.

A new service is a new row here, and a stand-in in `tests/bookmark_services.py`. An operator can add others by
files (`domain/recipes/files.py`) and plugins; their kinds have a prefix.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from reedbed.domain.records import record
from reedbed.domain.users import Allowance


class Kind(StrEnum):
    WALLABAG = "wallabag"
    READECK = "readeck"
    LINKDING = "linkding"
    KARAKEEP = "karakeep"
    LINKWARDEN = "linkwarden"
    LINKACE = "linkace"
    SHAARLI = "shaarli"
    SHIORI = "shiori"
    RAINDROP = "raindrop"
    PINBOARD = "pinboard"
    INSTAPAPER = "instapaper"
    READWISE = "readwise"
    NOTION = "notion"
    NTFY = "ntfy"
    GOTIFY = "gotify"
    PUSHOVER = "pushover"
    APPRISE = "apprise"
    TELEGRAM = "telegram"
    MATRIX = "matrix"
    DISCORD = "discord"
    SLACK = "slack"
    MATTERMOST = "mattermost"
    TEMPLATE = "template"


class Purpose(StrEnum):
    SAVE = "save"
    """It saves links; each entry is sent in a request of its own."""
    TELL = "tell"
    """It shows a message to people; several entries can be one message."""


@record
class ServiceField:
    """Something that the user has to know about the service."""

    name: str
    secret: bool = True
    required: bool = True
    label: str = ""
    """What the form calls it; empty: by its name, translated."""


@record
class Call:
    method: str
    address: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    json: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None


@record
class ServiceStep:
    call: Call
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Values for later steps: by name, the path to it in the JSON of the answer."""
    is_login: bool = False
    accepted: tuple[int, ...] = ()
    """Statuses that are fine, besides 2xx."""
    optional: bool = False
    """If it fails, the values stay as they are."""
    only_with: str = ""
    """Left out if this value is empty."""
    ends_with: str = ""
    """If this value was read and is not empty, nothing is left to do."""


@record
class Service:
    name: str
    purpose: Purpose
    fields: tuple[ServiceField, ...]
    steps: tuple[ServiceStep, ...] = ()
    """None: its user writes the request."""
    address: str = ""
    """Where the service is; empty if each user has one of their own."""
    origin_of: str = ""
    """The field with a secret address whose origin is the address of the service."""
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    allowance: Allowance = Allowance(30, 0.5)
    max_title: int = 500
    max_text: int = 2_000

    @property
    def takes_messages(self) -> bool:
        """Whether it can get messages about digests and feeds that stop."""
        return self.purpose is Purpose.TELL or not self.steps


_TOKEN = (ServiceField("token"),)
_BEARER = {"Authorization": "Bearer {token}"}
_SAVED_ALREADY = (409,)
_NOTE = "{note}"


def _save(name: str, fields: tuple[ServiceField, ...], *steps: ServiceStep, **more: Any) -> Service:
    return Service(name, Purpose.SAVE, fields, steps, **more)


def _tell(name: str, fields: tuple[ServiceField, ...], *steps: ServiceStep, **more: Any) -> Service:
    return Service(name, Purpose.TELL, fields, steps, **more)


def _post(address: str, json: Mapping[str, Any], headers: Mapping[str, str] = _BEARER) -> Call:
    return Call("POST", address, headers, json)


def _saving(address: str, json: Mapping[str, Any], headers: Mapping[str, str] = _BEARER, **more: Any) -> ServiceStep:
    return ServiceStep(_post(address, json, headers), accepted=_SAVED_ALREADY, **more)


SERVICES: Mapping[str, Service] = {
    Kind.WALLABAG: _save(
        "Wallabag",
        (
            ServiceField("client_id", secret=False),
            ServiceField("client_secret"),
            ServiceField("username", secret=False),
            ServiceField("password"),
        ),
        ServiceStep(
            Call(
                "POST",
                "{address}/oauth/v2/token",
                form={
                    "grant_type": "password",
                    "client_id": "{client_id}",
                    "client_secret": "{client_secret}",
                    "username": "{username}",
                    "password": "{password}",
                },
            ),
            reads={"token": ("access_token",)},
            is_login=True,
        ),
        _saving("{address}/api/entries.json", {"url": "{url}", "title": "{title}", "tags": "{tags_by_comma}"}),
    ),
    Kind.READECK: _save(
        "Readeck", _TOKEN, _saving("{address}/api/bookmarks", {"url": "{url}", "title": "{title}", "labels": "{tags}"})
    ),
    Kind.LINKDING: _save(
        "Linkding",
        _TOKEN,
        _saving(
            "{address}/api/bookmarks/",
            {"url": "{url}", "title": "{title}", "tag_names": "{tags_as_words}"},
            {"Authorization": "Token {token}"},
        ),
    ),
    Kind.KARAKEEP: _save(
        "Karakeep",
        _TOKEN,
        _saving(
            "{address}/api/v1/bookmarks",
            {"type": "link", "url": "{url}", "title": "{title}"},
            reads={"bookmark": ("id",)},
        ),
        ServiceStep(
            _post("{address}/api/v1/bookmarks/{bookmark}/tags", {"tags": "{tags_with_tag_names}"}),
            only_with="tags_with_tag_names",
        ),
    ),
    Kind.LINKWARDEN: _save(
        "Linkwarden",
        (*_TOKEN, ServiceField("collection", secret=False, required=False)),
        _saving(
            "{address}/api/v1/links",
            {"url": "{url}", "name": "{title}", "tags": "{tags_with_names}", "collection": {"id": "{collection:int}"}},
        ),
    ),
    Kind.LINKACE: _save(
        "LinkAce", _TOKEN, _saving("{address}/api/v2/links", {"url": "{url}", "title": "{title}", "tags": "{tags}"})
    ),
    Kind.SHAARLI: _save(
        "Shaarli",
        _TOKEN,
        _saving(
            "{address}/api/v1/links",
            {"url": "{url}", "title": "{title}", "tags": "{tags_as_words}"},
            {"Authorization": "Bearer {signed_token}"},
        ),
    ),
    Kind.SHIORI: _save(
        "Shiori",
        (ServiceField("username", secret=False), ServiceField("password")),
        ServiceStep(
            Call(
                "POST",
                "{address}/api/v1/auth/login",
                json={"username": "{username}", "password": "{password}", "remember_me": False},
            ),
            reads={"token": ("message", "token")},
            is_login=True,
        ),
        _saving("{address}/api/bookmarks", {"url": "{url}", "title": "{title}", "tags": "{tags_with_names}"}),
    ),
    Kind.RAINDROP: _save(
        "Raindrop.io",
        (*_TOKEN, ServiceField("collection", secret=False, required=False)),
        _saving(
            "{address}/rest/v1/raindrop",
            {"link": "{url}", "title": "{title}", "tags": "{tags}", "collection": {"$id": "{collection:int}"}},
        ),
        address="https://api.raindrop.io",
        allowance=Allowance(60, 2),
    ),
    Kind.PINBOARD: _save(
        "Pinboard",
        _TOKEN,
        # A link that is added again loses the notes that its owner has written.
        ServiceStep(
            Call("GET", "{address}/v1/posts/get?format=json&auth_token={token}&url={url}"),
            reads={"known": ("posts",)},
            ends_with="known",
        ),
        ServiceStep(
            Call(
                "GET",
                "{address}/v1/posts/add?format=json&auth_token={token}&url={url}&description={title}"
                "&tags={tags_by_space}&toread=yes&shared=no",
            )
        ),
        address="https://api.pinboard.in",
        allowance=Allowance(2, 1 / 6),
    ),
    Kind.INSTAPAPER: _save(
        "Instapaper",
        (ServiceField("username", secret=False), ServiceField("password", required=False)),
        ServiceStep(
            Call(
                "POST",
                "{address}/api/add",
                {"Authorization": "Basic {basic}"},
                form={"url": "{url}", "title": "{title}"},
            )
        ),
        address="https://www.instapaper.com",
    ),
    Kind.READWISE: _save(
        "Readwise Reader",
        _TOKEN,
        _saving(
            "{address}/api/v3/save/",
            {"url": "{url}", "title": "{title}", "tags": "{tags}"},
            {"Authorization": "Token {token}"},
        ),
        address="https://readwise.io",
        allowance=Allowance(20, 0.8),
    ),
    Kind.NOTION: _save(
        "Notion",
        (*_TOKEN, ServiceField("page", secret=False)),
        ServiceStep(
            Call(
                "PATCH",
                "{address}/v1/blocks/{page}/children",
                {**_BEARER, "Notion-Version": "2022-06-28"},
                {
                    "children": [
                        {
                            "object": "block",
                            "type": "bookmark",
                            "bookmark": {"url": "{url}", "caption": [{"type": "text", "text": {"content": "{title}"}}]},
                        }
                    ]
                },
            )
        ),
        address="https://api.notion.com",
        allowance=Allowance(10, 2),
    ),
    Kind.NTFY: _tell(
        "ntfy",
        (ServiceField("topic", secret=False), ServiceField("token", required=False)),
        ServiceStep(
            _post(
                "{address}/",
                {"topic": "{topic}", "title": "{title}", "message": "{text}", "click": "{url}"},
                {"Authorization": "{bearer}"},
            )
        ),
        defaults={"address": "https://ntfy.sh"},
    ),
    Kind.GOTIFY: _tell(
        "Gotify",
        _TOKEN,
        ServiceStep(
            _post(
                "{address}/message",
                {
                    "title": "{title}",
                    "message": "{text}",
                    "priority": 5,
                    "extras": {"client::notification": {"click": {"url": "{url}"}}},
                },
                {"X-Gotify-Key": "{token}"},
            )
        ),
    ),
    Kind.PUSHOVER: _tell(
        "Pushover",
        (ServiceField("token"), ServiceField("user")),
        ServiceStep(
            _post(
                "{address}/1/messages.json",
                {"token": "{token}", "user": "{user}", "title": "{title}", "message": "{text}", "url": "{url}"},
                {},
            )
        ),
        address="https://api.pushover.net",
        max_title=250,
        max_text=1_000,
    ),
    Kind.APPRISE: _tell(
        "Apprise",
        (ServiceField("key", required=False), ServiceField("urls", required=False)),
        ServiceStep(_post("{address}/notify/{key}", {"urls": "{urls}", "title": "{title}", "body": _NOTE}, {})),
    ),
    Kind.TELEGRAM: _tell(
        "Telegram",
        (
            ServiceField("token"),
            ServiceField("chat", secret=False),
            ServiceField("thread", secret=False, required=False),
        ),
        ServiceStep(
            _post(
                "{address}/bot{token:address}/sendMessage",
                {"chat_id": "{chat}", "message_thread_id": "{thread:int}", "text": "{title}\n{note}"},
                {},
            )
        ),
        address="https://api.telegram.org",
        allowance=Allowance(10, 0.3),
        max_text=3_000,
    ),
    Kind.MATRIX: _tell(
        "Matrix",
        (ServiceField("token"), ServiceField("room", secret=False)),
        ServiceStep(
            Call("GET", "{address}/.well-known/matrix/client"),
            reads={"address": ("m.homeserver", "base_url")},
            optional=True,
        ),
        ServiceStep(
            Call(
                "PUT",
                "{address}/_matrix/client/v3/rooms/{room}/send/m.room.message/{unique}",
                _BEARER,
                {
                    "msgtype": "m.notice",
                    "body": "{title}\n{note}",
                    "format": "org.matrix.custom.html",
                    "formatted_body": "{html}",
                },
            )
        ),
    ),
    Kind.DISCORD: _tell(
        "Discord",
        (ServiceField("webhook"),),
        ServiceStep(
            _post("{webhook:address}", {"embeds": [{"title": "{title}", "url": "{url}", "description": "{text}"}]}, {})
        ),
        origin_of="webhook",
        allowance=Allowance(5, 0.4),
        max_title=256,
    ),
    Kind.SLACK: _tell(
        "Slack",
        (ServiceField("webhook"),),
        ServiceStep(_post("{webhook:address}", {"text": "{mrkdwn}"}, {})),
        origin_of="webhook",
        allowance=Allowance(5, 1),
    ),
    Kind.MATTERMOST: _tell(
        "Mattermost",
        (ServiceField("webhook"),),
        ServiceStep(_post("{webhook:address}", {"text": "{markdown}"}, {})),
        origin_of="webhook",
    ),
    Kind.TEMPLATE: _save(
        "Template",
        (
            ServiceField("method", secret=False),
            ServiceField("webhook"),
            ServiceField("headers", required=False),
            ServiceField("body", required=False),
        ),
        origin_of="webhook",
    ),
}

MISSING = Service("", Purpose.SAVE, ())
"""Placeholder for a service whose file or plugin is missing or wrong."""

"""A user's services: what they have entered, and whether it can work."""

import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.sharing.services import MISSING, SERVICES, Kind, Service
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import MAX_URL_LENGTH, normalize_url

MAX_NAME = 100
MAX_SECRET = 2_000
MAX_TEMPLATE = 20_000
METHODS = ("POST", "PUT", "PATCH", "GET")
TEMPLATE_VALUES = frozenset({"url", "title", "tags", "text", "summary", "feed", "note"})
"""What a template of one's own can use."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+$")


@record
class ShareTarget:
    id: int
    user_id: int
    kind: str
    """A built-in `Kind`, or one from the operator's recipes and plugins."""
    name: str
    url: str
    secrets: Mapping[str, str] = field(repr=False)
    """The values of its fields; empty if it cannot be decrypted with the current key."""
    created_at: Instant
    used_at: Instant | None
    problem: Failure | None
    """Why the last link was rejected; None if it was accepted."""
    digests: bool = False
    """It gets a message for each new digest."""
    stopped_feeds: bool = False
    """It gets a message for each feed that stops."""
    connector: Service = MISSING
    """The service of a recipe or plugin, while the operator has it."""

    @property
    def service(self) -> Service:
        return SERVICES.get(self.kind, self.connector)


def find_service(kind: str, connectors: Mapping[str, Service]) -> Service:
    """The service of this kind, built in or among the operator's connectors."""
    service = SERVICES.get(kind) or connectors.get(kind)
    if service is None:
        raise Invalid("Choose one of: %(choices)s.", field="kind", choices=", ".join((*SERVICES, *connectors)))
    return service


def check_name(name: str, service: Service) -> str:
    clean_name = " ".join(storable(name).split()) or service.name
    if len(clean_name) > MAX_NAME:
        raise Invalid("The name must have at most %(limit)s characters.", field="name", limit=MAX_NAME)
    return clean_name


def check_url(service: Service, url: str, secrets: Mapping[str, str]) -> str:
    """The base URL of the service without a trailing slash; it may include a path.

    If the address itself is the secret, only its origin, which can be shown.
    """
    if service.origin_of:
        parts = urlsplit(_checked_address(secrets[service.origin_of], service.origin_of))
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    clean_url = storable(url).strip().rstrip("/") or service.address or service.defaults.get("address", "")
    _checked_address(clean_url, "url")
    if "?" in clean_url or "#" in clean_url:
        raise Invalid("The address of the service starts with http:// or https://", field="url")
    return clean_url


def check_secrets(kind: str, service: Service, submitted: Mapping[str, str]) -> dict[str, str]:
    """The fields that this kind needs; characters that no header can carry are rejected."""
    if kind == Kind.TEMPLATE:
        return _checked_template(submitted)
    secrets = {one.name: submitted.get(one.name, "").strip() for one in service.fields}
    for one in service.fields:
        value = secrets[one.name]
        if (not value and one.required) or len(value) > MAX_SECRET or not value.isprintable():
            name = one.name.replace("_", " ")
            raise Invalid("%(service)s needs a %(name)s.", field=one.name, service=service.name, name=name)
    return {name: value for name, value in secrets.items() if value}


def header_lines(text: str) -> dict[str, str]:
    """`Name: value`, one on a line."""
    lines = [line.partition(":") for line in text.splitlines() if line.strip()]
    return {name.strip(): value.strip() for name, _, value in lines}


def _checked_address(address: str, name: str) -> str:
    if len(address) > MAX_URL_LENGTH or normalize_url(address) is None:
        raise Invalid("The address of the service starts with http:// or https://", field=name)
    return address


def _checked_template(submitted: Mapping[str, str]) -> dict[str, str]:
    fields = {name: storable(submitted.get(name, "")).strip() for name in ("webhook", "headers", "body")}
    fields["method"] = submitted.get("method", "").strip().upper() or "POST"
    if fields["method"] not in METHODS:
        raise Invalid("Choose one of: %(choices)s.", field="method", choices=", ".join(METHODS))
    if sum(map(len, fields.values())) > MAX_TEMPLATE:
        raise Invalid("A template may have at most %(limit)s characters.", field="body", limit=MAX_TEMPLATE)
    _checked_address(_PLACEHOLDER.sub("x", fields["webhook"]), "webhook")
    if _PLACEHOLDER.search(urlsplit(fields["webhook"]).netloc):
        raise Invalid("The name of the server cannot be filled in.", field="webhook")
    for name, value in header_lines(fields["headers"]).items():
        if not HEADER.match(name) or not value.isprintable() or not value.isascii():
            raise Invalid("Write each header on a line of its own, as Name: value.", field="headers")
    for name in ("webhook", "headers", "body"):
        for used in _PLACEHOLDER.findall(fields[name]):
            if used not in TEMPLATE_VALUES:
                raise Invalid(
                    "There is no {%(name)s}. There are: %(choices)s.",
                    field=name,
                    name=used,
                    choices=", ".join(f"{{{value}}}" for value in sorted(TEMPLATE_VALUES)),
                )
    return {name: value for name, value in fields.items() if value}

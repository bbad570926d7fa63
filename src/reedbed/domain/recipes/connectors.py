"""Recipes of connectors: a service as in the table of `domain/sharing/services.py`, from a file."""

import re
from collections.abc import Mapping
from typing import Any, cast

from reedbed.domain.errors import Invalid
from reedbed.domain.recipes.tables import FileTable
from reedbed.domain.recipes.values import ConnectorRecipe
from reedbed.domain.sharing.services import Call, Purpose, Service, ServiceField, ServiceStep
from reedbed.domain.sharing.targets import HEADER, METHODS, TEMPLATE_VALUES
from reedbed.domain.urls import normalize_url
from reedbed.domain.users import Allowance

VALUES = TEMPLATE_VALUES | {
    "address", "basic", "bearer", "html", "markdown", "mrkdwn", "unique",
    "tags_as_words", "tags_by_comma", "tags_by_space", "tags_with_names", "tags_with_tag_names",
}  # fmt: skip
"""What every template can name, besides the fields and what an earlier step has read."""
MAX_FIELDS = 10
MAX_STEPS = 5
MAX_TEMPLATE = 4_000
_NAME = r"[a-z][a-z0-9_]{0,39}"
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_FORMS = (None, "int", "address")
_SERVER = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/|$)")


def read_connector(table: FileTable) -> ConnectorRecipe | None:
    name = table.text("name", limit=100, required=True)
    purpose = table.choice("purpose", tuple(Purpose), required=True)
    address, default_address = (_read_address(table, key) for key in ("address", "default_address"))
    fields = read_fields(table)
    origin_of = table.text("address_field")
    if origin_of and origin_of not in [one.name for one in fields]:
        table.wrong("address_field", Invalid("This must be the name of one of the fields."))
    limits = table.table("limits")
    burst = limits.number("burst", 1, 1_000, otherwise=30)
    per_second = limits.number("per_second", 0.001, 100, otherwise=0.5)
    limits.end()
    max_text = int(table.number("max_text", 10, 100_000, otherwise=2_000))
    known = VALUES | {one.name for one in fields}
    steps: list[ServiceStep] = []
    for one in table.tables("steps", most=MAX_STEPS, required=True):
        step = _read_step(one, known, origin_of)
        known |= set(step.reads)
        steps.append(step)
    table.end()
    if table.problems:
        return None
    return ConnectorRecipe(
        Service(
            name,
            Purpose(purpose),
            fields,
            tuple(steps),
            address=address,
            origin_of=origin_of,
            defaults={"address": default_address} if default_address else {},
            allowance=Allowance(int(burst), per_second),
            max_text=max_text,
        )
    )


def read_fields(table: FileTable) -> tuple[ServiceField, ...]:
    """What the user is asked for."""
    fields: list[ServiceField] = []
    for one in table.tables("fields", most=MAX_FIELDS):
        name = one.text("name", required=True, pattern=_NAME, example="api_key")
        if name in VALUES or name in ("name", "kind") or name in [other.name for other in fields]:
            one.wrong("name", Invalid("This name is taken."))
        label = one.text("label", limit=60, required=True)
        secret, required = one.flag("secret", otherwise=True), one.flag("required", otherwise=True)
        one.end()
        fields.append(ServiceField(name, secret, required, label))
    return tuple(fields)


def _read_address(table: FileTable, key: str) -> str:
    address = table.text(key, limit=500).rstrip("/")
    if address and (normalize_url(address) is None or not _SERVER.match(f"{address}/") or "{" in address):
        return table.wrong(key, Invalid("The address of the service starts with http:// or https://"))
    return address


def _read_step(table: FileTable, known: frozenset[str] | set[str], origin_of: str) -> ServiceStep:
    method = table.choice("method", METHODS) or "POST"
    address = table.text("address", limit=MAX_TEMPLATE, required=True)
    _check_server(table, address, origin_of)
    _check_template(table, "address", address, known)
    headers, json, form = (table.mapping(key) for key in ("headers", "json", "form"))
    for key, template in (("headers", headers), ("json", json), ("form", form)):
        _check_template(table, key, template, known)
    if not all(isinstance(value, str) for value in (form or {}).values()):
        table.wrong("form", Invalid("Every value must be a text."))
    for name, value in (headers or {}).items():
        if not HEADER.match(name) or not isinstance(value, str) or not value.isprintable() or not value.isascii():
            table.wrong("headers", Invalid("Write each header as a name and a text in ASCII."))
    if json is not None and form is not None:
        table.wrong("form", Invalid("A step sends json or a form, not both."))
    accepted = table.numbers("accepted", 100, 599, most=20)
    reads = _read_paths(table)
    step = ServiceStep(
        Call(method, address, dict(headers or {}), json, form),
        reads=reads,
        accepted=accepted,
        is_login=table.flag("is_login", otherwise=False),
        optional=table.flag("optional", otherwise=False),
        only_with=table.text("only_with"),
        ends_with=table.text("ends_with"),
    )
    for key, name in (("only_with", step.only_with), ("ends_with", step.ends_with)):
        if name and name not in known | set(reads):
            _no_such_value(table, key, name, known)
    table.end()
    return step


def _check_server(table: FileTable, address: str, origin_of: str) -> None:
    """Nothing that is filled in can choose the server, but the address that the user gave."""
    own = ["{address}", *([f"{{{origin_of}:address}}"] if origin_of else [])]
    starts = any(address == one or address.startswith((f"{one}/", f"{one}?")) for one in own)
    if address and not starts and not _SERVER.match(address):
        table.wrong(
            "address", Invalid("This must begin with one of: %(choices)s.", choices=", ".join([*own, "https://…/"]))
        )


def _check_template(table: FileTable, key: str, template: Any, known: frozenset[str] | set[str]) -> None:
    for text in _texts_in(template):
        for name, form in _PLACEHOLDER.findall(text):
            if name not in known:
                _no_such_value(table, key, name, known)
            elif (form or None) not in _FORMS:
                table.wrong(key, Invalid("After the colon, write int or address."))


def _texts_in(template: Any) -> list[str]:
    if isinstance(template, str):
        return [template]
    if isinstance(template, Mapping):
        return [text for part in cast("Mapping[str, Any]", template).values() for text in _texts_in(part)]
    if isinstance(template, list):
        return [text for part in cast("list[Any]", template) for text in _texts_in(part)]
    return []


def _no_such_value(table: FileTable, key: str, name: str, known: frozenset[str] | set[str]) -> None:
    choices = ", ".join(f"{{{value}}}" for value in sorted(known))
    table.wrong(key, Invalid("There is no {%(name)s}. There are: %(choices)s.", name=name, choices=choices))


def _read_paths(table: FileTable) -> dict[str, tuple[str, ...]]:
    paths: dict[str, tuple[str, ...]] = {}
    for name, path in (table.mapping("reads") or {}).items():
        keys = cast("list[Any]", path) if isinstance(path, list) else []
        if not keys or not all(isinstance(part, str) for part in keys) or not re.fullmatch(_NAME, name):
            table.wrong("reads", Invalid("This must be a list of keys in the answer, such as ['data', 'token']."))
        paths[name] = tuple(map(str, keys))
    return paths

"""A user's services: what they have entered, whether it can work, and the requests it makes. Nothing is sent here."""

import hmac
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from html import escape
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.sharing.services import MISSING, SERVICES, Call, Kind, Service, ServiceStep
from reedbed.domain.text import digits_value, storable
from reedbed.domain.times import SECOND, Instant
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


# --- Requests


_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_VALUE = re.compile(r"\{(\w+)(?::(\w+))?\}")
_CALLS_ALL = re.compile(r"@(?=(?:all|channel|here)\b)", re.IGNORECASE)
MAX_READ = 2_000
MAX_ANSWER = 300

Values = Mapping[str, Any]


@record
class ShareLink:
    """What is sent: an entry, several of them, or a message of Reedbed's own."""

    url: str
    title: str
    tags: tuple[str, ...] = ()
    text: str = ""
    summary: str = ""
    feed: str = ""


@record
class ShareCall:
    """A request to send."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"


def link_values(target: ShareTarget, link: ShareLink, *, now: Instant, unique: str) -> dict[str, Any]:
    """Everything that a template can name."""
    secrets, service = target.secrets, target.service
    title, text = _shortened(link.title, service.max_title), _shortened(link.text, service.max_text)
    note = "\n".join(part for part in (text, link.url) if part)
    words = ["-".join(tag.split()) for tag in link.tags]
    return {
        **{one.name: "" for one in service.fields},
        **secrets,
        "address": target.url,
        "url": link.url,
        "title": title,
        "text": text,
        "summary": link.summary,
        "feed": link.feed,
        "note": note,
        "html": _html(title, text, link.url),
        "mrkdwn": _mrkdwn(title, note),
        "markdown": _markdown(title, note),
        "tags": list(link.tags),
        "tags_by_comma": ",".join(tag.replace(",", " ") for tag in link.tags),
        "tags_by_space": " ".join(words),
        "tags_as_words": words,
        "tags_with_names": [{"name": tag} for tag in link.tags],
        "tags_with_tag_names": [{"tagName": tag} for tag in link.tags],
        "unique": unique,
        "bearer": f"Bearer {secrets['token']}" if secrets.get("token") else "",
        "basic": b64encode(f"{secrets.get('username', '')}:{secrets.get('password', '')}".encode()).decode(),
        "signed_token": _signed_token(secrets.get("token", ""), now) if target.kind == Kind.SHAARLI else "",
    }


def steps_for(target: ShareTarget, values: Values) -> Sequence[ServiceStep]:
    """The steps to take, in order, without those that this link does not need."""
    steps = target.service.steps or (ServiceStep(_own_template(target)),)
    return [step for step in steps if not step.only_with or values.get(step.only_with)]


def fill(call: Call, values: Values, *, text: str | None = None) -> ShareCall:
    headers = {name: _substitute(template, values, _in_header) for name, template in call.headers.items()}
    body = b""
    if call.json is not None:
        body = json.dumps(_filled(call.json, values), ensure_ascii=False).encode()
        headers = {"Content-Type": _JSON, "Accept": _JSON, **headers}
    elif call.form is not None:
        body = urlencode({name: str(_filled(template, values)) for name, template in call.form.items()}).encode()
        headers = {"Content-Type": _FORM, "Accept": _JSON, **headers}
    elif text is not None:
        body = text.encode()
    url = _substitute(call.address, values, _in_address)
    return ShareCall(url, {name: value for name, value in headers.items() if value}, body, call.method)


def fill_template(target: ShareTarget, call: Call, values: Values) -> ShareCall:
    """A request from the user's own template: filled-in values cannot break JSON, a form or a header."""
    template = target.secrets.get("body", "")
    looks_like_json = template[:1] in ("{", "[")
    content_type = next((value for name, value in call.headers.items() if name.lower() == "content-type"), "")
    kind = content_type or (_JSON if looks_like_json else "text/plain; charset=utf-8")
    write = _in_json if _JSON in kind else _in_form if _FORM in kind else _in_text
    text = _substitute(template, values, write)
    if write is _in_json and not _is_json(text):
        raise Invalid("The body is not valid JSON once it is filled in.", field="body")
    headers = {name: _substitute(value, values, _in_header) for name, value in call.headers.items()}
    if template and not content_type:
        headers["Content-Type"] = kind
    return fill(Call(call.method, call.address, headers), values, text=text if template else None)


def read_values(step: ServiceStep, body: bytes) -> dict[str, Any]:
    """What the step reads from the answer; names that are not in it are left out."""
    try:
        answer: object = json.loads(body)
    except ValueError:
        return {}
    found = {name: _at(answer, path) for name, path in step.reads.items()}
    return {name: value for name, value in found.items() if _is_usable(value)}


def answer_text(body: bytes) -> str:
    """The start of an answer in one line, for the person who tests the service."""
    text = re.sub(r"<[^>]*>", " ", body[:4_000].decode(errors="replace"))
    return _shortened(" ".join("".join(c if c.isprintable() else " " for c in text).split()), MAX_ANSWER)


def without_secrets(target: ShareTarget, text: str) -> str:
    """What a service answered, without the secrets that it repeats, because answers are stored unencrypted."""
    secrets = [target.secrets.get(one.name, "") for one in target.service.fields if one.secret]
    secrets += [urlsplit(value).path.strip("/") for value in secrets if "://" in value]
    for value in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(value, "…").replace(quote(value, safe=""), "…")
    return text


def _own_template(target: ShareTarget) -> Call:
    secrets = target.secrets
    return Call(secrets.get("method", "POST"), secrets["webhook"], header_lines(secrets.get("headers", "")))


def _filled(template: Any, values: Values) -> Any:
    if isinstance(template, str):
        whole = _VALUE.fullmatch(template)
        return _value(whole, values) if whole else _substitute(template, values, _in_text)
    if isinstance(template, Mapping):
        pairs = cast(Mapping[str, Any], template).items()
        return {name: value for name, part in pairs if not _is_empty(value := _filled(part, values))}
    if isinstance(template, list):
        return [_filled(part, values) for part in cast(list[Any], template)]
    return template


def _value(found: re.Match[str], values: Values) -> Any:
    value = values.get(found[1], "")
    if found[2] == "int" and isinstance(value, str):
        size = digits_value(value.removeprefix("-"), longest=18)
        return value if size is None else -size if value.startswith("-") else size
    return value


def _substitute(template: str, values: Values, write: Callable[[Any, str, str], str]) -> str:
    return _VALUE.sub(lambda found: write(values.get(found[1], ""), found[1], found[2] or ""), template)


def _in_address(value: Any, name: str, form: str) -> str:
    return str(value) if name == "address" or form == "address" else quote(_joined(value), safe="")


def _in_text(value: Any, _name: str, _form: str) -> str:
    return _joined(value)


def _in_form(value: Any, _name: str, _form: str) -> str:
    return quote(_joined(value), safe="")


def _in_header(value: Any, _name: str, _form: str) -> str:
    return "".join(c if 32 <= ord(c) < 127 else "?" for c in " ".join(_joined(value).split()))


def _in_json(value: Any, _name: str, _form: str) -> str:
    """Inside the quotation marks of the template."""
    return json.dumps(_joined(value), ensure_ascii=False)[1:-1]


def _joined(value: Any) -> str:
    return ", ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _at(answer: object, path: Sequence[str]) -> Any:
    for name in path:
        answer = cast(dict[str, Any], answer).get(name) if isinstance(answer, dict) else None
    return answer


def _is_usable(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= MAX_READ and value.isprintable()
    return isinstance(value, int | list) and value not in (0, [])


def _html(title: str, text: str, url: str) -> str:
    link = f'<a href="{escape(url)}">{escape(url)}</a>' if url else ""
    lines = [f"<strong>{escape(title)}</strong>", escape(text).replace("\n", "<br>"), link]
    return "<br>".join(line for line in lines if line)


def _mrkdwn(title: str, note: str) -> str:
    """As Slack reads it: a title with <!channel> in it would otherwise call everybody."""
    return escape(f"*{title}*\n{note}", quote=False)


def _markdown(title: str, note: str) -> str:
    """As Mattermost reads it, with nothing that calls everybody."""
    return _CALLS_ALL.sub("@\u200b", f"**{title}**\n{note}")


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _signed_token(secret: str, now: Instant) -> str:
    """A JSON Web Token with the time, as Shaarli wants it."""
    parts = ({"typ": "JWT", "alg": "HS512"}, {"iat": now // SECOND})
    signed = ".".join(_base64(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    return f"{signed}.{_base64(hmac.digest(secret.encode(), signed.encode(), 'sha512'))}"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()

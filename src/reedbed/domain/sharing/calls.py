"""The requests that save a link or send a message, filled in from the templates of `services`. Nothing is sent here."""

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
from reedbed.domain.records import record
from reedbed.domain.sharing.services import Call, Kind, ServiceStep
from reedbed.domain.sharing.targets import ShareTarget, header_lines
from reedbed.domain.text import digits_value
from reedbed.domain.times import SECOND, Instant

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
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
        whole = _PLACEHOLDER.fullmatch(template)
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
    return _PLACEHOLDER.sub(lambda found: write(values.get(found[1], ""), found[1], found[2] or ""), template)


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

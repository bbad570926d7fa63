"""E-mail addresses as account names: strict enough to catch typing errors, loose enough for real people."""

import re

from reedbed.domain.errors import Invalid

MAX_EMAIL = 254
_MAX_LOCAL = 64

_ATOM = r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f\ud800-\udfff.]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*\Z")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)\Z")


def email_address(text: str) -> str:
    """The address as the account's key: trimmed, lower case, its domain in punycode."""
    typed = text.strip()
    if not typed:
        raise Invalid("E-mail address is required", field="email")
    if len(typed) > MAX_EMAIL:
        raise Invalid(f"E-mail address must be at most {MAX_EMAIL} characters", field="email")
    local, _, domain = typed.lower().rpartition("@")
    host = _domain(domain)
    if host is None or len(local) > _MAX_LOCAL or not _LOCAL.match(local):
        raise Invalid(
            "This does not look like an e-mail address. Write it as name@example.com.", field="email"
        )
    if len(local) + 1 + len(host) > MAX_EMAIL:
        raise Invalid(f"E-mail address must be at most {MAX_EMAIL} characters", field="email")
    return f"{local}@{host}"


def known_as(text: str) -> str:
    """The key to look an account up by; empty for what can be nobody's address."""
    try:
        return email_address(text)
    except Invalid:
        return ""


def _domain(text: str) -> str | None:
    try:
        host = text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    labels = host.split(".")
    # `owner@localhost` is what people on one machine type.
    enough = len(labels) > 1 or host == "localhost"
    return host if enough and all(map(_LABEL.match, labels)) else None

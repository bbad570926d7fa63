"""E-mail addresses as account names: strict enough to catch typing errors, loose enough for real people."""

import re

from reedbed.domain.auth import Purpose, life_in_words
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record


@record
class Email:
    to: str
    subject: str
    text: str
    html: str = ""
    """Set: the same in markup, for those who want it; the text goes along."""
    unsubscribe_url: str = ""
    """Set: where one click, or a program's POST, ends letters of this kind."""


@record
class Sent:
    """The mail server took it."""


@record
class NotSent:
    reason: str
    try_again: bool
    """The server was away or busy, rather than refusing this letter."""


Posted = Sent | NotSent


def link_email(to: str, purpose: Purpose, url: str) -> Email:
    subject, opening, closing = _WORDS[purpose]
    text = f"{opening}\n\n{url}\n\nThe link works once, for {life_in_words(purpose)}. {closing}\n"
    return Email(to, subject, text)


def already_registered_email(to: str, base_url: str) -> Email:
    """Somebody registered with the address of an account: its owner learns it, the visitor does not."""
    text = (
        "Somebody, perhaps you, tried to register at Reedbed with this address. "
        "It has an account already.\n\n"
        f"Log in, or choose a new password there:\n\n{base_url}/login\n\n"
        "If it was not you, there is nothing to do.\n"
    )
    return Email(to, "You have a Reedbed account already", text)


def password_changed_email(to: str, base_url: str) -> Email:
    text = (
        "The password of your Reedbed account was changed, and every other device was logged out.\n\n"
        f"If it was not you, choose a new one at once:\n\n{base_url}/forgot\n"
    )
    return Email(to, "Your Reedbed password was changed", text)


_WORDS: dict[Purpose, tuple[str, str, str]] = {
    "reset": (
        "Choose a new password for Reedbed",
        "Somebody, perhaps you, asked for a new password for this address. To choose one, open this link:",
        "If it was not you, there is nothing to do: your password stays as it is.",
    ),
    "verify": (
        "Confirm your address for Reedbed",
        "Welcome to Reedbed. To confirm that this address is yours, open this link:",
        "If you did not register, there is nothing to do.",
    ),
    "invite": (
        "You are invited to Reedbed",
        "You are invited to read with Reedbed. To choose your password, open this link:",
        "If you do not want to, there is nothing to do.",
    ),
}


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

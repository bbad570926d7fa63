"""Emails that Reedbed sends about accounts, the result of sending, and checking email addresses."""

import re

from reedbed.domain.auth import Purpose, link_lifetime_text
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record


@record
class Email:
    to: str
    subject: str
    text: str
    html: str = ""
    """Optional HTML version, sent along with the text."""
    unsubscribe_url: str = ""
    """Optional URL for one-click unsubscribe from emails of this kind."""


@record
class Sent:
    """The mail server accepted it."""


@record
class NotSent:
    reason: str
    try_again: bool
    """The server was unavailable or busy; it did not reject this email."""


Posted = Sent | NotSent


def link_email(to: str, purpose: Purpose, url: str) -> Email:
    subject, opening, closing = _LINK_TEXTS[purpose]
    text = f"{opening}\n\n{url}\n\nThe link works once, for {link_lifetime_text(purpose)}. {closing}\n"
    return Email(to, subject, text)


def already_registered_email(to: str, base_url: str) -> Email:
    """Sent to the owner of an account when someone registers with its address; the visitor learns nothing."""
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


_LINK_TEXTS: dict[Purpose, tuple[str, str, str]] = {
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


# --- Addresses: strict enough to catch typing errors, lenient enough for real ones

MAX_EMAIL = 254
_MAX_LOCAL_LENGTH = 64

_ATOM = r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f\ud800-\udfff.]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*\Z")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)\Z")


def email_address(text: str) -> str:
    """Validate and normalize an address: trimmed, lower case, the domain in punycode."""
    typed = text.strip()
    if not typed:
        raise Invalid("E-mail address is required", field="email")
    if len(typed) > MAX_EMAIL:
        raise Invalid("E-mail address must be at most %(limit)s characters", field="email", limit=MAX_EMAIL)
    local, _, domain = typed.lower().rpartition("@")
    host = _domain(domain)
    if host is None or len(local) > _MAX_LOCAL_LENGTH or not _LOCAL.match(local):
        raise Invalid("This does not look like an e-mail address. Write it as name@example.com.", field="email")
    if len(local) + 1 + len(host) > MAX_EMAIL:
        raise Invalid("E-mail address must be at most %(limit)s characters", field="email", limit=MAX_EMAIL)
    return f"{local}@{host}"


def known_as(text: str) -> str:
    """The normalized address for looking up an account; empty if it is invalid."""
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
    # Allow `owner@localhost` for installations on a single machine.
    is_complete = len(labels) > 1 or host == "localhost"
    return host if is_complete and all(map(_LABEL.match, labels)) else None

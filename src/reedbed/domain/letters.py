"""The letters the program writes: short, plain, one link each."""

from reedbed.domain.mail_links import Purpose, life_in_words
from reedbed.domain.records import record


@record
class Letter:
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


def link_letter(to: str, purpose: Purpose, url: str) -> Letter:
    subject, opening, closing = _WORDS[purpose]
    text = f"{opening}\n\n{url}\n\nThe link works once, for {life_in_words(purpose)}. {closing}\n"
    return Letter(to, subject, text)


def known_already_letter(to: str, base_url: str) -> Letter:
    """Somebody registered with the address of an account: its owner learns it, the visitor does not."""
    text = (
        "Somebody, perhaps you, tried to register at Reedbed with this address. "
        "It has an account already.\n\n"
        f"Log in, or choose a new password there:\n\n{base_url}/login\n\n"
        "If it was not you, there is nothing to do.\n"
    )
    return Letter(to, "You have a Reedbed account already", text)


def password_changed_letter(to: str, base_url: str) -> Letter:
    text = (
        "The password of your Reedbed account was changed, and every other device was logged out.\n\n"
        f"If it was not you, choose a new one at once:\n\n{base_url}/forgot\n"
    )
    return Letter(to, "Your Reedbed password was changed", text)


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

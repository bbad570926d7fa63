"""Translate page texts and stored English messages into the request's language.

Messages such as why a feed failed are stored in English, with a host name or a number in them.
`translate_failure` matches them against WHOLE and SHAPES. Unlisted messages stay English;
`tests/unit/test_failure_texts.py` finds them.
"""

import gettext
import re
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import orjson
from fastapi import Request

from reedbed.domain.search import Filter
from reedbed.domain.users import Caller
from reedbed.http.auth import maybe_caller

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "de")
DECIMAL_COMMA_LANGUAGES = frozenset({"de"})

_language: ContextVar[str] = ContextVar("language", default="en")


def set_language(language: str) -> None:
    """Set the language for the texts of this request."""
    _language.set(language if language in LANGUAGES else "en")


def current_language() -> str:
    return _language.get()


def plain_text(message: str) -> str:
    # gettext returns the header of the catalogue for an empty text.
    return message and catalogue(_language.get()).gettext(message)


def plural_text(singular: str, plural: str, number: int) -> str:
    """Fill in only the number; the caller fills in the other placeholders."""
    return catalogue(_language.get()).ngettext(singular, plural, number).replace("%(num)s", grouped(number))


def grouped(number: int) -> str:
    """Group thousands with a thin space, which suits every language."""
    return f"{int(number):,}".replace(",", "\u202f")


def translate(message: str, **values: object) -> str:
    """Translate into the language of this request, like `_()` in templates."""
    return plain_text(message) % values if values else plain_text(message)


def marked(message: str) -> str:
    """Mark a text for extraction (gettext_noop); it is translated where it is shown."""
    return message


def ngettext(singular: str, plural: str, number: int) -> str:
    return plural_text(singular, plural, number) % {}


def decimal(value: float, digits: int) -> str:
    """Format a number with a fraction in the language of this request."""
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    return text.replace(".", ",") if current_language() in DECIMAL_COMMA_LANGUAGES else text


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("reedbed", FOLDER / "locale", [language], fallback=True)


@cache
def languages() -> tuple[str, ...]:
    """English and all languages that have a catalogue."""
    return ("en", *(code for code in LANGUAGES if (FOLDER / "locale" / code).is_dir() and code != "en"))


async def choose_language(request: Request) -> None:
    """Set the language before the route runs: views hold translated texts before they are rendered."""
    set_language(language_of(request, await maybe_caller(request)))


def language_of(request: Request, caller: Caller | None) -> str:
    chosen = _preferred_language(caller)
    if chosen in LANGUAGES:
        return chosen
    for part in request.headers.get("accept-language", "").split(","):
        code = part.split(";")[0].strip().lower()[:2]
        if code in LANGUAGES:
            return code
    return "en"


def _preferred_language(caller: Caller | None) -> str:
    if caller is None:
        return ""
    preferences = orjson.loads(caller.user.preferences or "{}")
    return str(preferences.get("language", ""))


WHOLE = (
    marked("Invalid request"),
    marked("Authentication required"),
    marked(
        "The password has to be entered again: it is encrypted with a key that this server does not have."
    ),
    marked("Feed no longer available"),
    marked("Nothing is fetched for this feed: its entries come by other ways."),
    marked("The operator of this server has turned this feed off."),
    marked("The site has asked to be left alone for a while."),
    marked("The feed is damaged. Some of its entries may be missing."),
    marked("The feed is damaged, and none of its entries could be read."),
    marked("Rate limited"),
    marked("The address is not valid."),
    marked("The address is too long."),
    marked("The address could not be understood."),
    marked("The address redirects in a circle."),
    marked("The answer could not be read."),
    marked("The connection broke off before the document was complete."),
    marked("The name is not known."),
    marked("The proxy asks for authentication."),
    marked("The proxy could not be reached."),
    marked("The proxy's address is not valid."),
    marked("The server answered 304 to a question without conditions."),
    marked("The server answered that there is no content (204)."),
    marked("The server answered that there is no content (205)."),
    marked("The server answered with an empty document."),
    marked("The server redirects without saying where to."),
    marked("The server sent only a part of the document (206)."),
    marked("The site took too long to answer."),
    marked("Only addresses with http:// or https:// can be fetched."),
    marked("This is not the address of a page or feed."),
    marked("No feed was found at this address."),
    marked(
        "The site lets nobody in without a name and password. "
        "If you have them, write them into the address: https://name:password@example.org."
    ),
    marked("The site asks for fewer requests. Try again in a few minutes."),
    # content encoding of a response
    marked("The compressed data broke off."),
    marked("The compressed data is damaged."),
    marked("It is compressed too many times."),
    marked("It is compressed in a way nobody asked for."),
    marked("It consists of too many compressed parts."),
    # kind of document
    marked("The address answered with nothing."),
    marked("The address answered with something that is not text."),
    marked("The address answered with plain text, not with a feed."),
    marked("The address answered with a web page, not with a feed."),
    marked("The address answered with XML, but it is not a feed."),
    marked("The address answered with XML that is too damaged to read."),
    marked("The address answered with JSON that breaks off or is damaged."),
    marked("The address answered with JSON, but it is not a JSON Feed."),
    marked("The document could not be read within the time and memory allowed for one feed."),
    marked("The document defines too many entities, so it is not read."),
    marked("The document defines entities within entities, so it is not read."),
    marked("The document's entities would make it far too large, so it is not read."),
    # full-text articles
    marked("The page holds no article text."),
    marked("The page is too large to read as an article."),
    marked("The page could not be read as HTML."),
    marked("The feed's selectors took too long on this page."),
    marked("The article is behind a paywall."),
    marked("The article could not be read in time."),
    marked("The site's page holds less of this text than the feed gives."),
    marked("The site answered with an error page."),
    marked("The site asks for consent first."),
    marked("The site asks to log in first."),
    marked("This entry has no address to read the article from."),
    # certificate errors
    marked("not valid yet"),
    marked("expired"),
    marked("self-signed"),
    marked("signed by nobody this machine trusts"),
    marked("revoked"),
    marked("made out to another name"),
    marked("made out to another address"),
    marked("it cannot be trusted"),
    # stopped feeds, WebSub hubs
    marked("The site says that this feed is gone for good (410 Gone)."),
    marked("The operator has turned hubs off (REEDBED_WEBSUB)."),
    marked("This server has no public address that a hub could call. Set REEDBED_BASE_URL to one."),
    marked("The hub refused."),
    marked("The hub took the request and never confirmed it."),
    marked("The hub does not answer."),
    # AI model, summaries, digests, questions
    marked("No articles found from the last 24 hours"),
    marked("There is nothing new since the last digest."),
    marked("Failed to generate summary. Please try again later."),
    marked("The question could not be answered. Ask again later."),
    marked("There is nothing in this entry to summarise."),
    marked("There is no model to read this entry."),
    marked("The model answered nothing."),
    marked("The model asks to slow down."),
    marked("The model's answer could not be read."),
    marked("The model's answer was not as asked for."),
    marked("The worker stopped in the middle of it."),
    marked("This text could not be worked on."),
    # budgets
    marked("daily tokens"),
    marked("daily cost"),
    marked("monthly tokens"),
    marked("monthly cost"),
    marked("your daily tokens"),
    marked("your daily cost"),
    # imports
    marked(
        "This is not an OPML file. Export the subscriptions from your other reader as OPML and try again."
    ),
    marked("The rest of the file"),
    marked(
        "The file ends in its middle, so feeds may be missing. Export it again from your other reader and "
        "bring it in: what you follow already stays as it is."
    ),
    marked("You follow this feed already."),
    marked("The file lists this feed more than once. Its first line was used."),
    marked("This line has no feed address and no feeds inside it."),
    marked("This is not an OPML file. Other exports are brought in under Settings, Your data."),
    marked("This JSON file holds no list of starred entries."),
    marked("This file is no whole JSON document."),
    marked(
        "This zip archive holds no file that Reedbed knows. It takes OPML, starred JSON and SQLite databases."
    ),
    marked("This zip archive holds too much. Unpack it and bring in its OPML and JSON files one by one."),
    marked("This zip archive is damaged or not complete. Download it again."),
    marked("This zip archive needs a password. Unpack it and bring in its files."),
    # newsletters and mailboxes
    marked("The list is being told."),
    marked("The list was told and took it."),
    marked("The list was told by mail."),
    marked("The list wants a mail, and this server cannot send any."),
    marked("The list offers no way to be told. What still comes is not shown."),
    marked("The list wants you to open its page to leave. What still comes is not shown."),
    marked("The list did not take it. What still comes is not shown."),
    marked("A mail in it could not be read."),
    marked("The mail server's answer could not be understood."),
    marked("The mail server ended the connection. Look whether port and encryption are right."),
    # the database
    marked("Another session keeps a table of the database locked. Try again in a moment."),
    marked("The database is busy with another program. Try again in a moment."),
    # reasons to log in
    marked("Log in first."),
    marked("You had logged in while the clock of this server was wrong. Log in again."),
    # devices
    marked("Unknown device"),
    marked("A Python program"),
    marked("An Android app"),
)
MESSAGE_PATTERNS = (
    marked("You follow this feed already. It is now in %(folder)s."),
    marked("Stopped after the first failure. The last one: %(why)s."),
    marked("Stopped after %(number)s failures in a row. The last one: %(why)s."),
    marked("There is nothing at this address: the site answered %(number)s. Check it for a typing error."),
    marked(
        "The address points to a private network (%(kind)s). "
        "An operator can allow it with REEDBED_ALLOW_NETWORKS."
    ),
    marked("Port %(number)s is not used for web pages and is not contacted."),
    marked("The address redirects more than %(number)s times."),
    marked("The answer could not be unpacked. %(why)s"),
    marked("The budget is used up (%(why)s)."),
    marked("The certificate of %(host)s is not valid: %(why)s."),
    marked("The document was not complete within %(number)s seconds."),
    marked("The exchange with %(host)s failed."),
    marked("The feed is larger than %(size)s."),
    marked("The folder could not be opened: %(said)s"),
    marked("The hub answered %(number)s."),
    marked("The hub redirects more than %(number)s times."),
    marked("The hub refused: %(said)s"),
    marked("The mail server could not be reached: %(said)s"),
    marked("The model answered with HTTP %(number)s."),
    marked("The model could not be reached: %(kind)s."),
    marked("The model did not answer within %(number)s s."),
    marked("The model refuses the key (HTTP %(number)s)."),
    marked("The model refuses the question (HTTP %(number)s)."),
    marked("The name %(host)s could not be found."),
    marked("The name %(host)s could not be looked up just now."),
    marked("The proxy answered %(number)s."),
    marked("The proxy cannot be used. %(why)s"),
    marked("The server answered %(number)s."),
    marked("The server did not answer within %(number)s seconds."),
    marked("The server redirects to an address that cannot be used. %(why)s"),
    marked("No secure connection to %(host)s could be made."),
    marked("%(host)s broke the connection off."),
    marked("%(host)s cannot be reached."),
    marked("%(host)s closed the connection without an answer."),
    marked("%(host)s could not be connected to."),
    marked("%(host)s did not answer within %(number)s seconds."),
    marked("%(host)s does not answer."),
    marked("%(host)s does not answer in proper HTTP."),
    marked("%(host)s refuses connections."),
    marked("Mails to this address were asked for too often. The next one can be sent in %(number)s min."),
    marked(
        "Confirm your e-mail address first: open the link in the mail that we sent you. "
        "Mails to this address were asked for too often. The next one can be sent in %(number)s min."
    ),
    # sign-in providers
    marked("Logging in with %(name)s did not work. Try again."),
    marked("You were not logged in: %(name)s was told no."),
    marked("%(name)s does not answer just now. Try again a little later, or log in with your password."),
    marked(
        "%(name)s does not vouch for an e-mail address of yours. "
        "If you have an account here, log in to it and link the two in the settings."
    ),
    marked(
        "The account with this address has no password. "
        "Log in the way you did before, and link %(name)s in the settings."
    ),
    marked("This account of yours at %(name)s opens another account here. Unlink it there first."),
    marked("%(browser)s on %(system)s"),
)
"""The placeholder `why` holds another of these messages, with or without its full stop."""

_PLACEHOLDER = re.compile(r"%\\\((\w+)\\\)s")
_PLACEHOLDER_PATTERNS = {
    "number": r"[\d.]+",
    "host": r"\S+",
    "size": r"\d+ [KM]B",
    "system": r"iPhone|iPad|Android|ChromeOS|Windows|macOS|Linux",
}


_LIMIT = re.compile(r"(?:(?<=at most )|(?<=höchstens ))\d{4,}")


def translate_failure(text: str) -> str:
    """A message of the lower layers in the language of this request, with grouped numbers."""
    return _LIMIT.sub(lambda limit: grouped(int(limit[0])), _translate_failure(text))


def _translate_failure(text: str) -> str:
    if not text or current_language() == "en":
        return text
    translated = translate(text)
    return translated if translated != text else _translate_pattern(text)


def sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _translate_pattern(text: str) -> str:
    for pattern, message in _patterns():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            if "why" in values:
                values["why"] = _translate_cause(values["why"])
            return translate(message, **values)
    return text


def _translate_cause(why: str) -> str:
    translated = translate_failure(why)
    return translated if translated != why else translate_failure(f"{why}.").removesuffix(".")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_pattern(message), message) for message in MESSAGE_PATTERNS)


def _pattern(message: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        return f"(?P<{match[1]}>{_PLACEHOLDER_PATTERNS.get(match[1], '.+')})"

    return re.compile(_PLACEHOLDER.sub(group, re.escape(message)), re.DOTALL)


# --- Search


def unknown_names(unknown: Iterable[Filter]) -> str:
    """One sentence for each feed, folder or tag in a search that does not exist."""
    sentences = {
        "feed": translate("You follow no feed called %(name)s."),
        "folder": translate("There is no folder called %(name)s."),
        "tag": translate("There is no tag called %(name)s."),
    }
    return " ".join(sentences[unknown_name.kind] % {"name": unknown_name.value} for unknown_name in unknown)

"""Sentences that were written below and kept, such as why a feed failed, told in the reader's language.

They lie in the database in English, with a host or a number in them. What is not listed here stays English;
`tests/unit/test_sentences.py` finds what is missing.
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
WITH_COMMA = frozenset({"de"})

_language: ContextVar[str] = ContextVar("language", default="en")


def set_language(language: str) -> None:
    """The language of this request's texts."""
    _language.set(language if language in LANGUAGES else "en")


def current_language() -> str:
    return _language.get()


def plain_text(message: str) -> str:
    # An empty text would be answered with the head of the catalogue.
    return message and catalogue(_language.get()).gettext(message)


def plural_text(one: str, many: str, number: int) -> str:
    """With its number filled in: the other places are left to the caller."""
    return catalogue(_language.get()).ngettext(one, many, number).replace("%(num)s", grouped(number))


def grouped(number: int) -> str:
    """With thousands apart; the thin space belongs to no language."""
    return f"{int(number):,}".replace(",", "\u202f")


def translate(message: str, **values: object) -> str:
    """A text of ours in this request's language, as `_()` gives it in a template."""
    return plain_text(message) % values if values else plain_text(message)


def marked(message: str) -> str:
    """A text that is kept here and translated where it is shown."""
    return message


def ngettext(one: str, many: str, number: int) -> str:
    return plural_text(one, many, number) % {}


def decimal(value: float, places: int) -> str:
    """A number with a fraction, as this request's language writes it."""
    written = f"{value:,.{places}f}".replace(",", "\u202f")
    return written.replace(".", ",") if current_language() in WITH_COMMA else written


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("reedbed", FOLDER / "locale", [language], fallback=True)


@cache
def languages() -> tuple[str, ...]:
    """English, and the others that have a catalogue."""
    return ("en", *(code for code in LANGUAGES if (FOLDER / "locale" / code).is_dir() and code != "en"))


async def choose_language(request: Request) -> None:
    """Before anything is said: views are put into words before they are drawn."""
    set_language(language_of(request, await maybe_caller(request)))


def language_of(request: Request, caller: Caller | None) -> str:
    chosen = _preferred(caller)
    if chosen in LANGUAGES:
        return chosen
    for part in request.headers.get("accept-language", "").split(","):
        short = part.split(";")[0].strip().lower()[:2]
        if short in LANGUAGES:
            return short
    return "en"


def _preferred(caller: Caller | None) -> str:
    if caller is None:
        return ""
    wishes = orjson.loads(caller.user.preferences or "{}")
    return str(wishes.get("language", ""))


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
    # how an answer is packed
    marked("The compressed data broke off."),
    marked("The compressed data is damaged."),
    marked("It is compressed too many times."),
    marked("It is compressed in a way nobody asked for."),
    marked("It consists of too many compressed parts."),
    # what a document is
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
    # whole articles
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
    # faults of a certificate
    marked("not valid yet"),
    marked("expired"),
    marked("self-signed"),
    marked("signed by nobody this machine trusts"),
    marked("revoked"),
    marked("made out to another name"),
    marked("made out to another address"),
    marked("it cannot be trusted"),
    # what became of a feed, and of its hub
    marked("The site says that this feed is gone for good (410 Gone)."),
    marked("The operator has turned hubs off (REEDBED_WEBSUB)."),
    marked("This server has no public address that a hub could call. Set REEDBED_BASE_URL to one."),
    marked("The hub refused."),
    marked("The hub took the request and never confirmed it."),
    marked("The hub does not answer."),
    # the model and what it writes
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
    # files from other readers
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
    # lists and mailboxes
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
    # why somebody has to log in
    marked("Log in first."),
    marked("You had logged in while the clock of this server was wrong. Log in again."),
    # devices
    marked("Unknown device"),
    marked("A Python program"),
    marked("An Android app"),
)
SHAPES = (
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
    # logging in with an account elsewhere
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
"""The place `why` holds another of these sentences, with or without its full stop."""

_PLACE = re.compile(r"%\\\((\w+)\\\)s")
_IN_A_PLACE = {
    "number": r"[\d.]+",
    "host": r"\S+",
    "size": r"\d+ [KM]B",
    "system": r"iPhone|iPad|Android|ChromeOS|Windows|macOS|Linux",
}


def translate_failure(text: str) -> str:
    if not text or current_language() == "en":
        return text
    told = translate(text)
    return told if told != text else _filled(text)


def sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _filled(text: str) -> str:
    for pattern, shape in _patterns():
        if found := pattern.fullmatch(text):
            places = found.groupdict()
            if "why" in places:
                places["why"] = _within(places["why"])
            return translate(shape, **places)
    return text


def _within(why: str) -> str:
    told = translate_failure(why)
    return told if told != why else translate_failure(f"{why}.").removesuffix(".")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_pattern(shape), shape) for shape in SHAPES)


def _pattern(shape: str) -> re.Pattern[str]:
    def place(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{_IN_A_PLACE.get(found[1], '.+')})"

    return re.compile(_PLACE.sub(place, re.escape(shape)), re.DOTALL)


def unknown_names(unknown: Iterable[Filter]) -> str:
    """A sentence for each feed, folder and tag of a search that does not exist."""
    sentences = {
        "feed": translate("You follow no feed called %(name)s."),
        "folder": translate("There is no folder called %(name)s."),
        "tag": translate("There is no tag called %(name)s."),
    }
    return " ".join(sentences[each.kind] % {"name": each.value} for each in unknown)

"""What lists and receiving servers write: List-Unsubscribe (RFC 2369, 8058), Authentication-Results."""

import re
from collections.abc import Sequence
from urllib.parse import parse_qs, unquote, urlsplit

from reedbed.domain.emails import known_as
from reedbed.domain.newsletters import Verdicts, WaysOut

MAX_HEADER = 8_000
_IN_BRACKETS = re.compile(r"<\s*([^<>]{1,2000}?)\s*>")
_ONE_CLICK = re.compile(r"list-unsubscribe\s*=\s*one-click\s*\Z", re.IGNORECASE)
_COMMENT = re.compile(r"\([^()]*\)")
_RESULT = re.compile(r"\b(spf|dkim|dmarc)\s*=\s*([a-z]{2,12})\b", re.IGNORECASE)
_DEEPEST_COMMENT = 5

ANY_SERVER = "*"


def ways_out(header: str, post: str) -> WaysOut:
    found = [re.sub(r"\s+", "", each) for each in _IN_BRACKETS.findall(header[:MAX_HEADER])]
    pages = [each for each in found if _is_page(each)]
    secure = next((each for each in pages if each.startswith("https:")), "")
    one_click = bool(_ONE_CLICK.match(post.strip()))
    mailto = next((each for each in found if mail_wish(each) is not None), "")
    return WaysOut(post=secure if one_click else "", mailto=mailto, page=secure or next(iter(pages), ""))


def mail_wish(address: str) -> tuple[str, str, str] | None:
    """The recipient, subject and text of a mailto address; None when it is none."""
    if address[:7].lower() != "mailto:":
        return None
    path, _, query = address[7:].partition("?")
    to = known_as(unquote(path))
    asked = parse_qs(query, max_num_fields=20) if query.count("&") < 20 else {}
    given = {name.lower(): values[0] for name, values in asked.items()}
    subject = " ".join(given.get("subject", "").split())[:300] or "unsubscribe"
    return (to, subject, given.get("body", "")[:1000] or "unsubscribe") if to else None


def verdicts(headers: Sequence[str], believed: str) -> Verdicts:
    """What the server we believe says; anybody may write such a header, so one of another name says nothing.

    `ANY_SERVER` believes the topmost, for mailboxes, whose own server writes it last.
    """
    for header in headers:
        said = _without_comments(header[:MAX_HEADER])
        by, _, results = said.partition(";")
        name = (by.split() or [""])[0].lower()
        if believed in (ANY_SERVER, name) and name:
            return _verdicts(name, results)
        if believed == ANY_SERVER:
            break
    return Verdicts()


def _verdicts(by: str, results: str) -> Verdicts:
    found: dict[str, str] = {}
    for method, result in _RESULT.findall(results.lower()):
        if found.get(method) != "pass":  # one good signature of several is enough
            found[method] = result
    return Verdicts(by[:200], **found)


def _without_comments(text: str) -> str:
    for _ in range(_DEEPEST_COMMENT):
        shorter = _COMMENT.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text


def _is_page(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)

"""Links that count clicks, turned into the addresses they lead to, where those can be read off them.

Nothing is fetched: a link whose target only its server knows stays as it is.
"""

import re
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

_MOST_HOPS = 4
_MAX_ADDRESS = 4_096
_MAX_UNPACKED = 8_192

_COUNTING_HOST = re.compile(
    r"(?:^|\.)(?:click|clicks|link|links|lnk|track|tracking|trk|email|e|go|t|r|redirect|url\d*|mailer)[\d-]*\.|"
    r"(?:^|\.)(?:safelinks\.protection\.outlook\.com|urldefense\.com|urldefense\.proofpoint\.com|awstrack\.me|"
    r"list-manage\.com|sendgrid\.net|mandrillapp\.com|hubspotlinks\.com|convertkit-mail\d?\.com)\Z"
)
_COUNTING_PATH = re.compile(
    r"/(?:click|clicks|track|tracking|redirect|redir|out|ls/click|wf/click|cl\d|l0|c|url)(?:/|\.php|\Z)",
    re.IGNORECASE,
)
_TARGET_NAMES = (
    "url",
    "u",
    "target",
    "redirect",
    "redirect_url",
    "redirect_to",
    "q",
    "to",
    "link",
    "dest",
    "r",
)
_WEB = re.compile(r"https?://[^\s\"'<>\\^`{|}\x00-\x20\x7f]{3,4000}\Z", re.IGNORECASE)
_WEB_INSIDE = re.compile(r"\"(?:l|e|u|url|href|target)\"\s*:\s*\"(https?:[^\"\\\s]{3,4000})\"")
_BASE64 = re.compile(r"[A-Za-z0-9_-]{16,4000}={0,2}\Z")
_COUNTING_PARAMETERS = re.compile(
    r"(?:utm_[a-z_]+|mc_[ce]id|fbclid|gclid|_hsenc|_hsmi|mkt_tok|vero_id|vero_conv|ck_subscriber_id|"
    r"oly_enc_id|oly_anon_id|s_cid|_bhlid|_kx|dclid|msclkid|igshid)\Z",
    re.IGNORECASE,
)


def untracked(url: str) -> str:
    """The address a link leads to as far as it can be read, without parameters that only count readers."""
    for _ in range(_MOST_HOPS):
        target = _target(url)
        if target is None:
            break
        url = target
    return _without_counting(url)


def _target(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not (
        _COUNTING_HOST.search(host) or _COUNTING_PATH.search(parts.path) or _is_google(host, parts.path)
    ):
        return None
    given = (*_in_query(parts.query), *_in_path(parts.path))
    return next((found for each in given if (found := _web(each)) and found != url), None)


def _is_google(host: str, path: str) -> bool:
    return path == "/url" and bool(re.match(r"(?:www\.)?google\.[a-z.]{2,6}\Z", host))


def _in_query(query: str) -> Iterator[str]:
    if not query or query.count("&") > 50:
        return
    given = dict(parse_qsl(query))
    for name in _TARGET_NAMES:
        if name in given:
            yield given[name]


def _in_path(path: str) -> Iterator[str]:
    if "/v3/__" in path:  # urldefense.com/v3/__https://example.org/__;!!...
        yield path.partition("/v3/__")[2].partition("__;")[0]
    for segment in path.split("/")[1:40]:
        yield unquote(segment)
        for part in segment.split(".")[:3]:
            if _BASE64.match(part):
                yield from _unpacked(part)


def _unpacked(segment: str) -> Iterator[str]:
    try:
        data = urlsafe_b64decode(segment.rstrip("=") + "=" * (-len(segment.rstrip("=")) % 4))
    except ValueError:
        return
    if data[:1] == b"\x78":
        try:
            data = zlib.decompressobj().decompress(data, _MAX_UNPACKED)
        except zlib.error:
            return
    text = data.decode("utf-8", "replace")
    yield text
    if inside := _WEB_INSIDE.search(text[:_MAX_UNPACKED].replace("\\/", "/")):
        yield inside[1]


def _web(text: str) -> str | None:
    return text if len(text) <= _MAX_ADDRESS and _WEB.match(text) and _has_host(text) else None


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return "." in (parts.hostname or "") and "@" not in parts.netloc


def _without_counting(url: str) -> str:
    head, question, _ = url.partition("?")
    if not question:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    kept = [each for each in parts.query.split("&") if not _COUNTING_PARAMETERS.match(each.partition("=")[0])]
    if len(kept) == parts.query.count("&") + 1:
        return url
    return urlunsplit(parts._replace(query="&".join(kept))) if head else url

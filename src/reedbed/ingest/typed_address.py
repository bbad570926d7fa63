"""What people type or paste where an address is asked for, turned into addresses to try."""

import re

from reedbed.domain.urls import feed_address

_MAX_LENGTH = 2048
_WRAPPING = " \t\r\n\f\v\u00a0\u200b\ufeff<>\"'`“”„«»"
_FEED_SCHEMES = re.compile(r"(?:feed|rss|itpc|pcast|podcast)(?::(?=https?:)|:/*)", re.IGNORECASE)
_BROKEN_SCHEME = re.compile(
    r"(https?)(?:;//|:/{1,}|//|:\\\\)(?=[^/])|(?:htt|htp|hhtp|htpp|ttp)(s?)://", re.IGNORECASE
)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:(?!\d{1,5}(?:[/?#]|$))", re.IGNORECASE)
_HANDLE = re.compile(r"@?([\w.-]{1,64})@((?:[\w-]{1,63}\.){1,8}[\w-]{2,63})")
_HOST = re.compile(
    r"(?:[^\s/?#@]+\.[^\s/?#@.]+\.?|localhost|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#].*)?", re.IGNORECASE
)


def typed_addresses(text: str) -> tuple[str, ...]:
    """The addresses meant, most likely first; empty when the text can be none."""
    typed = text.strip(_WRAPPING)
    if not typed or len(typed) > _MAX_LENGTH:
        return ()
    if (handle := _HANDLE.fullmatch(typed)) is not None:
        return (f"https://{handle[2]}/@{handle[1]}",)
    typed = _FEED_SCHEMES.sub("", typed, count=1) if _FEED_SCHEMES.match(typed) else typed
    if (broken := _BROKEN_SCHEME.match(typed)) is not None:
        return (f"{(broken[1] or 'http' + (broken[2] or '')).lower()}://{typed[broken.end() :]}",)
    if _ANY_SCHEME.match(typed):
        return ()
    bare = typed.removeprefix("//")
    return (f"https://{bare}", f"http://{bare}") if _HOST.fullmatch(bare) else ()


def typed_address(text: str) -> str:
    """The address meant, checked and tidied. Raises `Invalid` when the text can be none."""
    meant = typed_addresses(text)
    return feed_address(meant[0] if meant else text)

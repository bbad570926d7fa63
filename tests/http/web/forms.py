"""A browser's hand: sends what our own page would send, and reads what came back."""

import re
from html import unescape

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
HTMX = {**OWN_PAGE, "HX-Request": "true"}


def texts(html: str, marker: str = 'class="error"') -> list[str]:
    """The words of every element with this marker."""
    found = re.findall(rf"<(\w+)[^>]*{re.escape(marker)}[^>]*>(.*?)</\1>", html, re.DOTALL)
    return [re.sub(r"\s*\n\s*", "\n", unescape(re.sub(r"<[^>]+>", "", inner))).strip() for _, inner in found]


def tokens(html: str) -> set[str]:
    return set(re.findall(r'name="csrf_token" value="([^"]+)"', html))

"""The grammar of a tag as a browser reads it, for the passes that look at markup before it is cleaned.

Nothing here decides what is safe: whatever these patterns miss, nh3 and the judges of attributes still see.
"""

import re
from html import escape, unescape

NAME_ENDS = r"(?=[ \t\n\f\r/>])"
_SPACE = r"[ \t\n\f\r]"
_NAME = r"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*"
# Nothing follows the last part of these patterns, so a hostile tag costs one walk and no backtracking.
_ATTRIBUTE = re.compile(
    rf"({_NAME})(?:{_SPACE}*={_SPACE}*(?:\"([^\"]*)\"|'([^']*)'|([^ \t\n\f\r>\"'][^ \t\n\f\r>]*)))?"
)
_END_OR_ATTRIBUTE = re.compile(
    rf"[ \t\n\f\r/]*(?:(>)|{_NAME}(?:{_SPACE}*={_SPACE}*"
    r"(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^ \t\n\f\r>]*))?)"
)
MAX_ATTRIBUTES = 64


def find_tag_end(html: str, start: int) -> int:
    """The place of the `>` that ends a tag, searched from the end of the tag's name; -1 if there is none.

    A `>` in a quoted value does not end a tag.
    """
    end = html.find(">", start)
    if end == -1:
        return -1
    if html.find('"', start, end) == -1 and html.find("'", start, end) == -1:
        return end
    while found := _END_OR_ATTRIBUTE.match(html, start):
        if found[1]:
            return found.end() - 1
        start = found.end()
    return -1


def read_attributes(source: str) -> dict[str, str]:
    """The attributes of one tag by lower-case name; the first of a name wins, as in a browser."""
    found: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(source):
        name, double, single, bare = attribute.groups("")
        name = name.lower()
        if name not in found:
            value = double or single or bare
            found[name] = unescape(value) if "&" in value else value
            if len(found) == MAX_ATTRIBUTES:
                break
    return found


def write_tag(name: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>"

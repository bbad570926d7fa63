"""The grammar of a tag as a browser reads it, for the passes that look at markup before it is cleaned.

Nothing here decides what is safe: whatever these patterns miss, nh3 and its attribute filter still judge.
"""

import re
from html import escape, unescape

# Possessive throughout: a hostile tag costs one walk, never a backtrack.
_SPACE = r"[ \t\n\f\r]"
ATTRIBUTES = (
    rf"(?:[ \t\n\f\r/]++|[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
    rf"(?:{_SPACE}*+={_SPACE}*+(?:\"[^\"]*+\"|'[^']*+'|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)?+)?+)*+"
)
NAME_ENDS = r"(?=[ \t\n\f\r/>])"

_ATTRIBUTE = re.compile(
    r"([^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)"
    rf"(?:{_SPACE}*+={_SPACE}*+(?:\"([^\"]*+)\"|'([^']*+)'|([^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)))?+"
)
MAX_ATTRIBUTES = 64


def read_attributes(source: str) -> dict[str, str]:
    """The attributes of one tag by lower-case name; the first of a name wins, as in a browser."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
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

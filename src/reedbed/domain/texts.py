"""Text that people and programs send, made fit for storing."""

import re

ENTER_AGAIN = (
    "The password has to be entered again: it is encrypted with a key that this server does not have."
)

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Controls, characters of no width, and those that turn the text behind them around. Joiners and the marks of
# direction stay: Persian, Indic scripts and many emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]"
)
_NOTHING_ALONE = "\u061c\u200c\u200d\u200e\u200f "


def shown_line(text: str) -> str:
    """A name or a title as one line that shows what it says; empty when nothing of it can be seen."""
    line = " ".join(_HIDDEN.sub("", " ".join(text.split())).split())
    return line if line.strip(_NOTHING_ALONE) else ""


def storable(text: str) -> str:
    """Without NUL, which PostgreSQL does not take, and lone surrogates, which UTF-8 cannot say."""
    return _UNSTORABLE.sub("", text)


def writable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _UNWRITABLE.sub("", text)

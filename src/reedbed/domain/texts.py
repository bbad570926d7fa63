"""Text that people and programs send, made fit for storing."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def storable(text: str) -> str:
    """Without NUL, which PostgreSQL does not take, and lone surrogates, which UTF-8 cannot say."""
    return _UNSTORABLE.sub("", text)


def writable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _UNWRITABLE.sub("", text)

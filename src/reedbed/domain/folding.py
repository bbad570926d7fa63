"""Words as the search index knows them: without accents, case and punctuation, for index and query alike.

Chinese, Japanese and Korean are written without spaces that mean words, and both engines would take a whole
sentence as one token. Their runs become overlapping pairs, so that any part of a sentence is found.
"""

import codecs
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)

_FEW_FOREIGN_WORDS = 20
_CJK_RUN = re.compile(f"[{CJK}]+")
_EAST_ASIAN = re.compile(f"[{CJK}\u1100-\u11ff\uff61-\uffdc]")
_NO_WORD = re.compile(r"[\W_]")
_SIGNS = re.compile("[\u2122\u2120\u00a9\u00ae]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_ACCENTED = re.compile("[\u00c0-\u04ff\u1e00-\u1fff]+")
_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ħ": "h", "ı": "i"}
)
_SPECIAL = re.compile(f"[{''.join(map(chr, _LETTERS))}]")


def index_text(text: str) -> str:
    """What to give to the index: tokens and blanks, nothing else."""
    folded = _fold_alphabet(text)
    if folded is None:
        folded = _fold_mixed(text)
    return _in_pairs(text) if folded is None else folded


def query_tokens(text: str) -> tuple[str, ...]:
    """The tokens a phrase must meet one after the other in `index_text`."""
    tokens = index_text(text).split()
    # A run ends with its last sign alone, so that one sign is found anywhere; inside a run it is not there.
    if len(tokens) > 1 and len(tokens[-1]) == 1 and is_cjk(tokens[-1]) and _ends_pair(tokens[-2], tokens[-1]):
        tokens.pop()
    return tuple(tokens)


def is_cjk(text: str) -> bool:
    return _CJK_RUN.match(text) is not None


def fold(text: str) -> str:
    """Folded, but not in pairs: one character in, nearly always one out."""
    folded = _fold_alphabet(text)
    return _fold_any(text) if folded is None else folded


def fold_with_places(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters the place in `text` it comes from."""
    if text.isascii():
        return _fold_ascii(text), range(len(text))
    pieces = list(map(_fold_sign, text))
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]


def _fold_alphabet(text: str) -> str | None:
    if text.isascii():
        return _fold_ascii(text)
    for alphabet in _ALPHABETS:
        try:
            return alphabet.fold(text)
        except UnicodeEncodeError:
            continue
    return None


def _fold_ascii(text: str) -> str:
    return text.encode("ascii").translate(_ALPHABETS[0].table).decode("ascii")


def _fold_mixed(text: str) -> str | None:
    """A western text with a few foreign words, which alone are folded the slow way; None if they are many."""
    western, pieces, start = _ALPHABETS[0], list[str](), 0
    for _ in range(_FEW_FOREIGN_WORDS):
        try:
            return "".join((*pieces, western.fold(text[start:])))
        except UnicodeEncodeError as foreign:
            word = slice(start + foreign.start, start + foreign.end)
            pieces += (western.fold(text[start : word.start]), _in_pairs(text[word]))
            start = word.stop
    return None


def _in_pairs(text: str) -> str:
    return _CJK_RUN.sub(_pairs, _fold_any(text))


def _pairs(run: re.Match[str]) -> str:
    signs = run.group()
    pairs = map(str.__add__, signs, signs[1:])
    return f" {' '.join(pairs)} {signs[-1]} "


def _ends_pair(token: str, sign: str) -> bool:
    return len(token) == 2 and token[1] == sign and is_cjk(token)


def _fold_any(text: str) -> str:
    text = _UNSEEN.sub("", _SIGNS.sub(" ", text)).replace("\u00b5", "u")
    if _EAST_ASIAN.search(text):
        # Taking Korean syllables and voiced kana apart and together again would cost more than all the rest.
        text = _ACCENTED.sub(_bare, unicodedata.normalize("NFKC", text).casefold())
    else:
        text = unicodedata.normalize("NFKD", text).casefold()
    text = _ACCENTS.sub("", text)
    if _SPECIAL.search(text):
        text = text.translate(_LETTERS)
    return _NO_WORD.sub(" ", text)


def _bare(run: re.Match[str]) -> str:
    return unicodedata.normalize("NFKD", run.group())


@lru_cache(maxsize=4096)
def _fold_sign(sign: str) -> str:
    return _fold_any(sign)


def _blank_signs(error: UnicodeError) -> tuple[str, int]:
    """Emoji, arrows and loose accents are no reason to leave an alphabet; a letter of another one is."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    folded = "".join(map(_fold_sign, error.object[error.start : error.end]))
    if folded.strip():
        raise error
    return folded, error.end


_BLANK_SIGNS = "reedbed.blank-signs"
codecs.register_error(_BLANK_SIGNS, _blank_signs)


class _Alphabet:
    """A one-byte encoding as a folding table: thirty times faster than sign by sign.

    What folds to two letters passes the table as a control byte and is spelled out afterwards.
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.dropped = b""
        table, expanded = bytearray(b" " * 256), dict[str, int]()
        for byte in range(256):
            folded = _fold_any(bytes([byte]).decode(encoding, "replace"))
            if not folded:
                self.dropped += bytes([byte])
            elif len(folded) == 1:
                table[byte] = folded.encode(encoding)[0]
            else:
                table[byte] = expanded.setdefault(folded, len(expanded) + 1)
        self.table = bytes(table)
        self.expanded = [(bytes([mark]), letters.encode(encoding)) for letters, mark in expanded.items()]

    def fold(self, text: str) -> str:
        narrow = text.encode(self.encoding, _BLANK_SIGNS).translate(self.table, self.dropped)
        for mark, letters in self.expanded:
            narrow = narrow.replace(mark, letters)
        return narrow.decode(self.encoding)


# Western, Central European, Cyrillic, Greek, Turkish: together nearly all that is written outside East Asia.
_ALPHABETS = tuple(map(_Alphabet, ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254")))

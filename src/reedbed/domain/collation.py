"""The order of names: by the alphabet of a language, with numbers as numbers.

This is not the whole of the Unicode collation algorithm, whose tables would take megabytes. Letters are compared
first, without their accents; then accents decide, then capitals. Letters that an alphabet counts as its own are
distinguished at once: `ł` and `ñ`, `й` and `ї`. `docs/languages.md` says what it does for each language.
"""

import re
import unicodedata
from functools import cache, lru_cache

CollationKey = tuple[tuple[str | int, ...], str, str]

_NUMBERS = re.compile(r"(\d{1,18})")
_AFTER = "\U0010fffd"
"""After every letter: `l` with it comes after all that begins with `l`."""

_CYRILLIC = "абвгґдђѓеєжзѕиіїйјклљмнњопрстћќуўфхцчџшщъыьэюя"
_SPELLED = {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ё": "е"}
_OWN_LETTERS = {
    "es": {"ñ": "n" + _AFTER},
    "pl": {letter: base + _AFTER for letter, base in zip("ąćęłńóśź", "acelnosz", strict=True)}
    | {"ż": "z" + _AFTER + _AFTER},
}
"""The letters that come after the one they look like, and not with it."""
_LEADING = {"ru": "cyrillic", "uk": "cyrillic", "zh": "han"}
"""The script whose names come before those in other scripts."""
_SHIFT = 0x40000
"""Moves letters of other scripts behind those of the leading one."""
_ENCODINGS = {"ja": "euc_jp", "zh": "gb2312"}
"""Character sets in whose order the language lists its characters: the common ones by their sound."""

_MAX_CHARACTERS = 20_000
"""That a table remembers; names of feeds may hold any."""

_KANA = range(0x3041, 0x3097)
_KATAKANA = range(0x30A1, 0x30F7)
_SMALL_KANA = {0x3041 + place for place in (0, 2, 4, 6, 8, 34, 66, 68, 70, 77)}
_VOWELS = (
    *(("あ", "かさたなはまやらわ"), ("い", "きしちにひみりゐ"), ("う", "くすつぬふむゆる")),
    *(("え", "けせてねへめれゑ"), ("お", "こそとのほもよろを")),
)
_VOWEL_OF = {kana: vowel for vowel, row in _VOWELS for kana in vowel + row}


@lru_cache(maxsize=20_000)
def collation_key(name: str, language: str = "") -> CollationKey:
    """Sorts "Feed 2" before "Feed 10", and both by the alphabet of the language."""
    folded = unicodedata.normalize("NFC", name.casefold())
    parts = _NUMBERS.split(folded)
    weights = _weights(language.partition("-")[0])
    primary = tuple(int(part) if index % 2 else _letters(part, weights) for index, part in enumerate(parts))
    return primary, folded, name


def _letters(text: str, weights: "_Weights") -> str:
    return (_without_long_marks(text) if "ー" in text else text).translate(weights)


def _without_long_marks(text: str) -> str:
    """`カード` is sorted as `カアド`: the mark repeats the vowel before it."""
    found: list[str] = []
    for letter in text:
        vowel = _VOWEL_OF.get(_hiragana(found[-1])) if letter == "ー" and found else None
        found.append(vowel or letter)
    return "".join(found)


def _hiragana(letter: str) -> str:
    """Without voice marks and in full size."""
    code = ord(unicodedata.normalize("NFD", letter)[0])
    code -= 0x60 if code in _KATAKANA else 0
    return chr(code + 1 if code in _SMALL_KANA else code)


@cache
def _weights(language: str) -> "_Weights":
    return _Weights(language)


class _Weights(dict[int, str]):
    """What `str.translate` puts in place of each character; filled when a character is first seen."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._own = _OWN_LETTERS.get(language, {})
        self._leading = _LEADING.get(language, "")
        self._encoding = _ENCODINGS.get(language, "")

    def __missing__(self, code: int) -> str:
        weight = self._weight(chr(code))
        if len(self) < _MAX_CHARACTERS:
            self[code] = weight
        return weight

    def _weight(self, letter: str) -> str:
        if letter in self._own:
            return self._own[letter]
        category = unicodedata.category(letter)
        if category.startswith("M"):
            return ""
        if not category.startswith("L"):
            return "\x02" if letter.isspace() else "\x03"
        return self._in_script(letter)

    def _in_script(self, letter: str) -> str:
        code = ord(letter)
        if letter in _SPELLED:
            return "".join(map(self._in_script, _SPELLED[letter]))
        if letter in _CYRILLIC:
            return self._placed(0x400 + _CYRILLIC.index(letter), "cyrillic")
        if code in _KANA or code in _KATAKANA:
            return self._placed(ord(_hiragana(letter)), "kana")
        if unicodedata.name(letter, "").startswith("CJK "):
            return self._placed(self._place_of_character(letter), "han")
        base = unicodedata.normalize("NFD", letter)
        if base != letter:
            return self[ord(base[0])]
        return self._placed(code, "latin")

    def _place_of_character(self, letter: str) -> int:
        """Those that the character set does not hold come after it, in the order of Unicode."""
        try:
            encoded = letter.encode(self._encoding) if self._encoding else b""
        except UnicodeEncodeError:
            encoded = b""
        return 0x10000 + int.from_bytes(encoded) if len(encoded) == 2 else 0x20000 + ord(letter) % 0x20000

    def _placed(self, place: int, script: str) -> str:
        return chr(place + _SHIFT if self._leading and script != self._leading else place)

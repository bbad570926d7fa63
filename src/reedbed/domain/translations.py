"""Translations: who gets one, the check of each translated block, and the state of a translation."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import DAY, Instant, Millis
from reedbed.domain.users import Preferences, read_languages

KIND = "translation"
VERSION = 1

View = Literal["original", "translation", "both"]
VIEWS: tuple[View, ...] = ("original", "translation", "both")
FeedMode = Literal["", "always", "never"]
FEED_MODES: tuple[FeedMode, ...] = ("", "always", "never")

BATCH_BLOCKS = 30
BATCH_CHARS = 3_000
MAX_BLOCKS = 1_500
"""What comes after them stays in the original."""
MAX_TRIES = 2
"""After that a block stays in the original."""
BLOCKS_RETENTION: Millis = 30 * DAY
"""How long single blocks are kept, so that an edited article costs only its changed blocks."""

MARKER = re.compile(r"⟦(/?)(\d{1,4})⟧")
_NUMBER = re.compile(r"\d(?:[\d.,'’\u066b\u066c\u202f\u00a0]*\d)?")
_DIGITS = re.compile(r"\d+")
_LINK = re.compile(r"(?:https?|ftp)://|\bwww\.|\]\(|</?[a-zA-Z]", re.IGNORECASE)
_NAME = re.compile(r"(?<=[^\s.!?:“„\"«(] )[A-Z\u00c0-\u00de][\w’'-]{2,}")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LETTER = re.compile(r"[^\W\d_]")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
SHORT = 24
"""Up to this many letters, lengths of texts say little about each other."""
MIN_NAMES = 3
_CAPITALISES_NOUNS = ("de", "lb")

Problem = Literal["markers", "numbers", "links", "length", "names", "unchanged", "language"]


@record
class Translation:
    """The translation of one entry into one language."""

    entry_id: int
    language: str
    """The language that it is translated into."""
    source: str
    """The language of the original."""
    title: str
    summary: str
    content: str
    """Sanitised HTML."""
    pairs: str
    """The same with each block of the original after its translation."""
    provider: str
    made_at: Instant
    blocks: int
    kept: int
    """Blocks that stay in the original, because they could not be translated faithfully."""


Status = Literal["none", "unneeded", "refused", "pending", "ready", "failed"]


@record
class TranslationState:
    status: Status
    language: str = ""
    source: str = ""
    translation: Translation | None = None
    error: Failure | None = None
    view: View = "original"
    """What this user wants to see."""
    automatic: bool = False
    """This user wants entries like this one translated without asking."""
    outdated: bool = False
    """The entry has changed since it was translated."""


SERVICES = {"libretranslate": "LibreTranslate", "deepl": "DeepL"}
"""Names of services, as they write them. A model is shown by its own name."""


def is_translation(variant: str) -> bool:
    return variant.startswith(f"{KIND}:")


def block_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def stored_key(key: str, feed_id: int, language: str, provider: str) -> str:
    """For one feed: what one article teaches the translator must not change the articles of other feeds."""
    return f"{feed_id}:{key}:{language}:{VERSION}:{provider}"


def base_language(code: str) -> str:
    return code.partition("-")[0].lower()


def same_language(first: str, second: str) -> bool:
    """Whether a reader of one language reads the other: variants of a language are one, the Chinese scripts are not."""
    if base_language(first) == "zh" == base_language(second):
        return _is_traditional(first) == _is_traditional(second)
    return bool(first) and base_language(first) == base_language(second)


def _is_traditional(code: str) -> bool:
    return any(part in code.lower().split("-") for part in ("tw", "hk", "mo", "hant"))


def check_mode(mode: str) -> FeedMode:
    for known in FEED_MODES:
        if mode == known:
            return known
    raise Invalid("A feed is translated always, never, or as the settings say.", field="translate")


def is_automatic(mode: str, language: str, target: str, preferences: Preferences) -> bool:
    """Whether entries of a feed with this mode, in this language, are translated without asking."""
    if not language or same_language(language, target) or mode == "never":
        return False
    if mode == "always":
        return True
    reads = read_languages(preferences.languages_read)
    return preferences.auto_translate and not any(same_language(language, code) for code in reads)


# --- The check of a translated block


def problem_of(original: str, translated: str, *, source: str = "") -> Problem | None:
    """Why this translation of a block with markers cannot be trusted, or None."""
    if not _same_markers(original, translated):
        return "markers"
    before, after = MARKER.sub("", original), MARKER.sub("", translated)
    if "⟦" in after or "⟧" in after:
        return "markers"
    if _LINK.search(after) and not _LINK.search(before):
        return "links"
    if not _same_numbers(before, after):
        return "numbers"
    if not _has_fitting_length(before, after):
        return "length"
    if _lacks_names(before, after, source):
        return "names"
    return "unchanged" if before == after and len(_LETTER.findall(before)) > 2 * SHORT else None


def _same_markers(original: str, translated: str) -> bool:
    """Each marker occurs as often, stands in the same element as before, and none has lost its text."""
    return _shape(original) == _shape(translated)


def _shape(text: str) -> Counter[tuple[str, str, bool]] | None:
    """Each marker with the one around it and whether it has text; None if they are not nested properly."""
    found: Counter[tuple[str, str, bool]] = Counter()
    paired = {number for slash, number in MARKER.findall(text) if slash}
    around: list[str] = [""]
    starts: list[int] = [0]
    for marker in MARKER.finditer(text):
        number = marker[2]
        if marker[1]:
            if around.pop() != number or not around:
                return None
            has_text = bool(MARKER.sub("", text[starts.pop() : marker.start()]).strip())
            found[number, around[-1], has_text] += 1
        elif number in paired:
            around.append(number)
            starts.append(marker.end())
        else:
            found[number, around[-1], False] += 1
    return found if len(around) == 1 else None


def _same_numbers(before: str, after: str) -> bool:
    """Whether both have the same numbers, whatever separates their digits: 1,000 or 1.000, 17:30 or 17.30."""
    return any(_numbers(before, pattern) == _numbers(after, pattern) for pattern in (_NUMBER, _DIGITS))


def _numbers(text: str, pattern: re.Pattern[str]) -> frozenset[str]:
    """In ASCII digits without separators."""
    found = pattern.findall(text)
    return frozenset("".join(str(unicodedata.digit(char)) for char in one if char.isdecimal()) for one in found)


def _has_fitting_length(before: str, after: str) -> bool:
    original, translated = _size(before), _size(after)
    if not translated:
        return False
    if original <= SHORT:
        return translated <= 3 * SHORT + 3 * original
    return 0.3 * original <= translated <= 3 * original


def _size(text: str) -> int:
    """In letters; a Chinese, Japanese or Korean one says as much as about three others."""
    return len(text.strip()) + 2 * len(_WIDE.findall(text))


def _lacks_names(before: str, after: str, source: str) -> bool:
    """Whether a text in Latin letters has lost all the names of the original, which are many."""
    if base_language(source) in _CAPITALISES_NOUNS or not _is_latin(after):
        return False
    names = set(_NAME.findall(before))
    stems = {name[: max(3, len(name) - 3)].lower() for name in names}
    return len(names) >= MIN_NAMES and not any(stem in after.lower() for stem in stems)


def _is_latin(text: str) -> bool:
    return 2 * len(_LATIN.findall(text)) > len(_LETTER.findall(text))


def batches(texts: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Keys and texts in batches of a size that one call can carry."""
    made: list[list[tuple[str, str]]] = []
    size = 0
    for key, text in texts:
        if not made or len(made[-1]) >= BATCH_BLOCKS or size + len(text) > BATCH_CHARS:
            made.append([])
            size = 0
        made[-1].append((key, text))
        size += len(text)
    return made

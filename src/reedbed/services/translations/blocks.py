"""The blocks of an entry: cutting them, checking what a translator made of them, and putting them together."""

from collections.abc import Mapping

from reedbed.domain.text import clean_line, text_direction
from reedbed.domain.times import Instant
from reedbed.domain.translations import (
    MARKER,
    MAX_BLOCKS,
    Translation,
    base_language,
    block_key,
    problem_of,
    same_language,
)
from reedbed.ingest.blocks import Block, CutMarkup, Pair, cut_blocks, put_in_pairs, put_together, without_id
from reedbed.ingest.language import detect_language
from reedbed.ingest.sanitize.cleaner import clean_html
from reedbed.ingest.text import preview
from reedbed.store.translations import TranslationSource

DETECTABLE = 60
"""Letters from which on the language of a single block is checked."""
_RELATED = tuple(
    frozenset(group.split())
    for group in ("da no nb nn sv", "id ms", "hr sr bs sl", "cs sk", "pt es gl ca", "ru bg mk be", "nl af")
)
"""Languages that cannot be distinguished in short texts."""

Texts = Mapping[str, str | None]
"""By the key of the block: its translation, or None where every try failed."""


def block_keys(title: str, html: str, target: str) -> list[str]:
    """The limit for all blocks of an article together."""
    return list(to_translate(title_block(title), cut_article(html), target))


def cut_article(html: str) -> CutMarkup:
    """Cleaned before, as an older version may have written it."""
    return cut_blocks(clean_html(html, None))


def title_block(title: str) -> Block | None:
    text = clean_line(title)
    has_letters = any(char.isalpha() for char in text)
    return Block(block_key(text), text, ()) if has_letters and "⟦" not in text and "⟧" not in text else None


def first_words(markup: CutMarkup) -> str:
    return " ".join(MARKER.sub("", block.text) for block in markup.blocks[:20])


def to_translate(title: Block | None, markup: CutMarkup, target: str) -> dict[str, str]:
    """Texts by key. What is in the reader's language already, such as a quotation, is not sent."""
    blocks = [*([title] if title else []), *markup.blocks[:MAX_BLOCKS]]
    return {block.key: block.text for block in blocks if not _is_in(block.text, target)}


def _is_in(text: str, language: str) -> bool:
    words = MARKER.sub("", text)
    return len(words) >= DETECTABLE and same_language(detect_language(words) or "", language)


# --- The check of an answer


def check_blocks(texts: Mapping[str, str], found: Texts, *, source: str, target: str) -> dict[str, str | None]:
    """The translations that can be trusted; None for the others."""
    checked: dict[str, str | None] = {}
    for key, text in texts.items():
        translated = " ".join((found.get(key) or "").split())
        is_good = bool(translated) and problem_of(text, translated, source=source) is None
        checked[key] = translated if is_good and not _is_in_wrong_language(translated, source, target) else None
    together = " ".join(text for text in checked.values() if text)
    if _is_in_wrong_language(together, source, target):
        return dict.fromkeys(texts)
    return checked


def _is_in_wrong_language(translated: str, source: str, target: str) -> bool:
    words = MARKER.sub("", translated)
    if sum(char.isalpha() for char in words) < DETECTABLE:
        return False
    detected = base_language(detect_language(words) or "")
    wanted, original = base_language(target), base_language(source)
    if not detected or detected == wanted:
        return False
    return detected == original or not any(detected in group and wanted in group for group in _RELATED)


# --- Putting the blocks together


def put_translation(
    source: TranslationSource,
    title: Block | None,
    markup: CutMarkup,
    by_key: Texts,
    *,
    language: str,
    target: str,
    provider: str,
    now: Instant,
) -> Translation:
    """The whole translation. A block without one stays in the original, and says so."""
    sent = to_translate(title, markup, target)

    def translated(block: Block) -> str | None:
        text = by_key.get(block.key)
        return None if text is None else block.markup(text)

    plain = put_together(markup, lambda block: translated(block) or block.markup(block.text))
    content, pairs = clean_html(plain, None), ""
    if content == plain:  # always, unless the sanitiser has become stricter since the entry came
        content = put_together(markup, lambda block: translated(block) or _kept(block, language, block.key in sent))
        pairs = put_in_pairs(markup, translated, lambda pair: _written_pair(pair, language, target))
    translated_title = (title and by_key.get(title.key)) or source.title
    return Translation(
        entry_id=source.entry_id,
        language=target,
        source=language,
        title=translated_title,
        summary=preview(content),
        content=content,
        pairs=pairs,
        provider=provider,
        made_at=now,
        blocks=len(sent),
        kept=sum(by_key.get(key) is None for key in sent),
    )


def _kept(block: Block, language: str, is_marked: bool) -> str:
    """A block in the original, marked if its translation was rejected."""
    markup = block.markup(block.text)
    if not is_marked:
        return markup
    direction = text_direction(block.text, language)
    return f'<span class="kept"{_lang(language)} dir="{direction}">{markup}</span>'


def _written_pair(pair: Pair, language: str, target: str) -> str:
    name = "span" if pair.is_phrase else "div"
    translated = _with_language(pair.start, target, pair.translated)
    original = _with_language(without_id(pair.start), language, pair.original)
    return f'<{name} class="pair">{translated}{pair.translated}{pair.end}{original}{pair.original}{pair.end}</{name}>'


def _with_language(start_tag: str, language: str, text: str) -> str:
    return f'{start_tag[:-1]}{_lang(language)} dir="{text_direction(MARKER.sub("", text), language)}">'


def _lang(language: str) -> str:
    return f' lang="{language}"' if language else ""

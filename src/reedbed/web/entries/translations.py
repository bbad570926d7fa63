"""The translation of an article: the line with its languages, the translated text, and the titles in lists."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import tzinfo

from fastapi import Request
from markupsafe import Markup

from reedbed.domain.entries import Entry, EntryRow
from reedbed.domain.highlights import mark_words_in_html
from reedbed.domain.records import record
from reedbed.domain.text import text_direction
from reedbed.domain.times import Instant
from reedbed.domain.translations import SERVICES, TranslationState, View, same_language
from reedbed.domain.users import User, read_languages
from reedbed.services.images import Pictures
from reedbed.services.runtime import Runtime
from reedbed.services.translations.manage import list_translations, target_language, translation_of
from reedbed.services.users import preferences_of
from reedbed.store.engine.database import Tx
from reedbed.store.translations import ListedTranslation
from reedbed.web.formats import full_time, zone_of
from reedbed.web.i18n import explain, language_name, ngettext, translate
from reedbed.web.views.entries import ArticleView, EntryRowView, TranslationLine
from reedbed.web.views.layout import SelectOption


@record
class ListTranslations:
    """The translated titles of a list."""

    found: Mapping[int, ListedTranslation] = field(default_factory=dict[int, ListedTranslation])
    language: str = ""

    def dress(self, row: EntryRowView, entry: EntryRow) -> EntryRowView:
        listed = self.found.get(entry.id)
        if listed is None:
            return row
        if row.post:
            return replace(row, title=listed.summary or row.title, language=self.language)
        text = listed.summary if row.text else row.text
        return replace(row, title=listed.title, text=text, language=self.language)


async def titles_in_list(runtime: Runtime, tx: Tx, user: User, ids: list[int]) -> ListTranslations:
    found = await list_translations(tx, runtime, user, ids)
    return ListTranslations(found, target_language(runtime, preferences_of(user)) if found else "")


async def with_translation(
    request: Request, runtime: Runtime, tx: Tx, article: ArticleView, entry: Entry, user: User, pictures: Pictures
) -> ArticleView:
    """The article in the user's language, below a line that names the translation and changes it."""
    state = await translation_of(tx, runtime, user, entry)
    line = translation_line(state, user, runtime.now(), zone_of(request))
    if line is None:
        return article
    article = replace(article, translation=line)
    made = state.translation
    if made is None or state.view == "original":
        return article
    both = state.view == "both" and bool(made.pairs)
    words = preferences_of(user).marked_words
    body = mark_words_in_html(words, pictures.in_html(made.pairs if both else made.content))
    return replace(
        article,
        title=made.title or article.title,
        marked_title=Markup(),
        body=Markup(body),  # noqa: S704  sanitised when stored
        language=made.language,
        direction=text_direction(f"{made.title} {made.summary}", made.language),
        translation=replace(line, is_shown=True, is_wide=both),
    )


def translation_line(state: TranslationState, user: User, now: Instant, zone: tzinfo) -> TranslationLine | None:
    """None if there is nothing to translate, or if the user reads the language and did not request one."""
    if state.status in ("unneeded", "none", "refused") and not state.source and state.translation is None:
        return None
    reads = read_languages(preferences_of(user).languages_read)
    is_read = any(same_language(state.source, code) for code in reads)
    if state.status == "unneeded" or (state.status in ("none", "refused") and is_read and state.translation is None):
        return None
    made = state.translation
    options: tuple[SelectOption, ...] = ()
    if made is not None:
        options = _views(state, made.source)
    return TranslationLine(
        state=state.status,
        options=options,
        note=_note(state, now, zone),
        act=_act(state),
        again=state.status in ("ready", "failed"),
        waits=state.status == "pending" or (state.automatic and state.status == "none"),
        is_requested=state.status == "pending",
    )


def _views(state: TranslationState, source: str) -> tuple[SelectOption, ...]:
    names: tuple[tuple[View, str], ...] = (
        ("original", language_name(source) or translate("Original")),
        ("translation", language_name(state.language)),
        ("both", translate("Both")),
    )
    return tuple(SelectOption(value, name, value == state.view) for value, name in names)


def _act(state: TranslationState) -> str:
    if state.status == "none" and not state.automatic:
        return translate("Translate into %(language)s", language=language_name(state.language))
    if state.status == "failed":
        return translate("Try again")
    return translate("Translate again") if state.status == "ready" and state.outdated else ""


def _note(state: TranslationState, now: Instant, zone: tzinfo) -> str:
    made = state.translation
    if state.status == "failed":
        return translate("Not translated: %(why)s", why=explain(state.error))
    if state.status == "refused" and made is None:
        return translate("Translating sends the text to a service. You have not allowed that for this feed.")
    if made is None:
        return translate("Translating…") if state.status == "pending" or state.automatic else ""
    parts = [
        translate(
            "Translated by %(who)s at %(when)s. Names and figures can be wrong.",
            who=SERVICES.get(made.provider, made.provider),
            when=full_time(made.made_at, now, zone).words,
        )
    ]
    if made.kept:
        parts.append(
            ngettext("%(num)s paragraph stays in the original.", "%(num)s paragraphs stay in the original.", made.kept)
        )
    if state.outdated:
        parts.append(translate("The entry has changed since."))
    return " ".join(parts)

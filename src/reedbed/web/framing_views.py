"""Framing as the page shows it: the meter, its reasons, and an article in neutral words."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import tzinfo

from fastapi import Request
from markupsafe import Markup

from reedbed.domain.accounts import Caller, User
from reedbed.domain.entries import EntryPage, EntryRow
from reedbed.domain.framing import Analysis, AnalysisState, Treatment, band_of, treatment
from reedbed.domain.framing import Score as Scored
from reedbed.domain.preferences import Preferences
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.services.framing import analyses_of, analysis_state
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.store.database import Tx
from reedbed.web.moments import full_moment, zone_of
from reedbed.web.sentences import retell
from reedbed.web.speech import decimal, translate
from reedbed.web.views.frame import Choice
from reedbed.web.views.framing import Framing, FramingBlock, Neutral, Reeds, Score, reeds
from reedbed.web.views.reading import Article, Row


@record
class ListFraming:
    """What a list knows of the framing of its entries, and what its reader wants of it."""

    found: Mapping[int, Analysis] = field(default_factory=dict[int, Analysis])
    wishes: Preferences = field(default=Preferences())

    def without_hidden(self, page: EntryPage, current: int | None) -> EntryPage:
        """The page without what is too loud for this reader; never without the entry that is open."""
        kept = [row for row in page.rows if row.id == current or not self._treatment(row).hide]
        return page if len(kept) == len(page.rows) else replace(page, rows=tuple(kept))

    def dress(self, row: Row, entry: EntryRow) -> Row:
        analysis = self.found.get(entry.id)
        if analysis is None:
            return row
        wanted = self._treatment(entry)
        dressed = replace(row, reeds=reeds_view(analysis), dim=wanted.dim)
        if not wanted.neutral:
            return dressed
        return replace(
            dressed,
            title=analysis.title,
            text=analysis.description or row.text,
            language=analysis.language or row.language,
        )

    def _treatment(self, entry: EntryRow) -> Treatment:
        found = self.found.get(entry.id)
        return Treatment() if found is None else wanted_treatment(found, self.wishes)


async def list_framing(request: Request, tx: Tx, ids: list[int]) -> ListFraming:
    user = _user(request)
    return ListFraming() if user is None else ListFraming(await analyses_of(tx, ids), preferences_of(user))


async def with_framing(
    request: Request, runtime: Runtime, tx: Tx, article: Article, entry: EntryRow, address: str
) -> Article:
    """The article with its meter and, where it was put into neutral words, in the wanted wording."""
    user = _user(request)
    state = AnalysisState("none") if user is None else await analysis_state(tx, runtime, entry)
    if user is None or state.status == "none":
        return article
    block = framing_block(state, runtime.now(), zone_of(request))
    found = state.analysis
    if found is None:
        return replace(article, framing=block)
    asked = request.query_params.get("wording")
    neutral = asked == "neutral" if asked else wanted_treatment(found, preferences_of(user)).neutral
    framed = replace(article, framing=block, wordings=_wordings(address, neutral=neutral))
    return _in_neutral_words(framed, found) if neutral else framed


def framing_block(state: AnalysisState, now: Instant, zone: tzinfo) -> FramingBlock:
    found, made_at = state.analysis, state.made_at
    when = full_moment(made_at, now, zone).words if made_at else ""
    framing = framing_view(found, when) if found else None
    match state.status:
        case "pending":
            return FramingBlock(framing, translate("A model is reading this entry…"), waits=True)
        case "failed":
            note = translate("The model could not read this entry: %(why)s", why=retell(state.error or ""))
            return FramingBlock(framing, note, act=translate("Try again"))
        case _ if state.outdated:
            note = translate("The entry, the model or the prompt has changed since this was read.")
            return FramingBlock(framing, note, act=translate("Read again"))
        case _:
            return FramingBlock(framing)


def framing_view(found: Analysis, when: str) -> Framing:
    return Framing(
        reeds=reeds_view(found),
        number=decimal(found.overall.value, 2),
        scores=tuple(_score(score, found.language) for score in found.scores),
        by=found.model,
        when=when,
        reason=found.overall.reason,
    )


def reeds_view(found: Analysis) -> Reeds:
    band = band_of(found.overall.value)
    return reeds(band, band_word(band), [score.value for score in found.scores])


def band_word(band: str) -> str:
    return {"calm": translate("calm"), "mixed": translate("mixed"), "loud": translate("loud")}[band]


def wanted_treatment(found: Analysis, wishes: Preferences) -> Treatment:
    return treatment(
        found.overall.value,
        wording=wishes.wording,
        loud_entries=wishes.loud_entries,
        loud_limit=wishes.loud_limit,
    )


def _score(score: Scored, language: str) -> Score:
    names = {
        "framing": translate("Framing"),
        "clickbait": translate("Clickbait"),
        "persuasive": translate("Persuasive"),
        "hyper_stimulus": translate("Hyper-stimulus"),
        "speculative": translate("Speculative"),
    }
    return Score(
        name=names[score.name],
        band=band_of(score.value),
        number=decimal(score.value, 2),
        percent=round(score.value * 100),
        reason=score.reason,
        quote=score.quote,
        language=language,
    )


def _wordings(address: str, *, neutral: bool) -> tuple[Choice, ...]:
    joined = "&" if "?" in address else "?"
    return (
        Choice("original", translate("Original"), not neutral, f"{address}{joined}wording=original"),
        Choice("neutral", translate("Neutral"), neutral, f"{address}{joined}wording=neutral"),
    )


def _in_neutral_words(article: Article, found: Analysis) -> Article:
    told = found.text or found.description
    paragraphs = [Markup("<p>{}</p>").format(part) for part in told.split("\n\n") if part.strip()]
    reasons = tuple(reason for reason in (found.title_reason, found.description_reason) if reason)
    return replace(
        article,
        title=found.title,
        body=Markup("").join(paragraphs) if paragraphs else article.body,
        language=found.language or article.language,
        neutral=Neutral(found.model, article.title, reasons),
    )


def _user(request: Request) -> User | None:
    caller: Caller | None = getattr(request.state, "caller", None)
    return caller.user if caller else None

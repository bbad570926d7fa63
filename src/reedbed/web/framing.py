"""Framing scores in lists, articles and feed pages, and the user's framing settings."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import tzinfo
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request, Response
from markupsafe import Markup

from reedbed.domain.entries import EntryPage, EntryRow
from reedbed.domain.errors import Conflict
from reedbed.domain.framing import Analysis, AnalysisState, Average, Treatment, score_band, treatment
from reedbed.domain.framing import Score as Scored
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, Preferences, User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.framing.manage import (
    MAX_WEEKS,
    WEEK,
    analyses_of,
    analysis_state,
    framing_of_feed,
    get_analysis,
    request_analysis,
    set_analysis_request,
)
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store.engine.database import Tx
from reedbed.web.formats import full_time, short_time, zone_of
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import decimal, explain, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.plots import HIGH, PlotSpan, line
from reedbed.web.settings import settings_page
from reedbed.web.views.entries import ArticleView, EntryRowView
from reedbed.web.views.feeds import FeedFramingView
from reedbed.web.views.framing import Framing, FramingAnswer, FramingBlock, Neutral, ScoreBars, ScoreView, score_bars
from reedbed.web.views.instance import Plot
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import FramingSettings


@record
class ListFraming:
    """The analyses of a list's entries and the user's framing preferences."""

    found: Mapping[int, Analysis] = field(default_factory=dict[int, Analysis])
    preferences: Preferences = field(default=Preferences())

    def without_hidden(self, page: EntryPage, current: int | None) -> EntryPage:
        """The page without entries the user hides as too loud; the open entry always stays."""
        visible = [row for row in page.rows if row.id == current or not self._treatment(row).hide]
        return page if len(visible) == len(page.rows) else replace(page, rows=tuple(visible))

    def dress(self, row: EntryRowView, entry: EntryRow) -> EntryRowView:
        analysis = self.found.get(entry.id)
        if analysis is None:
            return row
        style = self._treatment(entry)
        framed = replace(row, score_bars=score_bars_view(analysis), dim=style.dim)
        if not style.neutral:
            return framed
        return replace(
            framed,
            title=analysis.title,
            text=analysis.description or row.text,
            language=analysis.language or row.language,
        )

    def _treatment(self, entry: EntryRow) -> Treatment:
        analysis = self.found.get(entry.id)
        return Treatment() if analysis is None else treatment_for(analysis, self.preferences)


async def list_framing(request: Request, tx: Tx, ids: list[int]) -> ListFraming:
    user = _user(request)
    return ListFraming() if user is None else ListFraming(await analyses_of(tx, ids), preferences_of(user))


async def with_framing(
    request: Request, runtime: Runtime, tx: Tx, article: ArticleView, entry: EntryRow, url: str
) -> ArticleView:
    """The article with its framing scores, and in neutral wording if requested or preferred."""
    user = _user(request)
    state = AnalysisState("none") if user is None else await analysis_state(tx, runtime, entry)
    if user is None or state.status == "none":
        return article
    block = framing_block(state, runtime.now(), zone_of(request))
    analysis = state.analysis
    if analysis is None:
        return replace(article, framing=block)
    requested = request.query_params.get("wording")
    neutral = requested == "neutral" if requested else treatment_for(analysis, preferences_of(user)).neutral
    framed = replace(article, framing=block, wordings=_wording_options(url, neutral=neutral))
    return _neutral_article(framed, analysis) if neutral else framed


def framing_block(state: AnalysisState, now: Instant, zone: tzinfo) -> FramingBlock:
    analysis, made_at = state.analysis, state.made_at
    when = full_time(made_at, now, zone).words if made_at else ""
    framing = framing_view(analysis, when) if analysis else None
    match state.status:
        case "pending":
            return FramingBlock(framing, translate("A model is reading this entry…"), waits=True)
        case "failed":
            note = translate("The model could not read this entry: %(why)s", why=explain(state.error))
            return FramingBlock(framing, note, act=translate("Try again"))
        case _ if state.outdated:
            note = translate("The entry, the model or the prompt has changed since this was read.")
            return FramingBlock(framing, note, act=translate("Read again"))
        case _:
            return FramingBlock(framing)


def framing_view(analysis: Analysis, when: str) -> Framing:
    return Framing(
        score_bars=score_bars_view(analysis),
        number=decimal(analysis.overall.value, 2),
        scores=tuple(_score(score, analysis.language) for score in analysis.scores),
        by=analysis.model,
        when=when,
        reason=analysis.overall.reason,
    )


def score_bars_view(analysis: Analysis) -> ScoreBars:
    band = score_band(analysis.overall.value)
    return score_bars(band, band_label(band), [score.value for score in analysis.scores])


def band_label(band: str) -> str:
    return {"calm": translate("calm"), "mixed": translate("mixed"), "loud": translate("loud")}[band]


def treatment_for(analysis: Analysis, preferences: Preferences) -> Treatment:
    return treatment(
        analysis.overall.value,
        wording=preferences.wording,
        loud_entries=preferences.loud_entries,
        loud_limit=preferences.loud_limit,
    )


def _score(score: Scored, language: str) -> ScoreView:
    names = {
        "framing": translate("Framing"),
        "clickbait": translate("Clickbait"),
        "persuasive": translate("Persuasive"),
        "hyper_stimulus": translate("Hyper-stimulus"),
        "speculative": translate("Speculative"),
    }
    return ScoreView(
        name=names[score.name],
        band=score_band(score.value),
        number=decimal(score.value, 2),
        percent=round(score.value * 100),
        reason=score.reason,
        quote=score.quote,
        language=language,
    )


def _wording_options(url: str, *, neutral: bool) -> tuple[SelectOption, ...]:
    separator = "&" if "?" in url else "?"
    return (
        SelectOption("original", translate("Original"), not neutral, f"{url}{separator}wording=original"),
        SelectOption("neutral", translate("Neutral"), neutral, f"{url}{separator}wording=neutral"),
    )


def _neutral_article(article: ArticleView, analysis: Analysis) -> ArticleView:
    text = analysis.text or analysis.description
    paragraphs = [Markup("<p>{}</p>").format(part) for part in text.split("\n\n") if part.strip()]
    reasons = tuple(reason for reason in (analysis.title_reason, analysis.description_reason) if reason)
    return replace(
        article,
        title=analysis.title,
        body=Markup("").join(paragraphs) if paragraphs else article.body,
        language=analysis.language or article.language,
        neutral=Neutral(analysis.model, article.title, reasons),
    )


def _user(request: Request) -> User | None:
    caller: Caller | None = getattr(request.state, "caller", None)
    return caller.user if caller else None


router = APIRouter(include_in_schema=False)

LIMITS = (20, 34, 50, 67, 80, 90)


@router.get("/entry/{entry_id}/framing")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    if not is_htmx(request):
        return see_other(request, f"/entry/{entry_id}")
    return await _block(request, runtime, entry_id, await get_analysis(runtime, caller.user, entry_id))


@router.post("/entry/{entry_id}/framing")
async def again(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, next: Text = "/"
) -> Response:
    state = await request_analysis(runtime, caller.user, entry_id)
    if is_htmx(request):
        return await _block(request, runtime, entry_id, state)
    return see_other(request, next if next != "/" else f"/entry/{entry_id}")


@router.post("/feeds/{subscription_id}/framing")
async def switch(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    subscription_id: IdPath,
    value: FormFlag,
    remote_ai: FormFlag = False,
) -> Response:
    """The checkbox next to the switch is the user's consent to send texts to a remote model."""
    user, back = caller.user, f"/feeds/{subscription_id}/edit#framing"
    if value and remote_ai and not preferences_of(user).remote_ai:
        user = await set_preferences(runtime, caller, {"remote_ai": True})
    try:
        await set_analysis_request(runtime, user, subscription_id, requested=value)
    except Conflict as error:
        return see_other(request, back, toast=Toast(explain(error)))
    message = (
        translate("New entries of this feed are read for their framing.")
        if value
        else translate("This feed is not read for its framing any more.")
    )
    return see_other(request, back, toast=Toast(message))


@router.get("/settings/framing")
async def show_settings(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await settings_page(request, runtime, caller, "framing", _settings(runtime, preferences_of(caller.user)))


@router.post("/settings/framing")
async def save_settings(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    wording: Text = "original",
    loud_entries: Text = "show",
    loud_limit: Annotated[int, Form()] = 67,
    remote_ai: FormFlag = False,
) -> Response:
    changes = {"wording": wording, "loud_entries": loud_entries, "loud_limit": loud_limit}
    sends = runtime.ai.model is not None and runtime.ai.model.is_remote
    await set_preferences(runtime, caller, {**changes, **({"remote_ai": remote_ai} if sends else {})})
    return see_other(request, "/settings/framing", toast=Toast(translate("Saved.")))


async def _block(request: Request, runtime: Runtime, entry_id: int, state: AnalysisState) -> Response:
    block = framing_block(state, runtime.now(), zone_of(request))
    return await page(request, "entries/framing.html", None, article=FramingAnswer(entry_id, block))


def _settings(runtime: Runtime, preferences: Preferences) -> FramingSettings:
    model = runtime.ai.model
    limits = sorted({*LIMITS, preferences.loud_limit})
    return FramingSettings(
        wordings=(
            SelectOption("original", translate("As the outlet wrote them"), preferences.wording == "original"),
            SelectOption("neutral", translate("In neutral words"), preferences.wording == "neutral"),
        ),
        loud=tuple(
            SelectOption(value, name, value == preferences.loud_entries)
            for value, name in (
                ("show", translate("Show them like all others")),
                ("dim", translate("Show them dimmed")),
                ("rewrite", translate("Show them in neutral words")),
                ("hide", translate("Hide them in lists")),
            )
        ),
        limits=tuple(
            SelectOption(str(limit), decimal(limit / 100, 2), limit == preferences.loud_limit) for limit in limits
        ),
        model=model.name if model else "",
        sends=model is not None and model.is_remote,
        allowed=preferences.remote_ai,
    )


async def feed_framing(runtime: Runtime, user: User, subscription: Subscription, zone: tzinfo) -> FeedFramingView:
    framing = await framing_of_feed(runtime, user, subscription.id)
    deframed_feed_url = f"/rss?url={quote(subscription.feed.url, safe='')}" if framing.for_all_users else ""
    return FeedFramingView(
        on=framing.requested,
        for_all_users=framing.for_all_users,
        model=framing.model or "",
        asks=framing.sends and not framing.allowed,
        deframed_feed_url=deframed_feed_url,
        plot=averages_plot(framing.averages, runtime.now(), zone) if framing.averages else None,
    )


def averages_plot(averages: Sequence[Average], now: Instant, zone: tzinfo) -> Plot:
    """Weekly averages on a scale from calm (bottom) to loud (top), with the number of articles."""
    span = PlotSpan(MAX_WEEKS * WEEK, MAX_WEEKS)
    begin = now // WEEK * WEEK - (MAX_WEEKS - 1) * WEEK
    articles = sum(week.articles for week in averages)
    mean = sum(week.overall * week.articles for week in averages) / articles
    article_count = ngettext("%(num)s article", "%(num)s articles", articles)
    points = [((week.since - begin) // WEEK, HIGH * (1 - week.overall)) for week in averages]
    return Plot(
        title=translate("Overall framing, week by week"),
        figure=decimal(mean, 2),
        note=translate("%(articles)s, scale 0 to 1", articles=article_count),
        finding=translate(
            "On average %(mean)s (%(word)s) over %(articles)s.",
            mean=decimal(mean, 2),
            word=band_label(score_band(mean)),
            articles=article_count,
        ),
        axis=(
            short_time(begin, now, zone).words,
            short_time(begin + span.length // 2, now, zone).words,
            translate("this week"),
        ),
        line=line(points, span),
    )

"""The order by interest: rows of lists, why an entry stands where it does, and the page of what Reedbed believes."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import exp

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.interest.model import PINS, Belief, ScoreTerm
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath, path_id
from reedbed.services.interest import (
    WINDOW,
    Explanation,
    InterestReport,
    RankedList,
    explain,
    explain_entry,
    get_report,
    list_ranked,
    reset,
    set_pin,
    worth_it,
)
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.interest import Ranking
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import language_name, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.entries import ArticleView, EntryRowView
from reedbed.web.views.interest import InterestPage, InterestReason, OrderNote, WhyAnswer, WhyView
from reedbed.web.views.layout import HiddenField, SelectOption, Toast

# --- Lists


@record
class ListInterest:
    """What a list knows of the user's interest."""

    outside: frozenset[int] = frozenset()
    worth_it: frozenset[int] = frozenset()
    note: OrderNote | None = None
    is_ranked: bool = False
    to_keep: Ranking | None = None
    terms: Mapping[int, Sequence[ScoreTerm]] = field(default_factory=dict[int, Sequence[ScoreTerm]])

    def dress(self, view: EntryRowView) -> EntryRowView:
        if view.id in self.outside:
            reason = translate("From outside of what you usually read.")
            return replace(view, interest=translate("Something else"), why=reason)
        if view.id in self.terms:
            return replace(view, why=_why_line(self.terms[view.id], view.source))
        return replace(view, interest=translate("Worth it")) if view.id in self.worth_it else view


async def entries_of_list(
    tx: Tx, user: User, query: ViewQuery, start: Cursor | None, limit: int, now: Instant
) -> tuple[EntryPage | None, ListInterest]:
    """A page of the list, ranked by interest if that is its order."""
    if query.order != "interest":
        found = await entries.page(tx, user.id, query, start, limit)
        return found, ListInterest(worth_it=await worth_it(tx, user, found.rows if found else ()))
    ranked = await list_ranked(tx, user.id, query, start, limit, now)
    if ranked is None:
        return None, ListInterest()
    note = _order_note(ranked) if start is None else None
    return ranked.page, ListInterest(
        outside=ranked.outside, note=note, is_ranked=ranked.is_ranked, to_keep=ranked.to_keep, terms=ranked.terms
    )


def _order_note(ranked: RankedList) -> OrderNote:
    if ranked.is_ranked and ranked.has_older:
        return OrderNote(translate("The newest %(count)s by your interest; older ones follow by time.", count=WINDOW))
    if ranked.is_ranked:
        return OrderNote(translate("By your interest. Nothing is hidden."))
    return OrderNote(f"{translate('In order of time.')} {_why_by_time(ranked.verdict, ranked.acts)}")


def _why_by_time(verdict: str, acts: int) -> str:
    match verdict:
        case "learning":
            return translate("Reedbed has learnt from %(acts)s of 30 acts of yours.", acts=acts)
        case "uniform":
            return translate("You choose nearly everything, or one source only: there is nothing to learn from yet.")
        case _:
            return translate("Lately, what Reedbed learnt was no better than that.")


# --- Why an entry stands where it does

ORDER_OF_KINDS = ("author", "word", "phrase", "source", "section", "language", "length")
GENERAL = ("section", "language", "length")
"""Named last: many entries share them."""
NOTICEABLE = 0.1
MAX_TOPICS = 3


async def with_why(tx: Tx, user: User | None, article: ArticleView, row: EntryRow) -> ArticleView:
    """Costs nothing unless the user has switched it on."""
    if user is None or not preferences_of(user).interest:
        return article
    explanation = await explain(tx, user.id, row, article.feed_name)
    return replace(article, why=_why_view(explanation))


def _why_view(explanation: Explanation) -> WhyView:
    terms = [term for term in explanation.terms if term.feature.kind != "base"]
    topics = [term for term in terms if term.feature.kind in ("word", "phrase")]
    topics = [term for term in topics if abs(term.value) >= NOTICEABLE / 2][:MAX_TOPICS] or topics[:1]
    shown = [
        term
        for term in terms
        if term in topics or term.feature.kind in ("author", "source") or abs(term.value) >= NOTICEABLE or term.pin
    ]
    shown.sort(key=lambda term: ORDER_OF_KINDS.index(term.feature.kind))
    return WhyView(_why_line(explanation.terms), tuple(map(_reason_of_term, shown[:10])))


def _why_line(terms: Sequence[ScoreTerm], source: str = "") -> str:
    """`source` is the title of the feed where the terms do not name it."""
    reasons = [term for term in terms if term.feature.kind != "base" and abs(term.value) >= NOTICEABLE]
    reasons.sort(key=lambda term: term.feature.kind in GENERAL)
    names = [_name(term.feature.kind, term.feature.label or source) for term in reasons]
    likes = [name for term, name in zip(reasons, names, strict=True) if term.value > 0]
    dislikes = [name for term, name in zip(reasons, names, strict=True) if term.value < 0]
    if sum(term.value for term in reasons) >= 0 and likes:
        if len(likes) > 1:
            return translate("Because you often read %(first)s and %(second)s.", first=likes[0], second=likes[1])
        return translate("Because you often read %(first)s.", first=likes[0])
    if dislikes:
        return translate("Further down because you often pass by %(first)s.", first=dislikes[0])
    return translate("Nothing here that you usually read or pass by.")


def _name(kind: str, label: str) -> str:
    match kind:
        case "word" | "phrase":
            return translate("“%(words)s”", words=label)
        case "language":
            return translate("texts in the language %(code)s", code=language_name(label) or label)
        case "length":
            names = {"short": translate("short texts"), "long": translate("long texts")}
            return names.get(label, translate("texts of middle length"))
        case _:
            return label or translate("Without a title")


def _kind(kind: str) -> str:
    names = {
        "author": translate("Author"),
        "source": translate("Source"),
        "section": translate("Part of the site"),
        "language": translate("Language"),
        "length": translate("Length"),
    }
    return names.get(kind, translate("Topic"))


def _reason_of_term(term: ScoreTerm) -> InterestReason:
    return _reason(term.feature.kind, term.feature.value, term.feature.label, term.value, term.pin)


def _reason(kind: str, value: str, label: str, weight: float, pin: str) -> InterestReason:
    return InterestReason(
        kind=_kind(kind),
        name=_name(kind, label),
        fact=_fact(weight, pin),
        fields=(HiddenField("kind", kind), HiddenField("label", value if kind == "source" else label)),
        pins=tuple(SelectOption(name, text, name == pin) for name, text in _pin_names().items()),
    )


def _pin_names() -> dict[str, str]:
    return {"more": translate("More"), "less": translate("Less"), "never": translate("Never use this")}


def _fact(weight: float, pin: str) -> str:
    if pin == "never":
        return translate("Not used, as you said")
    if abs(weight) < NOTICEABLE / 2:
        return translate("Nothing learnt yet") if not pin else ""
    factor = f"{exp(weight):.1f}" if abs(weight) < 3 else f"{exp(weight):.0f}" if weight > 0 else f"{exp(weight):.2f}"
    fact = translate("%(factor)s times the odds that you read it", factor=factor)
    return translate("%(fact)s, as you said", fact=fact) if pin else fact


# --- Pages

router = APIRouter(include_in_schema=False)

SHOWN = 20


@router.get("/interest")
async def show_interest(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        report = await get_report(tx, caller.user_id)
    return await app_page(request, runtime, caller, "interest/page.html", _interest_page(caller, report))


def _interest_page(caller: Caller, report: InterestReport) -> InterestPage:
    preferences = preferences_of(caller.user)
    free = [belief for belief in report.beliefs if not belief.pin and abs(belief.weight) >= NOTICEABLE]
    likes = [belief for belief in free if belief.weight > 0]
    dislikes = [belief for belief in reversed(free) if belief.weight < 0]
    return InterestPage(
        on=preferences.interest,
        marks=preferences.interest_marks,
        digests=preferences.interest_digests,
        state=_state(report),
        figures=tuple(_figures(report)),
        likes=tuple(map(_reason_of_belief, likes[:SHOWN])),
        dislikes=tuple(map(_reason_of_belief, dislikes[:SHOWN])),
        pinned=tuple(_reason_of_belief(belief) for belief in report.beliefs if belief.pin),
    )


def _reason_of_belief(belief: Belief) -> InterestReason:
    return _reason(belief.kind, belief.value, belief.label, belief.weight, belief.pin)


def _state(report: InterestReport) -> str:
    if report.verdict == "better":
        return translate("In use: it is better than plain time order.")
    if report.verdict == "unmeasured":
        return translate("In use. Whether it is better than plain time order will be known after a few more sessions.")
    return f"{translate('Not in use: lists are in order of time.')} {_why_by_time(report.verdict, _acts(report))}"


def _acts(report: InterestReport) -> int:
    return report.chosen + report.passed


def _figures(report: InterestReport) -> list[str]:
    figures = [
        ngettext("You chose %(num)s entry that it saw.", "You chose %(num)s entries that it saw.", report.chosen),
        ngettext("You passed by %(num)s.", "You passed by %(num)s.", report.passed),
    ]
    if report.rates is not None:
        figures.append(
            translate(
                "Of %(pairs)s pairs of an entry you chose and one you passed by, it had the chosen one first in "
                "%(model)s %%; order of time had it first in %(time)s %%.",
                pairs=report.rates.pairs,
                model=round(100 * report.rates.model),
                time=round(100 * report.rates.time),
            )
        )
    return figures


@router.post("/interest")
async def save_interest(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    on: FormFlag = False,
    marks: FormFlag = False,
    digests: FormFlag = False,
) -> Response:
    wanted = {"interest": on, "interest_marks": marks, "interest_digests": digests}
    await set_preferences(runtime, caller, wanted)
    return see_other(request, "/interest", toast=Toast(translate("Saved.")))


@router.post("/interest/reset")
async def forget(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await reset(runtime, caller.user_id)
    return see_other(request, "/interest", toast=Toast(translate("Everything that was learnt is forgotten.")))


@router.post("/interest/pin")
async def pin_reason(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    kind: Text,
    label: Text,
    pin: Text = "",
    entry: Text = "",
    next: Text = "/interest",
) -> Response:
    """With an entry, htmx gets its reasons as they are now."""
    before = await set_pin(runtime, caller.user_id, kind, storable(label), pin if pin in PINS else "")
    done = _done(kind, label, pin)
    if not is_htmx(request) or not entry:
        return see_other(request, next, toast=Toast(done))
    entry_id = path_id(entry)
    view = _why_view(await explain_entry(runtime, caller.user_id, entry_id))
    undo = (HiddenField("kind", kind), HiddenField("label", label), HiddenField("pin", before))
    answer = WhyAnswer(entry_id, replace(view, open=True, done=done, undo=undo))
    return await page(request, "interest/why.html", None, article=answer)


def _done(kind: str, label: str, pin: str) -> str:
    name = translate("this source") if kind == "source" else _name(kind, label)
    texts = {
        "more": translate("You will see more of %(name)s.", name=name),
        "less": translate("You will see less of %(name)s.", name=name),
        "never": translate("%(name)s is not used any more.", name=name),
    }
    return texts.get(pin, translate("Reedbed decides again about %(name)s.", name=name))


@router.get("/interest/entry/{entry_id}")
async def show_why(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    view = _why_view(await explain_entry(runtime, caller.user_id, entry_id))
    return await page(request, "interest/why.html", None, article=WhyAnswer(entry_id, replace(view, open=True)))

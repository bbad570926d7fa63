"""Ask questions about the user's own entries: ask, show an answer with its sources, list and delete."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from reedbed.domain.digests import DigestScope, Sentence
from reedbed.domain.errors import Invalid
from reedbed.domain.questions import FAILED, Question, names_to_ask
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath, SearchLimit, path_id
from reedbed.services.ai import variant_for
from reedbed.services.questions import ask_question, delete_question, get_question, watch_question
from reedbed.services.runtime import Runtime
from reedbed.store import questions
from reedbed.store.entries import read as entries
from reedbed.web.digests import EVERYTHING, marks_of, parse_scope, scope_value, scopes_of, source_views
from reedbed.web.formats import full_time, zone_of
from reedbed.web.forms import Text
from reedbed.web.i18n import enumerated, explain, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.digests import AskPage, QuestionPage, QuestionView, QuoteView, SentenceView, SourceView
from reedbed.web.views.layout import FeedMark, Toast


def question_page(
    question: Question,
    marks: Mapping[int, FeedMark],
    now: Instant,
    zone: tzinfo,
    addresses: Mapping[int, str] | None = None,
) -> QuestionPage:
    answer = question.answer
    sources = source_views(answer.sources, marks, now, zone)
    by_entry = {source.entry_id: source for source in sources}
    quotes = _quotes(question, by_entry)
    quoted = {quote.source.entry_id for quote in quotes}
    return QuestionPage(
        id=question.id,
        question=question.question,
        when=full_time(question.created_at, now, zone),
        status=question.status,
        facts=_facts(question),
        by=question.model,
        built_in=question.model == EXTRACT,
        fallback=answer.fallback,
        error=explain(question.error or FAILED) if question.status == "failed" else "",
        claims=tuple(
            SentenceView(claim.text, tuple(by_entry[id_] for id_ in claim.entry_ids), claim.language)
            for claim in answer.claims
        )
        if question.model != EXTRACT
        else (),
        quotes=quotes,
        sources=tuple(source for source in sources if source.entry_id not in quoted),
        nearest=source_views(answer.nearest, marks, now, zone),
        missing=enumerated(answer.missing),
        search_url=f"/search?{urlencode({'q': question.question})}",
        can_be_watched=question.can_be_watched,
        is_watched=question.watched_at is not None,
        copy=_copied(question, sources, addresses or {}) if answer.claims else "",
        ask_next=names_to_ask(question),
        about=scope_value(question.scope),
    )


def _copied(question: Question, sources: Sequence[SourceView], addresses: Mapping[int, str]) -> str:
    """The answer as text: each sentence with the numbers of its sources, and the sources below."""
    numbers = {source.entry_id: number for number, source in enumerate(question.answer.sources, 1)}
    claims = [
        " ".join([f"“{claim.text}”" if question.model == EXTRACT else claim.text, _numbered(claim, numbers)])
        for claim in question.answer.claims
    ]
    cited = [
        f"[{view.number}] {view.feed}, {view.when.iso[:10]}: {view.title}\n{addresses.get(source.entry_id, '')}".strip()
        for source, view in zip(question.answer.sources, sources, strict=True)
    ]
    return "\n\n".join([question.question, "\n".join(claims), "\n".join(cited)])


def _numbered(claim: Sentence, numbers: Mapping[int, int]) -> str:
    return "".join(f"[{numbers[id_]}]" for id_ in claim.entry_ids)


def _quotes(question: Question, sources: Mapping[int, SourceView]) -> tuple[QuoteView, ...]:
    """The words of entries that the answer rests on: those of the claims, or the claims themselves."""
    is_built_in = question.model == EXTRACT
    seen: set[int] = set()
    quotes: list[QuoteView] = []
    for claim in question.answer.claims:
        if text := claim.text if is_built_in else claim.quote:
            source = sources[claim.entry_ids[0]]
            quotes.append(QuoteView(text, source, source.language, is_first=source.number not in seen))
            seen.add(source.number)
    return tuple(quotes)


def question_line(question: Question, now: Instant, zone: tzinfo) -> QuestionView:
    return QuestionView(
        id=question.id,
        url=f"/ask/{question.id}",
        question=question.question,
        when=full_time(question.created_at, now, zone),
        status=question.status,
        beginning=_beginning(question),
    )


def _beginning(question: Question) -> str:
    match question.status:
        case "pending":
            return translate("Looking for an answer…")
        case "failed":
            return explain(question.error or FAILED)
        case "ready":
            claims = question.answer.claims
            return claims[0].text if claims else translate("Nothing in your entries answers this.")


def _facts(question: Question) -> str:
    if question.status != "ready":
        return ""
    facts = ngettext("%(num)s entry was read.", "%(num)s entries were read.", question.answer.read)
    if not question.answer.dropped:
        return facts
    left_out = ngettext(
        "%(num)s claim was left out because no entry supported it.",
        "%(num)s claims were left out because no entry supported them.",
        question.answer.dropped,
    )
    return f"{facts} {left_out}"


router = APIRouter(include_in_schema=False)

PAGE_SIZE = 30


@router.get("/ask")
async def show_all(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _list_page(request, runtime, caller, question=request.query_params.get("question", "")[:500])


@router.post("/ask")
async def ask(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    _: SearchLimit,
    question: Text = "",
    about: Text = "",
) -> Response:
    scope = parse_scope(about)
    try:
        created = await ask_question(runtime, caller.user, question, scope)
    except Invalid as error:
        return await _list_page(
            request, runtime, caller, question=question, scope=scope, error=explain(error), status=400
        )
    return see_other(request, f"/ask/{created.id}")


@router.get("/ask/{question_id}")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Response:
    question = await get_question(runtime, caller.user_id, question_id)
    answer = question.answer
    async with runtime.db.read() as tx:
        rows = await entries.rows_by_ids(tx, caller.user_id, [source.entry_id for source in answer.sources])
        marks = await marks_of(tx, caller.user_id, (*answer.sources, *answer.nearest))
    view = question_page(question, marks, runtime.now(), zone_of(request), {row.id: row.url or "" for row in rows})
    if is_htmx(request):
        return await page(request, "questions/answer.html", view, block="answer")
    return await app_page(request, runtime, caller, "questions/answer.html", view)


@router.post("/ask/{question_id}/watch")
async def watch(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath, value: Text = ""
) -> Response:
    try:
        question = await watch_question(runtime, caller.user_id, question_id, on=value == "true")
    except Invalid as error:
        return see_other(request, f"/ask/{question_id}", toast=Toast(explain(error)))
    is_watched = question.watched_at is not None
    message = (
        translate("You will be notified when an entry answers this.") if is_watched else translate("No longer watched.")
    )
    return see_other(request, f"/ask/{question_id}", toast=Toast(message))


@router.post("/ask/{question_id}/delete")
async def delete(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Response:
    await delete_question(runtime, caller.user_id, question_id)
    return see_other(request, "/ask", toast=Toast(translate("Deleted.")))


async def _list_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    question: str = "",
    scope: DigestScope = EVERYTHING,
    error: str = "",
    status: int = 200,
) -> Response:
    before = request.query_params.get("before", "")
    async with runtime.db.read() as tx:
        start = path_id(before) if before else None
        rows = await questions.newest(tx, caller.user_id, limit=PAGE_SIZE + 1, before=start)
        scopes = await scopes_of(tx, caller.user_id)
    now, zone, model = runtime.now(), zone_of(request), runtime.ai.model
    is_sent = model is not None and model.is_remote and variant_for(runtime, caller.user).model == model.name
    view = AskPage(
        lines=tuple(question_line(row, now, zone) for row in rows[:PAGE_SIZE]),
        about=scopes.choices(scope),
        question=question,
        error=translate(error) if error else "",
        next_url=f"/ask?before={rows[PAGE_SIZE - 1].id}" if len(rows) > PAGE_SIZE else "",
        sends_to=model.name if is_sent and model is not None else "",
    )
    return await app_page(request, runtime, caller, "questions/list.html", view, status=status)

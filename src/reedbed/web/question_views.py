"""From a question to what the page shows of it."""

from datetime import tzinfo

from reedbed.domain.questions import FAILED, Question
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import Instant
from reedbed.web.digest_views import source_view
from reedbed.web.moments import full_moment
from reedbed.web.sentences import retell
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.digests import Cite, Sentence
from reedbed.web.views.questions import QuestionLine, QuestionPage


def question_page(question: Question, now: Instant, zone: tzinfo) -> QuestionPage:
    answer = question.answer
    cites = {one.entry_id: Cite(number, one.feed) for number, one in enumerate(answer.sources, 1)}
    return QuestionPage(
        id=question.id,
        question=question.question,
        when=full_moment(question.created_at, now, zone),
        status=question.status,
        facts=_facts(question),
        by=question.model,
        built_in=question.model == EXTRACT,
        fallback=answer.fallback,
        error=retell(question.error or FAILED) if question.status == "failed" else "",
        claims=tuple(
            Sentence(one.text, tuple(cites[id_] for id_ in one.entry_ids), one.language)
            for one in answer.claims
        ),
        sources=tuple(source_view(number, one, now, zone) for number, one in enumerate(answer.sources, 1)),
    )


def question_line(question: Question, now: Instant, zone: tzinfo) -> QuestionLine:
    return QuestionLine(
        id=question.id,
        url=f"/ask/{question.id}",
        question=question.question,
        when=full_moment(question.created_at, now, zone),
        status=question.status,
        beginning=_beginning(question),
    )


def _beginning(question: Question) -> str:
    match question.status:
        case "pending":
            return translate("Looking for an answer…")
        case "failed":
            return retell(question.error or FAILED)
        case "ready":
            claims = question.answer.claims
            return claims[0].text if claims else translate("Your entries do not tell.")


def _facts(question: Question) -> str:
    if question.status != "ready":
        return ""
    said = ngettext("%(num)s entry was read.", "%(num)s entries were read.", question.answer.read)
    if not question.answer.dropped:
        return said
    left_out = ngettext(
        "%(num)s claim was left out because no entry supported it.",
        "%(num)s claims were left out because no entry supported them.",
        question.answer.dropped,
    )
    return f"{said} {left_out}"

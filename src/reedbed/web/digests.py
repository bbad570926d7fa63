"""Digests: list, show, generate, schedule and delete them, and unsubscribe from digest e-mails."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request, Response
from markupsafe import Markup, escape

from reedbed.domain import digests
from reedbed.domain import digests as cited
from reedbed.domain.digests import Digest, DigestScope, minute_of, minutes_to_read
from reedbed.domain.errors import Invalid, NotFound, Unavailable
from reedbed.domain.listening import SPOKEN_PER_MINUTE
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath, path_id
from reedbed.services.digests import (
    ask_digest,
    delete_digest,
    end_digest_mail,
    end_schedule,
    get_digest,
    send_digest_now,
    set_schedule,
    verify_unsubscribe_token,
)
from reedbed.services.images import image_urls_for_page
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store import digests as digests_digests
from reedbed.store import folders, tags
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.search import saved as searches
from reedbed.store.sidebar import list_by_ids
from reedbed.web.formats import dated_time, full_time, zone_of
from reedbed.web.forms import FormFlag, Text, folder_options
from reedbed.web.i18n import enumerated, explain, name_key, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.digests import (
    DigestPage,
    DigestRowView,
    DigestsPage,
    ParagraphView,
    SentenceView,
    SourceView,
    UnsubscribePage,
)
from reedbed.web.views.feeds import LatestDigest
from reedbed.web.views.layout import FeedMark, SelectOption, Toast, feed_mark

EVERYTHING = DigestScope()
MAX_LENGTH = 8_000


@record
class Scopes:
    """What a user can limit a digest to: folders, tags and saved searches, with their names."""

    folders: Mapping[int, str]
    tags: Sequence[str]
    searches: Mapping[str, str]
    """Names by query."""

    def choices(self, chosen: DigestScope = EVERYTHING) -> tuple[SelectOption, ...]:
        """All scopes as options, and `chosen` if it is none of them: API clients can combine scopes."""
        scopes = (
            EVERYTHING,
            *(DigestScope(folder_id=folder_id) for folder_id in self.folders),
            *(DigestScope(tag=tag) for tag in self.tags),
            *(DigestScope(q=query) for query in self.searches),
        )
        options = scopes if chosen in scopes else (*scopes, chosen)
        return tuple(
            SelectOption(scope_value(scope), self.name(scope) or translate("Everything"), scope == chosen)
            for scope in options
        )

    def name(self, scope: DigestScope) -> str:
        """Empty if the scope is everything."""
        parts: list[str] = []
        if scope.folder_id is not None:
            deleted = translate("a folder that is gone")
            parts.append(translate("Folder: %(name)s", name=self.folders.get(scope.folder_id, deleted)))
        if scope.tag is not None:
            parts.append(translate("Tag: %(name)s", name=scope.tag))
        if scope.q is not None:
            parts.append(translate("Search: %(name)s", name=self.searches.get(scope.q, scope.q)))
        return enumerated(parts)


async def scopes_of(tx: Tx, user_id: int) -> Scopes:
    _, *options = folder_options(await folders.of_user(tx, user_id), None)
    return Scopes(
        {int(option.value): option.name for option in options},
        sorted(await tags.names(tx, user_id), key=name_key),
        {search.query: search.name for search in await searches.of_user(tx, user_id)},
    )


def parse_scope(value: str) -> DigestScope:
    """Parse the value of an option made by `Scopes.choices`."""
    params = dict(parse_qsl(value[:MAX_LENGTH]))
    folder, tag, q = (params.get(name, "") for name in ("folder_id", "tag", "q"))
    return DigestScope(path_id(folder) if folder else None, tag[:200] or None, q[:500] or None)


def scope_value(scope: DigestScope) -> str:
    """The scope as a form value, which `parse_scope` reads."""
    params = {"folder_id": scope.folder_id, "tag": scope.tag, "q": scope.q}
    return urlencode({name: value for name, value in params.items() if value is not None})


# --- View models

MAX_SHORT_PARAGRAPHS = 3


async def marks_of(tx: Tx, user_id: int, sources: Iterable[cited.Source]) -> dict[int, FeedMark]:
    """The mark of the feed by entry, as far as this user can still see the entry."""
    rows = await entries.rows_by_ids(tx, user_id, [source.entry_id for source in sources])
    feeds = {feed.feed_id: feed for feed in await list_by_ids(tx, user_id, {row.feed_id for row in rows})}
    return {
        row.id: feed_mark(feeds[row.feed_id].title, row.feed_id, feeds[row.feed_id].icon_id)
        for row in rows
        if row.feed_id in feeds
    }


def digest_page(
    digest: Digest, scopes: Scopes, marks: Mapping[int, FeedMark], now: Instant, zone: tzinfo, image: str = ""
) -> DigestPage:
    sources = {source.entry_id: source for source in source_views(digest.text.sources, marks, now, zone)}
    paragraphs, minutes = digest.text.paragraphs, minutes_to_read(digest.text)
    return DigestPage(
        id=digest.id,
        title=translate("Digest, %(when)s", when=full_time(digest.until, now, zone).words),
        about=scopes.name(digest.scope),
        facts=facts_of(digest),
        status=digest.status,
        error=explain(digest.error),
        by=writer_of(digest),
        built_in=digest.model == EXTRACT,
        fallback=digest.text.fallback,
        paragraphs=tuple(_paragraph(paragraph, sources, digest.text.liked_ids) for paragraph in paragraphs),
        entry_ids=tuple(sources),
        sources=() if all(paragraph.kind for paragraph in paragraphs) else tuple(sources.values()),
        image=image,
        left_out=ngettext("%(num)s item was left out.", "%(num)s items were left out.", digest.text.left_out)
        if digest.text.left_out
        else "",
        reading_time=ngettext("%(num)s min to read", "%(num)s min to read", minutes) if paragraphs else "",
    )


def digest_line(digest: Digest, scopes: Scopes, now: Instant, zone: tzinfo) -> DigestRowView:
    first = next((sentence.text for paragraph in digest.text.paragraphs for sentence in paragraph.sentences), "")
    return DigestRowView(
        id=digest.id,
        url=f"/digests/{digest.id}",
        when=full_time(digest.until, now, zone),
        about=scopes.name(digest.scope),
        facts=facts_of(digest),
        status=digest.status,
        beginning=first,
    )


def latest_view(digest: Digest | None, now: Instant, zone: tzinfo, *, error: str = "") -> LatestDigest:
    if digest is None:
        return LatestDigest(error=error)
    paragraphs = tuple(_with_links(paragraph) for paragraph in digest.text.paragraphs[:MAX_SHORT_PARAGRAPHS])
    failed = explain(digest.error or digests.FAILED) if digest.status == "failed" else ""
    return LatestDigest(
        paragraphs=paragraphs,
        when=full_time(digest.until, now, zone),
        by=writer_of(digest) if digest.status == "ready" else "",
        url=f"/digests/{digest.id}" if digest.status == "ready" else "",
        pending=digest.status == "pending",
        error=error or failed,
    )


def writer_of(digest: Digest) -> str:
    return translate("Built-in extract") if digest.model == EXTRACT else digest.model


def facts_of(digest: Digest) -> str:
    """`87 entries · 31 feeds · 12 items`"""
    if digest.status != "ready":
        return ""
    parts = [
        ngettext("%(num)s entry", "%(num)s entries", digest.entries),
        ngettext("%(num)s feed", "%(num)s feeds", digest.text.feeds),
        ngettext("%(num)s item", "%(num)s items", digest.text.items),
    ]
    facts = translate("%(entries)s from %(feeds)s in %(items)s.", entries=parts[0], feeds=parts[1], items=parts[2])
    if not digest.text.dropped:
        return facts
    left_out = ngettext(
        "%(num)s sentence was left out because no entry supported it.",
        "%(num)s sentences were left out because no entry supported them.",
        digest.text.dropped,
    )
    return f"{facts} {left_out}"


def _paragraph(
    paragraph: digests.Paragraph, sources: Mapping[int, SourceView], liked: Collection[int]
) -> ParagraphView:
    sentences = tuple(_sentence(sentence, sources, liked) for sentence in paragraph.sentences)
    heading = translate("Top stories") if paragraph.kind == "top" else paragraph.heading or translate("And more")
    return ParagraphView(heading, sentences, paragraph.kind)


def _sentence(sentence: cited.Sentence, sources: Mapping[int, SourceView], liked: Collection[int]) -> SentenceView:
    cites = tuple(sources[id_] for id_ in sentence.entry_ids if id_ in sources)
    return SentenceView(
        sentence.text,
        cites,
        sentence.language,
        outlets=ngettext("%(num)s outlet", "%(num)s outlets", len({cite.feed for cite in cites})),
        newest=max((cite.when for cite in cites), key=lambda when: when.iso, default=None),
        is_liked=any(cite.entry_id in liked for cite in cites),
    )


def source_views(
    sources: Iterable[cited.Source], marks: Mapping[int, FeedMark], now: Instant, zone: tzinfo
) -> tuple[SourceView, ...]:
    """The sources with their numbers; entries that are gone have a letter for a mark."""
    return tuple(
        SourceView(
            entry_id=source.entry_id,
            number=number,
            url=f"/entry/{source.entry_id}",
            title=source.title or translate("Without a title"),
            feed=source.feed,
            mark=marks.get(source.entry_id) or feed_mark(source.feed, 0),
            when=dated_time(source.at, now, zone),
            language=source.language,
        )
        for number, source in enumerate(sources, 1)
    )


def _with_links(paragraph: digests.Paragraph) -> Markup:
    """Each sentence links to the first entry it cites."""
    link = Markup('<a href="/entry/{}">{}</a>')
    heading = Markup("<b>{}</b> ").format(paragraph.heading) if paragraph.heading else escape("")
    links = (
        link.format(sentence.entry_ids[0], sentence.text) for sentence in paragraph.sentences if sentence.entry_ids
    )
    return heading + Markup(" ").join(links)


# --- Routes

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 30


@router.get("/summaries/latest")
async def latest(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        newest = await digests_digests.newest(tx, caller.user_id, limit=1)
    if not is_htmx(request):
        return see_other(request, f"/digests/{newest[0].id}" if newest else "/summaries")
    return await _latest_response(request, runtime, newest[0] if newest else None)


@router.post("/summaries")
async def generate(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, about: Text = "", since: Text = "day"
) -> Response:
    try:
        digest = await ask_digest(runtime, caller.user, parse_scope(about), since_last=since == "last")
    except (NotFound, Unavailable) as error:
        status = 404 if isinstance(error, NotFound) else 503
        if is_htmx(request):
            return await _latest_response(request, runtime, None, error=explain(error), status=status)
        return await _list_page(request, runtime, caller, error=explain(error), status=status)
    if is_htmx(request):
        return await _latest_response(request, runtime, digest)
    return see_other(request, f"/digests/{digest.id}")


@router.get("/summaries")
async def show_all(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _list_page(request, runtime, caller)


@router.post("/summaries/writer")
async def choose_writer(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, *, remote_ai: FormFlag = False
) -> Response:
    await set_preferences(runtime, caller, {"remote_ai": remote_ai})
    return see_other(request, "/summaries", toast=Toast(translate("Saved.")))


@router.post("/summaries/automatic")
async def choose_automatic(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    words: Text = "0",
    *,
    automatic: FormFlag = False,
    one_lines: FormFlag = False,
) -> Response:
    try:
        if not words.isascii() or not words.isdigit() or len(words) > 6:
            raise Invalid("The number of words must be a whole number.", field="words")
        changes = {"auto_summaries": automatic, "auto_summary_words": int(words), "one_lines": one_lines}
        await set_preferences(runtime, caller, changes)
    except Invalid as error:
        return await _list_page(request, runtime, caller, error=explain(error), status=400)
    return see_other(request, "/summaries", toast=Toast(translate("Saved.")))


@router.post("/summaries/schedule")
async def plan(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    time: Text = "",
    about: Text = "",
    *,
    mail: FormFlag = False,
) -> Response:
    """An empty time ends the schedule."""
    try:
        if time:
            zone = preferences_of(caller.user).time_zone or str(zone_of(request))
            minute, scope = minute_of(time), parse_scope(about)
            await set_schedule(runtime, caller.user, minute=minute, zone=zone, scope=scope, mail=mail)
        else:
            await end_schedule(runtime, caller.user_id)
    except Invalid as error:
        return await _list_page(request, runtime, caller, error=explain(error), status=400)
    return see_other(request, "/summaries", toast=Toast(translate("Saved.")))


@router.get("/summaries/{digest_id}")
async def show_under_old_address(request: Request, _: CurrentCaller, digest_id: IdPath) -> Response:
    """Notifications once led here."""
    return see_other(request, f"/digests/{digest_id}")


@router.get("/digests")
async def show_list(request: Request, _: CurrentCaller) -> Response:
    """Where the address of a digest ends without its number."""
    return see_other(request, "/summaries")


@router.get("/digests/{digest_id}")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    digest = await get_digest(runtime, caller.user_id, digest_id)
    async with runtime.db.read() as tx:
        scopes = await scopes_of(tx, caller.user_id)
        marks = await marks_of(tx, caller.user_id, digest.text.sources)
    image = image_urls_for_page(runtime).one(digest.text.image or None) or ""
    view = digest_page(digest, scopes, marks, runtime.now(), zone_of(request), image)
    view = replace(
        view,
        can_mail=runtime.mailer is not None,
        can_listen=runtime.speech.speaker is not None,
        listening_time=_listening_time(digest),
    )
    if is_htmx(request):
        return await page(request, "digests/page.html", view, block="digest")
    return await app_page(request, runtime, caller, "digests/page.html", view)


def _listening_time(digest: Digest) -> str:
    spoken = sum(len(sentence.text) for paragraph in digest.text.paragraphs for sentence in paragraph.sentences)
    spoken += sum(len(source.title) for source in digest.text.sources)
    return ngettext("%(num)s min", "%(num)s min", max(1, round(spoken / SPOKEN_PER_MINUTE)))


@router.post("/digests/{digest_id}/mail")
async def mail(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    await send_digest_now(runtime, caller.user, digest_id)
    toast = Toast(translate("The mail is on its way to %(email)s.", email=caller.user.email))
    return see_other(request, f"/digests/{digest_id}", toast=toast)


@router.post("/digests/{digest_id}/delete")
async def delete(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    await delete_digest(runtime, caller.user_id, digest_id)
    return see_other(request, "/summaries", toast=Toast(translate("Deleted.")))


async def _latest_response(
    request: Request, runtime: Runtime, digest: Digest | None, *, error: str = "", status: int = 200
) -> Response:
    view = latest_view(digest, runtime.now(), zone_of(request), error=error)
    return await page(request, "digests/latest.html", view, status=status)


async def _list_page(
    request: Request, runtime: Runtime, caller: Caller, *, error: str = "", status: int = 200
) -> Response:
    before = request.query_params.get("before", "")
    async with runtime.db.read() as tx:
        start = path_id(before) if before else None
        rows = await digests_digests.newest(tx, caller.user_id, limit=PAGE_SIZE + 1, before=start)
        schedule = await digests_digests.schedule_of(tx, caller.user_id)
        scopes = await scopes_of(tx, caller.user_id)
    now, zone, model = runtime.now(), zone_of(request), runtime.ai.model
    preferences = preferences_of(caller.user)
    view = DigestsPage(
        lines=tuple(digest_line(digest, scopes, now, zone) for digest in rows[:PAGE_SIZE]),
        about=scopes.choices(parse_scope(request.query_params.get("about", ""))),
        next_url=f"/summaries?before={rows[PAGE_SIZE - 1].id}" if len(rows) > PAGE_SIZE else "",
        model=model.name if model is not None and model.is_remote else "",
        uses_model=preferences.remote_ai,
        automatic=preferences.auto_summaries,
        least_words=preferences.auto_summary_words,
        one_lines=preferences.one_lines,
        time=f"{schedule.minute // 60:02}:{schedule.minute % 60:02}" if schedule else "",
        planned_about=scopes.choices(schedule.scope if schedule else EVERYTHING),
        mail=schedule.mail if schedule else False,
        can_mail=runtime.mailer is not None,
        error=translate(error) if error else "",
    )
    return await app_page(request, runtime, caller, "digests/list.html", view, status=status)


unsubscribe_router = APIRouter(include_in_schema=False)


@unsubscribe_router.get("/digests/unsubscribe/{token}")
async def show_unsubscribe(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    """Only ask for confirmation: mail scanners follow links but do not submit forms."""
    verify_unsubscribe_token(runtime, token)
    return await page(request, "digests/unsubscribe.html", UnsubscribePage(token))


@unsubscribe_router.post("/digests/unsubscribe/{token}")
async def unsubscribe(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    """The token in the URL authorizes this: no login and no CSRF token, as RFC 8058 requires."""
    await end_digest_mail(runtime, token)
    return await page(request, "digests/unsubscribe.html", UnsubscribePage(token, done=True))

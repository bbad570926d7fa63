"""Shared stories: share one, take it back, and the public page, which has no script and sets no cookie."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from reedbed.domain.errors import Conflict, NotFound, TooMany
from reedbed.domain.languages import direction_of
from reedbed.domain.shared_stories import CopiedReport, SharedStory, StoryCopy
from reedbed.domain.times import Instant
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import headers_of, status_of
from reedbed.http.params import IdPath
from reedbed.services.shared_stories import read_shared, share_story, take_back
from reedbed.web.formats import dated_time, full_time, zone_of
from reedbed.web.i18n import current_language, explain, ngettext, set_language, translate
from reedbed.web.pages import language_of, render_page, see_other
from reedbed.web.published_feeds import published_page
from reedbed.web.views.layout import Toast
from reedbed.web.views.stories import SharedReport, SharedStoryPage

router = APIRouter(include_in_schema=False)


@router.post("/stories/{story_id}/share")
async def share(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    try:
        made = await share_story(runtime, caller.user_id, story_id)
    except Conflict as error:
        return await published_page(request, runtime, caller, error=error)
    return await published_page(request, runtime, caller, new_story=made)


@router.post("/settings/published/stories/{shared_id}/delete")
async def delete(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, shared_id: IdPath) -> Response:
    await take_back(runtime, caller.user_id, shared_id)
    return see_other(request, "/settings/published", toast=Toast(translate("Its address does not work any more.")))


# --- The public page

public_router = APIRouter(include_in_schema=False)

_HEADERS = {
    "X-Robots-Tag": "noindex, nofollow",
    "Vary": "Accept-Language",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}


@public_router.get("/shared/{token}")
async def show(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    set_language(language_of(request, None))  # that of the browser: nothing here depends on who is logged in
    try:
        shared, copy = await read_shared(runtime, token)
    except (NotFound, TooMany) as error:
        view = SharedStoryPage(title=explain(error))
        return _page(view, status_of(error), headers_of(error))
    return _page(_shared_page(request, shared, copy, runtime.now()), 200, {})


def _page(view: SharedStoryPage, status: int, headers: dict[str, str]) -> Response:
    language = current_language()
    html = render_page("stories/shared.html", {"view": view, "language": language, "direction": direction_of(language)})
    return HTMLResponse(html, status, {**headers, **_HEADERS})


def _shared_page(request: Request, shared: SharedStory, copy: StoryCopy, now: Instant) -> SharedStoryPage:
    outlets = len({report.feed for report in copy.reports})
    return SharedStoryPage(
        title=copy.title or translate("Without a title"),
        language=copy.language,
        facts=ngettext("%(num)s source", "%(num)s sources", outlets),
        reports=tuple(_report(request, report, now) for report in copy.reports),
        shared=copy.shared,
        copied=full_time(shared.created_at, now, zone_of(request)).words,
    )


def _report(request: Request, report: CopiedReport, now: Instant) -> SharedReport:
    return SharedReport(
        feed=report.feed,
        title=report.title or translate("Without a title"),
        url=report.url,
        language=report.language,
        when=dated_time(report.at, now, zone_of(request)),
        quote=report.quote,
    )

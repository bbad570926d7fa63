"""Mark entries read, starred or later, set tags, undo, and refresh all feeds.

Plain forms redirect back to their page; htmx requests get 204 or a toast.
"""

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Selection, StateChange
from reedbed.domain.errors import Invalid
from reedbed.domain.times import DAY
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath, RefreshLimit, path_id
from reedbed.services.entries import change_entry, get_entry
from reedbed.services.read_state import mark, undo_last
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.bulk import refresh_all
from reedbed.store.tags import names as tag_names
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import name_key, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.views.entries import TagsAnswer
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)

MAX_IDS = 10_000


@router.post("/entry/{entry_id}/read")
async def set_read(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    value: FormFlag,
    next: Text = "/",
) -> Response:
    return await _change(request, runtime, caller.user_id, entry_id, StateChange(read=value), next)


@router.post("/entry/{entry_id}/starred")
async def set_starred(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    value: FormFlag,
    next: Text = "/",
) -> Response:
    return await _change(request, runtime, caller.user_id, entry_id, StateChange(starred=value), next)


@router.post("/entry/{entry_id}/later")
async def set_later(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    value: FormFlag,
    next: Text = "/",
) -> Response:
    return await _change(request, runtime, caller.user_id, entry_id, StateChange(later=value), next)


@router.post("/entry/{entry_id}/tags")
async def set_tags(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    """Set the tags in the form, plus the new ones, minus the removed one."""
    form = await request.form()
    removed = str(form.get("remove_tag", ""))
    names = [*(str(name) for name in form.getlist("tag")), *str(form.get("new_tag", "")).split(",")]
    tags = tuple(dict.fromkeys(name.strip() for name in names if name.strip() and name != removed))
    await change_entry(runtime, caller.user_id, entry_id, StateChange(tags=tags))
    if not is_htmx(request):
        return see_other(request, str(form.get("next", "/")))
    entry = await get_entry(runtime, caller.user_id, entry_id)
    async with runtime.db.read() as tx:
        known_tags = tuple(sorted(await tag_names(tx, caller.user_id), key=name_key))
    view = TagsAnswer(entry_id, entry.row.states.tags, known_tags)
    return await page(request, "entries/tags.html", None, article=view, answers=True)


@router.post("/mark-read")
async def mark_many(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = await request.form(max_fields=MAX_IDS + 50)
    fields = {name: str(value) for name, value in form.items()}
    selection = _selection(fields, [str(text) for text in form.getlist("ids")], runtime)
    read = fields.get("value") != "false"
    result = await mark(runtime, caller.user_id, selection, read=read)
    if not result.count:  # keep the undo of an earlier action
        return await _toast_response(request, Toast(translate("Nothing was left to mark.")), fields.get("next", "/"))
    if read:
        message = ngettext("%(num)s entry marked read", "%(num)s entries marked read", result.count)
    else:
        message = ngettext("%(num)s entry kept unread", "%(num)s entries kept unread", result.count)
    return await _toast_response(request, Toast(message, result.undo), fields.get("next", "/"))


@router.post("/undo")
async def undo(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, undo: Text = "", next: Text = "/"
) -> Response:
    await undo_last(runtime, caller.user_id, undo)
    return await _toast_response(request, Toast(translate("Brought back.")), next)


@router.post("/refresh")
async def refresh(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit, next: Text = "/"
) -> Response:
    count, _refused = await refresh_all(runtime, caller.user_id)
    message = ngettext("Looking at %(num)s feed", "Looking at %(num)s feeds", count)
    return await _toast_response(request, Toast(message), next)


async def _change(
    request: Request, runtime: Runtime, user_id: int, entry_id: int, change: StateChange, next: str
) -> Response:
    await change_entry(runtime, user_id, entry_id, change)
    return Response(status_code=204) if is_htmx(request) else see_other(request, next)


async def _toast_response(request: Request, toast: Toast, next: str) -> Response:
    if is_htmx(request):
        return await page(request, "partials/toast.html", None, toast=toast)
    return see_other(request, next, toast=toast)


def _selection(fields: dict[str, str], ids: list[str], runtime: Runtime) -> Selection:
    if fields.get("scope") == "ids":
        if len(ids) > MAX_IDS:
            raise Invalid("At most %(limit)s entries at once.", field="ids", limit=MAX_IDS)
        return Selection(ids=tuple(path_id(text) for text in ids))
    view = fields.get("view", "all")
    if view not in ("unread", "all", "starred", "later"):
        raise Invalid("This view cannot be marked.", field="view")
    days = fields.get("older_than", "")
    return Selection(
        view=view,
        order="oldest" if fields.get("order") == "oldest" else "newest",
        feed_id=_id(fields, "feed_id"),
        folder_id=_id(fields, "folder_id"),
        tag=fields.get("tag") or None,
        up_to=_id(fields, "up_to"),
        older_than=runtime.now() - int(days) * DAY if days.isdecimal() and len(days) < 5 else None,
        above=_id(fields, "above"),
        below=_id(fields, "below"),
        except_starred=fields.get("except_starred") == "true",
    )


def _id(fields: dict[str, str], name: str) -> int | None:
    return path_id(fields[name]) if fields.get(name) else None

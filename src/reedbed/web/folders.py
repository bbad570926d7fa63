"""The folders page: create, rename, move (keyboard, drag and drop, or form) and delete folders."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.folders import FolderNode, FolderRow, build_tree, descendants
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.folders import change_folder, create_folder, delete_folder, reorder_folders
from reedbed.services.runtime import Runtime
from reedbed.store import folders, sidebar
from reedbed.web.feeds.form import parse_summary_words, summary_options
from reedbed.web.forms import FormFlag, Text, folder_options, stepped
from reedbed.web.i18n import explain, name_key, translate
from reedbed.web.pages import is_htmx, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import FoldersPage, FolderView
from reedbed.web.views.layout import Count, SelectOption, Toast

router = APIRouter(include_in_schema=False)

NO_SUCH = "There is no such folder"


@router.get("/folders")
async def show_folders(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show(request, runtime, caller)


@router.post("/folders")
async def make_folder(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, name: Text = "", next: Text = "/folders"
) -> Response:
    try:
        folder = await create_folder(runtime, caller.user_id, name)
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, status_of(error), name=name, error=explain(error))
    return see_other(request, next, toast=Toast(translate("%(name)s is there.", name=folder.name)))


@router.post("/folders/{folder_id}")
async def rename_folder(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    folder_id: IdPath,
    name: Text = "",
    next: Text = "/folders",
) -> Response:
    try:
        await change_folder(runtime, caller.user_id, folder_id, name=name)
    except (Invalid, Conflict) as error:
        return await _show(
            request, runtime, caller, status_of(error), change_error=explain(error), typed=(folder_id, name)
        )
    return see_other(request, next, toast=Toast(translate("Saved.")))


@router.post("/folders/{folder_id}/summaries")
async def choose_summaries(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    folder_id: IdPath,
    summary_words: Text = "",
    next: Text = "/folders",
) -> Response:
    await change_folder(runtime, caller.user_id, folder_id, summary_words=parse_summary_words(summary_words))
    return see_other(request, next, toast=Toast(translate("Saved.")))


@router.post("/folders/{folder_id}/in-unread")
async def show_in_unread(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    folder_id: IdPath,
    value: FormFlag,
    next: Text = "/folders",
) -> Response:
    await change_folder(runtime, caller.user_id, folder_id, in_unread=value)
    return see_other(request, next, toast=Toast(translate("Saved.")))


@router.post("/folders/{folder_id}/delete")
async def remove_folder(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath, next: Text = "/folders"
) -> Response:
    await delete_folder(runtime, caller.user_id, folder_id)
    message = translate("The folder is gone; its feeds have moved up.")
    return see_other(request, next, toast=Toast(message))


@router.post("/folders/{folder_id}/move")
async def move_folder(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath) -> Response:
    form = {name: str(value) for name, value in (await request.form()).items()}
    try:
        await _move(runtime, caller.user_id, folder_id, form)
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, status_of(error), change_error=explain(error))
    if is_htmx(request):
        return await _show(request, runtime, caller)
    return see_other(request, form.get("next", "/folders"))


async def _move(runtime: Runtime, user_id: int, folder_id: int, form: dict[str, str]) -> None:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
    folder = _find(rows, folder_id)
    match form:
        case {"to": "up" | "down" as direction}:
            level = stepped(_child_ids(rows, folder.parent_id), folder.id, direction)
            await reorder_folders(runtime, user_id, folder.parent_id, level)
        case {"to": "in"}:
            sibling = _sibling(rows, folder, -1)
            if sibling is not None:
                await _move_into(runtime, user_id, rows, folder, sibling, after=None)
        case {"to": "out"}:
            if folder.parent_id is not None:
                parent = _find(rows, folder.parent_id)
                await _move_into(runtime, user_id, rows, folder, parent.parent_id, after=parent.id)
        case {"before": target}:
            await _move_before(runtime, user_id, rows, folder, _find(rows, path_id(target)))
        case {"parent_id": parent}:
            await _move_into(runtime, user_id, rows, folder, path_id(parent) if parent else None, after=None)
        case _:
            raise Invalid("Say where the folder goes.", field="to")


async def _move_into(
    runtime: Runtime,
    user_id: int,
    rows: Sequence[FolderRow],
    folder: FolderRow,
    parent_id: int | None,
    *,
    after: int | None,
) -> None:
    """Move into another folder: behind the folder `after`, or to the end."""
    await change_folder(runtime, user_id, folder.id, parent=parent_id)
    level = [id_ for id_ in _child_ids(rows, parent_id) if id_ != folder.id]
    level.insert(level.index(after) + 1 if after in level else len(level), folder.id)
    await reorder_folders(runtime, user_id, parent_id, level)


async def _move_before(
    runtime: Runtime, user_id: int, rows: Sequence[FolderRow], folder: FolderRow, target: FolderRow
) -> None:
    if target.parent_id != folder.parent_id:
        await change_folder(runtime, user_id, folder.id, parent=target.parent_id)
    level = [id_ for id_ in _child_ids(rows, target.parent_id) if id_ != folder.id]
    level.insert(level.index(target.id) if target.id in level else 0, folder.id)
    await reorder_folders(runtime, user_id, target.parent_id, level)


def _child_ids(rows: Sequence[FolderRow], parent_id: int | None) -> list[int]:
    """The ids of the folders with this parent, in the order of the page."""
    pending = list(build_tree(rows, name_key))
    while pending:
        node = pending.pop()
        if node.id == parent_id:
            return [child.id for child in node.children]
        pending.extend(node.children)
    return [node.id for node in build_tree(rows, name_key)] if parent_id is None else []


def _sibling(rows: Sequence[FolderRow], folder: FolderRow, offset: int) -> int | None:
    level = _child_ids(rows, folder.parent_id)
    index = level.index(folder.id) + offset
    return level[index] if 0 <= index < len(level) else None


def _find(rows: Sequence[FolderRow], folder_id: int) -> FolderRow:
    for row in rows:
        if row.id == folder_id:
            return row
    raise NotFound(NO_SUCH)


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    status: int = 200,
    *,
    name: str = "",
    error: str = "",
    change_error: str = "",
    typed: tuple[int, str] | None = None,
) -> Response:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
        feeds = await sidebar.sidebar_feeds(tx, caller.user_id)
    feed_counts = Counter(id_ for feed in feeds for id_ in feed.folder_ids)
    lines = _folder_rows(build_tree(rows, name_key), rows, feed_counts)
    if typed is not None:
        lines = [replace(line, name=typed[1]) if line.id == typed[0] else line for line in lines]
    view = FoldersPage(tuple(lines), name, error, change_error)
    return await app_page(request, runtime, caller, "folders/list.html", view, status=status)


def _folder_rows(level: Sequence[FolderNode], rows: list[FolderRow], feed_counts: Counter[int]) -> list[FolderView]:
    lines: list[FolderView] = []
    for index, node in enumerate(level):
        lines.append(
            FolderView(
                id=node.id,
                name=node.name,
                depth=node.depth - 1,
                feeds=Count(feed_counts[node.id]),
                parents=_parent_options(rows, node.id),
                summaries=_summary_options(rows, node.id),
                first=index == 0,
                last=index == len(level) - 1,
                in_unread=_find(rows, node.id).in_unread,
            )
        )
        lines.extend(_folder_rows(node.children, rows, feed_counts))
    return lines


def _summary_options(rows: list[FolderRow], folder_id: int) -> tuple[SelectOption, ...]:
    folder = _find(rows, folder_id)
    nested = folder.parent_id is not None
    default_label = translate("As the folder around it says") if nested else translate("As for all feeds")
    return summary_options(folder.summary_words, default_label)


def _parent_options(rows: list[FolderRow], folder_id: int) -> tuple[SelectOption, ...]:
    """Every folder except itself and its descendants."""
    descendant_ids = descendants(rows, folder_id)
    parent_id = next(row.parent_id for row in rows if row.id == folder_id)
    top, *others = folder_options([row for row in rows if row.id not in descendant_ids], parent_id)
    return (replace(top, name=translate("At the top")), *others)

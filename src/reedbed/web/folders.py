"""The page of folders: made, renamed, moved by keys, by dragging or by small forms, deleted."""

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
from reedbed.store import folders, subscriptions
from reedbed.web.feeds.views import chosen_words, folder_choices, summary_choices
from reedbed.web.forms import Text, stepped
from reedbed.web.i18n import translate
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
        made = await create_folder(runtime, caller.user_id, name)
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, status_of(error), name=name, error=error.message)
    return see_other(request, next, toast=Toast(translate("%(name)s is there.", name=made.name)))


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
            request, runtime, caller, status_of(error), trouble=error.message, typed=(folder_id, name)
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
    await change_folder(runtime, caller.user_id, folder_id, summary_words=chosen_words(summary_words))
    return see_other(request, next, toast=Toast(translate("Saved.")))


@router.post("/folders/{folder_id}/delete")
async def remove_folder(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    folder_id: IdPath,
    next: Text = "/folders",
) -> Response:
    await delete_folder(runtime, caller.user_id, folder_id)
    said = translate("The folder is gone; its feeds have moved up.")
    return see_other(request, next, toast=Toast(said))


@router.post("/folders/{folder_id}/move")
async def move_folder(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath
) -> Response:
    form = {name: str(value) for name, value in (await request.form()).items()}
    try:
        await _move(runtime, caller.user_id, folder_id, form)
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, status_of(error), trouble=error.message)
    if is_htmx(request):
        return await _show(request, runtime, caller)
    return see_other(request, form.get("next", "/folders"))


async def _move(runtime: Runtime, user_id: int, folder_id: int, form: dict[str, str]) -> None:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
    folder = _find(rows, folder_id)
    match form:
        case {"to": "up" | "down" as way}:
            level = stepped(_level(rows, folder.parent_id), folder.id, way)
            await reorder_folders(runtime, user_id, folder.parent_id, level)
        case {"to": "in"}:
            above = _beside(rows, folder, -1)
            if above is not None:
                await _put(runtime, user_id, rows, folder, above, behind=None)
        case {"to": "out"}:
            if folder.parent_id is not None:
                parent = _find(rows, folder.parent_id)
                await _put(runtime, user_id, rows, folder, parent.parent_id, behind=parent.id)
        case {"before": target}:
            await _put_before(runtime, user_id, rows, folder, _find(rows, path_id(target)))
        case {"parent_id": parent}:
            await _put(runtime, user_id, rows, folder, path_id(parent) if parent else None, behind=None)
        case _:
            raise Invalid("Say where the folder goes.", field="to")


async def _put(
    runtime: Runtime,
    user_id: int,
    rows: Sequence[FolderRow],
    folder: FolderRow,
    parent_id: int | None,
    *,
    behind: int | None,
) -> None:
    """Into another folder: behind this one, else at the end."""
    await change_folder(runtime, user_id, folder.id, parent=parent_id)
    level = [id_ for id_ in _level(rows, parent_id) if id_ != folder.id]
    level.insert(level.index(behind) + 1 if behind in level else len(level), folder.id)
    await reorder_folders(runtime, user_id, parent_id, level)


async def _put_before(
    runtime: Runtime, user_id: int, rows: Sequence[FolderRow], folder: FolderRow, target: FolderRow
) -> None:
    if target.parent_id != folder.parent_id:
        await change_folder(runtime, user_id, folder.id, parent=target.parent_id)
    level = [id_ for id_ in _level(rows, target.parent_id) if id_ != folder.id]
    level.insert(level.index(target.id) if target.id in level else 0, folder.id)
    await reorder_folders(runtime, user_id, target.parent_id, level)


def _level(rows: Sequence[FolderRow], parent_id: int | None) -> list[int]:
    """The ids of one level as the page shows them."""
    waiting = list(build_tree(rows))
    while waiting:
        node = waiting.pop()
        if node.id == parent_id:
            return [child.id for child in node.children]
        waiting.extend(node.children)
    return [node.id for node in build_tree(rows)] if parent_id is None else []


def _beside(rows: Sequence[FolderRow], folder: FolderRow, by: int) -> int | None:
    level = _level(rows, folder.parent_id)
    place = level.index(folder.id) + by
    return level[place] if 0 <= place < len(level) else None


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
    trouble: str = "",
    typed: tuple[int, str] | None = None,
) -> Response:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
        followed = await subscriptions.sidebar_feeds(tx, caller.user_id)
    inside = Counter(one.folder_id for one in followed)
    lines = _lines(build_tree(rows), rows, inside)
    if typed is not None:
        lines = [replace(line, name=typed[1]) if line.id == typed[0] else line for line in lines]
    shown = FoldersPage(tuple(lines), name, error, trouble)
    return await app_page(request, runtime, caller, "folders/list.html", shown, status=status)


def _lines(
    level: Sequence[FolderNode], rows: list[FolderRow], inside: Counter[int | None]
) -> list[FolderView]:
    lines: list[FolderView] = []
    for place, node in enumerate(level):
        lines.append(
            FolderView(
                id=node.id,
                name=node.name,
                depth=node.depth - 1,
                feeds=Count(inside[node.id]),
                parents=_parents(rows, node.id),
                summaries=_summaries(rows, node.id),
                first=place == 0,
                last=place == len(level) - 1,
            )
        )
        lines.extend(_lines(node.children, rows, inside))
    return lines


def _summaries(rows: list[FolderRow], folder_id: int) -> tuple[SelectOption, ...]:
    folder = _find(rows, folder_id)
    inside = folder.parent_id is not None
    otherwise = translate("As the folder around it says") if inside else translate("As for all feeds")
    return summary_choices(folder.summary_words, otherwise)


def _parents(rows: list[FolderRow], folder_id: int) -> tuple[SelectOption, ...]:
    """Every folder but itself and those within it."""
    own = descendants(rows, folder_id)
    parent_id = next(row.parent_id for row in rows if row.id == folder_id)
    top, *others = folder_choices([row for row in rows if row.id not in own], parent_id)
    return (replace(top, name=translate("At the top")), *others)

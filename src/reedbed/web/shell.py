"""A page of the application: the sidebar, and beside it whatever the view shows."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fastapi import Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.records import record
from reedbed.services.runtime import Runtime
from reedbed.web.pages import look_of, page
from reedbed.web.sidebar import build_sidebar
from reedbed.web.views.frame import Count, Pages, Toast

BELONGS_TO = {"/digests": "/summaries"}
"""Pages that stand under another name than the list that leads to them."""


async def app_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    template: str,
    view: Any,
    *,
    status: int = 200,
    toast: Toast | None = None,
) -> Response:
    async with runtime.db.read() as tx:
        first = f"/{request.url.path.split('/')[1]}"
        here = BELONGS_TO.get(first, first)
        sidebar = await build_sidebar(tx, caller.user_id, here, look_of(request), runtime.now())
    return await page(request, template, view, sidebar=sidebar, status=status, toast=toast)


class HasId(Protocol):
    @property
    def id(self) -> int: ...


Row = TypeVar("Row", bound=HasId)


@record
class KeysetPage:
    """A page of a list that goes on by id: `?before=` where it begins, `seen=` how many came before."""

    before: int | None
    seen: int
    size: int

    @classmethod
    def of(cls, params: Mapping[str, str], size: int) -> "KeysetPage":
        before, seen = params.get("before", ""), params.get("seen", "")
        if not _is_number(before) or not _is_number(seen):
            return cls(None, 0, size)
        return cls(int(before), int(seen), size)

    def cut(self, found: Sequence[Row]) -> tuple[Sequence[Row], int | None]:
        """Of one row more than the page holds: those on it, and the last one's id when more follow."""
        rows = found[: self.size]
        return rows, rows[-1].id if len(found) > self.size else None

    def pages(self, address: str, shown: int, total: int, last_id: int | None) -> Pages:
        """`shown` rows are on this page; `last_id` is set when more follow."""
        end = self.seen + shown
        return Pages(
            first=Count(self.seen + 1 if shown else 0),
            last=Count(end),
            total=Count(max(total, end)),
            previous_url=address if self.before is not None else "",
            next_url=f"{address}?before={last_id}&seen={end}" if last_id is not None else "",
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 16

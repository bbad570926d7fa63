"""What a list of feeds is asked for in its address: words, a status, a page."""

from collections.abc import Collection
from urllib.parse import urlencode

from fastapi import Request

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.subscriptions import STATUS_FILTERS
from reedbed.web.speech import translate
from reedbed.web.views.frame import Count, Pages

PAGE_SIZE = 20
LONGEST_SEARCH = 255


@record
class Wanted:
    """The filters as the address gives them."""

    search: str = ""
    status: str = "all"
    page: int = 1
    place: str = "/feeds"

    @property
    def offset(self) -> int:
        return (self.page - 1) * PAGE_SIZE

    def address(self, *, status: str | None = None, page: int = 1) -> str:
        wanted = {"search": self.search, "status": status or self.status, "page": str(page)}
        plain = {"search": "", "status": "all", "page": "1"}
        changed = {name: value for name, value in wanted.items() if value != plain[name]}
        return f"{self.place}?{urlencode(changed)}" if changed else self.place

    def pages(self, shown: int, total: int) -> Pages:
        end = self.offset + shown
        return Pages(
            first=Count(self.offset + 1 if shown else 0),
            last=Count(end if shown else 0),
            total=Count(total),
            previous_url=self.address(page=self.page - 1) if self.page > 1 else "",
            next_url=self.address(page=self.page + 1) if shown and end < total else "",
        )

    def empty_words(self, nothing: str) -> str:
        """Why the list is empty; `nothing` where there is no feed at all."""
        if self.page > 1:
            return translate("This page is empty.")
        narrowed = self.search or self.status != "all"
        return translate("No feed fits. Take the filter away to see all.") if narrowed else nothing


def read_wanted(
    request: Request, *, place: str = "/feeds", statuses: Collection[str] = STATUS_FILTERS
) -> Wanted:
    params = request.query_params
    search, status = params.get("search", "").strip(), params.get("status") or "all"
    page = params.get("page") or "1"
    whole = page.isascii() and page.isdigit() and len(page) <= 6 and int(page) >= 1
    if not whole or status not in statuses or len(search) > LONGEST_SEARCH or "\x00" in search:
        raise Invalid("Invalid query parameters")
    return Wanted(search, status, int(page), place)

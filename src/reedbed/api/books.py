"""Books: EPUB files of lists and digests, their mailing and the plans that make them."""

from typing import Annotated, Any, Literal

from fastapi import Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from reedbed.domain.books import BOOK_TYPE, MAX_ENTRIES, Book, BookPlan, BookSource, check_source
from reedbed.domain.digests import minute_of
from reedbed.domain.errors import NotFound
from reedbed.domain.pagination import byte_range
from reedbed.domain.records import record
from reedbed.domain.users import User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import (
    ApiModel,
    FailureName,
    FailureSentence,
    FailureText,
    JsonId,
    ListPage,
    ResponseModel,
    Timestamp,
)
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json, attachment_name, is_head
from reedbed.services.books.mail import is_confirmed, sender_of, set_address
from reedbed.services.books.manage import (
    add_plan,
    delete_book,
    delete_plan,
    get_book,
    list_books,
    list_plans,
    mail_book,
    read_book,
    request_book,
    zone_for,
)
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of

router = ApiRouter(prefix="/api/v1/books", tags=["books"])

_EPUB: dict[int | str, Any] = {200: {"content": {BOOK_TYPE: {"schema": {"type": "string", "format": "binary"}}}}}
ListName = Literal["unread", "all", "starred", "later", "digests"]


class _ListRequest(ApiModel):
    view: ListName = Field("all", description="`digests` is the newest digest.")
    feed_id: JsonId | None = None
    folder_id: JsonId | None = None
    tag: str | None = None
    search_id: JsonId | None = Field(None, description="A saved search.")
    mail: bool = Field(False, description="Send it to your e-reader when it is ready.")

    def source(self, digest_id: JsonId | None = None) -> BookSource:
        return check_source(
            self.view,
            feed_id=self.feed_id,
            folder_id=self.folder_id,
            tag=self.tag,
            search_id=self.search_id,
            digest_id=digest_id,
        )


class BookRequest(_ListRequest):
    digest_id: JsonId | None = Field(None, description="One digest, with the entries that it cites.")


class BookPlanRequest(_ListRequest):
    time: str = Field(examples=["06:00"], description="In your time zone.")
    weekday: int | None = Field(None, description="0 is Monday; null or left out: every day.")
    time_zone: str = Field("", examples=["Europe/Berlin"], description="Empty: that of your preferences, else UTC.")


class BookAddressRequest(ApiModel):
    address: str = Field(max_length=254, examples=["name@kindle.com"], description="Empty: none any more.")


@record
class BookSourceResponse(ResponseModel):
    view: Annotated[str, Field(description="unread, all, starred, later or digests")]
    feed_id: JsonId | None
    folder_id: JsonId | None
    tag: str | None
    search_id: JsonId | None
    digest_id: JsonId | None


@record
class LeftOutResponse(ResponseModel):
    entries: Annotated[int, Field(description=f"A book holds at most {MAX_ENTRIES} entries.")]
    pictures: Annotated[int, Field(description="Too large, too many, damaged, or not to be fetched.")]


@record
class BookResponse(ResponseModel):
    id: JsonId
    source: BookSourceResponse
    title: str
    language: str
    status: Annotated[str, Field(description="pending, ready or failed", examples=["ready"])]
    progress: Annotated[int, Field(description="Percent.")]
    entries: int
    pictures: int
    left_out: LeftOutResponse
    length: Annotated[int, Field(description="Bytes.")]
    file_name: str
    plan_id: JsonId | None
    mail_to: str
    mail_status: Annotated[str, Field(description="Empty if it is not mailed; pending, sent or failed.")]
    mail_error: Annotated[FailureSentence, Field(description="The mail server's answer at the last try.")]
    created_at: Timestamp
    finished_at: Timestamp | None
    error: FailureText
    error_code: FailureName


@record
class BookPlanResponse(ResponseModel):
    id: JsonId
    source: BookSourceResponse
    time: Annotated[str, Field(examples=["06:00"])]
    weekday: Annotated[int | None, Field(description="0 is Monday; null: every day.")]
    time_zone: str
    mail: bool
    next_at: Timestamp
    last_at: Annotated[Timestamp | None, Field(description="When its last book was made.")]
    error: FailureText
    error_code: FailureName


@record
class BookAddressResponse(ResponseModel):
    address: Annotated[str, Field(description="Of your e-reader; empty if there is none.")]
    confirmed: Annotated[bool, Field(description="Whether books may be sent to it.")]
    sender: Annotated[
        str, Field(description="Put this on your e-reader's list of approved senders. Empty: no mail here.")
    ]


@router.get("", summary="List your books, newest first")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[BookResponse]]:
    return Json(ListPage([_response(book) for book in await list_books(runtime, caller.user_id)]))


@router.post(
    "",
    status_code=202,
    summary="Make a book of a list or a digest",
    description=(
        "A worker makes it: poll `/api/v1/books/{id}`, or listen for `progress` events of kind `book`. A book of the "
        "same list that is younger than ten minutes is returned again, unless it is to be mailed."
    ),
)
async def make(runtime: CurrentRuntime, caller: CurrentCaller, body: BookRequest) -> Json[BookResponse]:
    return Json(_response(await request_book(runtime, caller.user, body.source(body.digest_id), mail=body.mail)), 202)


@router.get("/address", summary="Get the address of your e-reader")
async def get_address(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[BookAddressResponse]:
    return Json(_address(runtime, caller.user))


@router.put(
    "/address",
    summary="Set the address of your e-reader",
    description="Any but your own and those of e-readers gets a mail with a link that confirms it.",
)
async def put_address(
    runtime: CurrentRuntime, caller: CurrentCaller, body: BookAddressRequest
) -> Json[BookAddressResponse]:
    return Json(_address(runtime, await set_address(runtime, caller.user, body.address)))


@router.get("/plans", summary="List the plans that make books")
async def plans(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[BookPlanResponse]]:
    return Json(ListPage([_plan(plan) for plan in await list_plans(runtime, caller.user_id)]))


@router.post(
    "/plans",
    status_code=201,
    summary="Plan a book for every day or week",
    description="Each book holds what no earlier book of the plan held. Nothing new means no book.",
)
async def make_plan(runtime: CurrentRuntime, caller: CurrentCaller, body: BookPlanRequest) -> Json[BookPlanResponse]:
    plan = await add_plan(
        runtime,
        caller.user,
        body.source(),
        minute=minute_of(body.time),
        weekday=body.weekday,
        zone=body.time_zone or zone_for(caller.user),
        mail=body.mail,
    )
    return Json(_plan(plan), 201)


@router.delete("/plans/{plan_id}", status_code=204, summary="Delete a plan; its books stay")
async def remove_plan(runtime: CurrentRuntime, caller: CurrentCaller, plan_id: IdPath) -> Response:
    await delete_plan(runtime, caller.user_id, plan_id)
    return Response(status_code=204)


@router.get("/{book_id}", summary="Get a book's state")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, book_id: IdPath) -> Json[BookResponse]:
    return Json(_response(await get_book(runtime, caller.user_id, book_id)))


@router.get("/{book_id}/file", summary="Get the EPUB file, or a range of it", response_class=Response, responses=_EPUB)
async def file(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    book_id: IdPath,
    wanted: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
) -> Response:
    return book_file(request, runtime, await get_book(runtime, caller.user_id, book_id), wanted)


@router.post("/{book_id}/mail", status_code=202, summary="Send a book to your e-reader")
async def mail(runtime: CurrentRuntime, caller: CurrentCaller, book_id: IdPath) -> Json[BookResponse]:
    return Json(_response(await mail_book(runtime, caller.user, book_id)), 202)


@router.delete("/{book_id}", status_code=204, summary="Delete a book")
async def remove(runtime: CurrentRuntime, caller: CurrentCaller, book_id: IdPath) -> Response:
    await delete_book(runtime, caller.user_id, book_id)
    return Response(status_code=204)


def book_file(request: Request, runtime: Runtime, book: Book, wanted: str | None) -> Response:
    """The file or a range of it. E-readers request it through the catalogue, with HEAD first."""
    if book.status != "ready":
        raise NotFound("This book is not ready.")
    tag = f'"{book.id}-{book.finished_at}-{book.length}"'
    headers = {
        "Content-Disposition": attachment_name(book.file_name),
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Accept-Ranges": "bytes",
        "ETag": tag,
    }
    if request.headers.get("if-range", tag) != tag:
        wanted = None
    chosen = byte_range(wanted, book.length)
    first, last = chosen or (0, book.length - 1)
    if first > last:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{book.length}"})
    headers["Content-Length"] = str(last - first + 1)
    if chosen is not None:
        headers["Content-Range"] = f"bytes {first}-{last}/{book.length}"
    status = 200 if chosen is None else 206
    if is_head(request):
        return Response(None, status, headers, BOOK_TYPE)
    return StreamingResponse(read_book(runtime, book, first, last), status, headers, BOOK_TYPE)


def _response(book: Book) -> BookResponse:
    left_out = LeftOutResponse(book.left_out.entries, book.left_out.pictures)
    return BookResponse.of(book, source=_source(book.source), left_out=left_out)


def _plan(plan: BookPlan) -> BookPlanResponse:
    time = f"{plan.minute // 60:02}:{plan.minute % 60:02}"
    return BookPlanResponse.of(plan, source=_source(plan.source), time=time, time_zone=plan.zone)


def _source(source: BookSource) -> BookSourceResponse:
    return BookSourceResponse.of(source, view="digests" if source.is_digest else source.view)


def _address(runtime: Runtime, user: User) -> BookAddressResponse:
    address = preferences_of(user).book_address
    return BookAddressResponse(address, bool(address) and is_confirmed(runtime, user, address), sender_of(runtime))

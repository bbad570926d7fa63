"""The one shape of an error, as the OpenAPI document shows it at every door."""

from typing import Any

from pydantic import BaseModel, Field


class ErrorDetails(BaseModel):
    field: str | None = Field(None, description="The field that is wrong, when one is.", examples=["email"])


class ErrorBody(BaseModel):
    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is nothing with this id."])
    details: ErrorDetails


class ErrorOut(BaseModel):
    error: ErrorBody


_WORDS = {
    400: "Something sent is wrong; the message says what.",
    401: "Nobody is logged in.",
    403: "Known, and not allowed.",
    404: "It is not there, or not yours.",
    409: "It is there already, or something stands in the way.",
    413: "More bytes than this door takes.",
    429: "Too many requests; `Retry-After` says how many seconds to wait.",
    503: "A part the program needs does not answer; try again later.",
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "model": ErrorOut,
        "description": words,
        **({"headers": _RETRY} if status in (429, 503) else {}),
    }
    for status, words in _WORDS.items()
} | {"default": {"model": ErrorOut, "description": "Anything unexpected."}}

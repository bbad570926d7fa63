"""The one shape of an error, as the OpenAPI document shows it at every door."""

from typing import Any

from pydantic import Field

from reedbed.http.models import ApiModel


class ErrorDetails(ApiModel):
    field: str | None = Field(None, description="The field that is wrong, when one is.", examples=["email"])


class ErrorBody(ApiModel):
    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is nothing with this id."])
    details: ErrorDetails


class ErrorOut(ApiModel):
    error: ErrorBody


_WORDS = {
    "400": "Something sent is wrong; the message says what.",
    "401": "Nobody is logged in.",
    "403": "Known, and not allowed.",
    "404": "It is not there, or not yours.",
    "409": "It is there already, or something stands in the way.",
    "413": "More bytes than this door takes.",
    "429": "Too many requests; `Retry-After` says how many seconds to wait.",
    "503": "A part the program needs does not answer; try again later.",
    "default": "Anything unexpected.",
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}

ANSWERS: dict[str, dict[str, Any]] = {
    f"Error{status}": {
        "description": words,
        "content": _CONTENT,
        **({"headers": _RETRY} if status in ("429", "503") else {}),
    }
    for status, words in _WORDS.items()
}
REFERENCES = {status: {"$ref": f"#/components/responses/Error{status}"} for status in _WORDS}


def error_schemas() -> dict[str, Any]:
    whole = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**whole.pop("$defs"), "ErrorOut": whole}

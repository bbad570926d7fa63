"""Failed fetches by status code and size. Separate from `errors`, which needs aiohttp."""

from reedbed.domain.refresh.outcomes import Failed

PERMANENT = "permanent_error"
UNAUTHORIZED = "unauthorized"
TEMPORARY = "temporary_error"

WITHOUT_DOCUMENT = {
    204: "The server answered that there is no content (204).",
    205: "The server answered that there is no content (205).",
    206: "The server sent only a part of the document (206).",
}

_MEGABYTE = 1024 * 1024


def refused(reason: str) -> Failed:
    return Failed(PERMANENT, reason)


def status_failure(status: int) -> Failed:
    match status:
        case 400:
            return Failed(PERMANENT, "Invalid request", status)
        case 401 | 403:
            return Failed(UNAUTHORIZED, "Authentication required", status)
        case 404:
            return Failed(PERMANENT, "Feed no longer available", status)
        case 407:
            return Failed(UNAUTHORIZED, "The proxy asks for authentication.", status)
        case 204 | 205 | 206:
            return Failed(TEMPORARY, WITHOUT_DOCUMENT[status], status)
        case _:
            permanent = 400 <= status < 500 and status != 408
            return Failed(PERMANENT if permanent else TEMPORARY, f"The server answered {status}.", status)


def too_large(limit: int) -> Failed:
    size = f"{limit // _MEGABYTE} MB" if limit >= _MEGABYTE else f"{limit // 1024} KB"
    return Failed(PERMANENT, f"The feed is larger than {size}.")

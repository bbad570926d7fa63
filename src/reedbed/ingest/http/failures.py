"""Failed fetches by status code and size. Separate from `errors`, which needs aiohttp."""

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed

PERMANENT = "permanent_error"
UNAUTHORIZED = "unauthorized"
TEMPORARY = "temporary_error"

WITHOUT_DOCUMENT = frozenset({204, 205, 206})

_MEGABYTE = 1024 * 1024


def refused(reason: Failure) -> Failed:
    return Failed(PERMANENT, reason)


def status_failure(status: int) -> Failed:
    match status:
        case 400:
            return Failed(PERMANENT, Failure(FailureCode.INVALID_REQUEST), status)
        case 401 | 403:
            return Failed(UNAUTHORIZED, Failure(FailureCode.AUTHENTICATION_REQUIRED), status)
        case 404:
            return Failed(PERMANENT, Failure(FailureCode.FEED_NOT_FOUND), status)
        case 407:
            return Failed(UNAUTHORIZED, Failure(FailureCode.PROXY_AUTHENTICATION_REQUIRED), status)
        case 204 | 205:
            return Failed(TEMPORARY, Failure(FailureCode.NO_CONTENT, {"status": status}), status)
        case 206:
            return Failed(TEMPORARY, Failure(FailureCode.PARTIAL_CONTENT), status)
        case _:
            permanent = 400 <= status < 500 and status != 408
            failure = Failure(FailureCode.HTTP_STATUS, {"status": status})
            return Failed(PERMANENT if permanent else TEMPORARY, failure, status)


def too_large(limit: int) -> Failed:
    size = f"{limit // _MEGABYTE} MB" if limit >= _MEGABYTE else f"{limit // 1024} KB"
    return Failed(PERMANENT, Failure(FailureCode.FEED_TOO_LARGE, {"size": size}))

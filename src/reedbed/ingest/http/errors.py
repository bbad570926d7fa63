"""Turn exceptions of a request into `Failed`.

Imports aiohttp, so it is loaded at the first fetch.
"""

import asyncio
import errno
import socket
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import PERMANENT, TEMPORARY, UNAUTHORIZED, Failed, refused, too_large
from reedbed.ingest.http.body import BodyNotDecodable, BodyTooLarge
from reedbed.ingest.http.guard import AddressRejected

# OpenSSL's verification results (X509_V_ERR_…).
_CERTIFICATE_ERRORS = {
    9: FailureCode.CERTIFICATE_NOT_YET_VALID,
    10: FailureCode.CERTIFICATE_EXPIRED,
    18: FailureCode.CERTIFICATE_SELF_SIGNED,
    19: FailureCode.CERTIFICATE_UNKNOWN_ISSUER,
    20: FailureCode.CERTIFICATE_UNKNOWN_ISSUER,
    21: FailureCode.CERTIFICATE_UNKNOWN_ISSUER,
    23: FailureCode.CERTIFICATE_REVOKED,
    62: FailureCode.CERTIFICATE_WRONG_NAME,
    64: FailureCode.CERTIFICATE_WRONG_ADDRESS,
}
_CONNECTION_ERRORS = {
    errno.ECONNREFUSED: FailureCode.CONNECTION_REFUSED,
    errno.ECONNRESET: FailureCode.CONNECTION_RESET,
    errno.EPIPE: FailureCode.CONNECTION_RESET,
    errno.ECONNABORTED: FailureCode.CONNECTION_RESET,
    errno.EHOSTUNREACH: FailureCode.HOST_UNREACHABLE,
    errno.ENETUNREACH: FailureCode.HOST_UNREACHABLE,
    errno.ETIMEDOUT: FailureCode.NO_ANSWER,
}


def describe(error: BaseException, host: str, *, limit: int) -> Failed | None:
    """None for an unknown error."""
    if (rejection := _guard_error(error)) is not None:
        return refused(rejection.reason)
    match error:
        case BodyTooLarge():
            return too_large(limit)
        case BodyNotDecodable():
            return Failed(TEMPORARY, Failure(FailureCode.DECOMPRESSION_FAILED, cause=error.failure))
        case asyncio.TimeoutError():
            return Failed(TEMPORARY, Failure(FailureCode.NO_ANSWER, {"host": host}))
        case aiohttp.ClientConnectorCertificateError():
            return Failed(TEMPORARY, _certificate_failure(error, host))
        case aiohttp.ClientConnectorDNSError():
            return _dns_failure(error.os_error, host)
        case aiohttp.ClientProxyConnectionError():
            return Failed(TEMPORARY, Failure(FailureCode.PROXY_UNREACHABLE))
        case aiohttp.ClientHttpProxyError():
            return _proxy_failure(error.status)
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return Failed(TEMPORARY, Failure(FailureCode.CONNECTION_NOT_SECURE, {"host": host}))
        case _:
            return _describe_broken_response(error, host)


def _describe_broken_response(error: BaseException, host: str) -> Failed | None:
    match error:
        case aiohttp.ServerDisconnectedError():
            return Failed(TEMPORARY, Failure(FailureCode.CONNECTION_CLOSED, {"host": host}))
        case aiohttp.ClientPayloadError():
            return Failed(TEMPORARY, Failure(FailureCode.RESPONSE_CUT_OFF))
        case aiohttp.ClientResponseError() | HttpProcessingError():
            code = FailureCode.HEADERS_TOO_LARGE if _headers_too_large(error) else FailureCode.HTTP_INVALID
            return Failed(TEMPORARY, Failure(code, {"host": host}))
        case socket.gaierror():
            return _dns_failure(error, host)
        case OSError():
            code = _CONNECTION_ERRORS.get(error.errno or 0, FailureCode.CONNECTION_FAILED)
            return Failed(TEMPORARY, Failure(code, {"host": host}))
        case aiohttp.InvalidURL():
            return Failed(PERMANENT, Failure(FailureCode.ADDRESS_INVALID))
        case aiohttp.ClientError():
            return Failed(TEMPORARY, Failure(FailureCode.EXCHANGE_FAILED, {"host": host}))
        case _:
            return None


def _headers_too_large(error: BaseException | None) -> bool:
    """However deep the client wrapped it. It has no error of its own for too many headers."""
    for _ in range(8):
        if error is None or isinstance(error, LineTooLong):
            return error is not None
        if isinstance(error, HttpProcessingError) and "Too many headers" in error.message:
            return True
        error = error.__cause__ or error.__context__
    return False


def _guard_error(error: BaseException | None) -> AddressRejected | None:
    """The guard's own error, however deep the client wrapped it."""
    for _ in range(8):
        if error is None or isinstance(error, AddressRejected):
            return error
        error = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error.__cause__
    return None


def _certificate_failure(error: aiohttp.ClientConnectorCertificateError, host: str) -> Failure:
    cause = error.certificate_error
    code = _CERTIFICATE_ERRORS.get(getattr(cause, "verify_code", 0), FailureCode.CERTIFICATE_UNTRUSTED)
    return Failure(FailureCode.CERTIFICATE_INVALID, {"host": host}, Failure(code))


def _dns_failure(error: OSError, host: str) -> Failed:
    if error.errno == socket.EAI_AGAIN:
        return Failed(TEMPORARY, Failure(FailureCode.DNS_UNAVAILABLE, {"host": host}))
    return Failed(TEMPORARY, Failure(FailureCode.DNS_NOT_FOUND, {"host": host}))


def _proxy_failure(status: int) -> Failed:
    if status == 407:
        return Failed(UNAUTHORIZED, Failure(FailureCode.PROXY_AUTHENTICATION_REQUIRED), status)
    return Failed(TEMPORARY, Failure(FailureCode.PROXY_STATUS, {"status": status}), status)

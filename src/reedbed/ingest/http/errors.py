"""Turn exceptions of a request into `Failed` with a readable message.

Imports aiohttp, so it is loaded at the first fetch.
"""

import asyncio
import errno
import socket
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from reedbed.domain.refresh.outcomes import Failed
from reedbed.ingest.http.body import BodyNotDecodable, BodyTooLarge
from reedbed.ingest.http.failures import PERMANENT, TEMPORARY, UNAUTHORIZED, refused, too_large
from reedbed.ingest.http.guard import AddressRejected

# OpenSSL's verification results (X509_V_ERR_…).
_CERTIFICATE_ERRORS = {
    9: "not valid yet",
    10: "expired",
    18: "self-signed",
    19: "signed by nobody this machine trusts",
    20: "signed by nobody this machine trusts",
    21: "signed by nobody this machine trusts",
    23: "revoked",
    62: "made out to another name",
    64: "made out to another address",
}
_CONNECTION_ERRORS = {
    errno.ECONNREFUSED: "{host} refuses connections.",
    errno.ECONNRESET: "{host} broke the connection off.",
    errno.EPIPE: "{host} broke the connection off.",
    errno.ECONNABORTED: "{host} broke the connection off.",
    errno.EHOSTUNREACH: "{host} cannot be reached.",
    errno.ENETUNREACH: "{host} cannot be reached.",
    errno.ETIMEDOUT: "{host} does not answer.",
}


def describe(error: BaseException, host: str, *, limit: int) -> Failed | None:
    """None for an unknown error."""
    if (rejection := _guard_error(error)) is not None:
        return refused(rejection.reason)
    match error:
        case BodyTooLarge():
            return too_large(limit)
        case BodyNotDecodable():
            return Failed(TEMPORARY, f"The answer could not be unpacked. {error}")
        case asyncio.TimeoutError():
            return Failed(TEMPORARY, f"{host} does not answer.")
        case aiohttp.ClientConnectorCertificateError():
            return Failed(TEMPORARY, _certificate_message(error, host))
        case aiohttp.ClientConnectorDNSError():
            return _dns_failure(error.os_error, host)
        case aiohttp.ClientProxyConnectionError():
            return Failed(TEMPORARY, "The proxy could not be reached.")
        case aiohttp.ClientHttpProxyError():
            return _proxy_failure(error.status)
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return Failed(TEMPORARY, f"No secure connection to {host} could be made.")
        case _:
            return _describe_broken_response(error, host)


def _describe_broken_response(error: BaseException, host: str) -> Failed | None:
    match error:
        case aiohttp.ServerDisconnectedError():
            return Failed(TEMPORARY, f"{host} closed the connection without an answer.")
        case aiohttp.ClientPayloadError():
            return Failed(TEMPORARY, "The connection broke off before the document was complete.")
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return Failed(TEMPORARY, f"{host} does not answer in proper HTTP.")
        case socket.gaierror():
            return _dns_failure(error, host)
        case OSError():
            message = _CONNECTION_ERRORS.get(error.errno or 0, "{host} could not be connected to.")
            return Failed(TEMPORARY, message.format(host=host))
        case aiohttp.InvalidURL():
            return Failed(PERMANENT, "The address is not valid.")
        case aiohttp.ClientError():
            return Failed(TEMPORARY, f"The exchange with {host} failed.")
        case _:
            return None


def _guard_error(error: BaseException | None) -> AddressRejected | None:
    """The guard's own error, however deep the client wrapped it."""
    for _ in range(8):
        if error is None or isinstance(error, AddressRejected):
            return error
        error = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error.__cause__
    return None


def _certificate_message(error: aiohttp.ClientConnectorCertificateError, host: str) -> str:
    cause = error.certificate_error
    code = getattr(cause, "verify_code", 0)
    return f"The certificate of {host} is not valid: {_CERTIFICATE_ERRORS.get(code, 'it cannot be trusted')}."


def _dns_failure(error: OSError, host: str) -> Failed:
    if error.errno == socket.EAI_AGAIN:
        return Failed(TEMPORARY, f"The name {host} could not be looked up just now.")
    return Failed(TEMPORARY, f"The name {host} could not be found.")


def _proxy_failure(status: int) -> Failed:
    if status == 407:
        return Failed(UNAUTHORIZED, "The proxy asks for authentication.", status)
    return Failed(TEMPORARY, f"The proxy answered {status}.", status)

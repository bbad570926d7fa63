"""From what broke on the way to a sentence for people. Loaded with the client, at the first fetch."""

import asyncio
import errno
import socket
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from reedbed.domain.refresh.outcomes import Failed
from reedbed.ingest.http.body import OverLimit, Undecodable
from reedbed.ingest.http.failures import PERMANENT, TEMPORARY, UNAUTHORIZED, refused, too_large
from reedbed.ingest.http.guard import AddressRefused

# OpenSSL's verification results (X509_V_ERR_…).
_CERTIFICATE_FAULTS = {
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
_CONNECTION_FAULTS = {
    errno.ECONNREFUSED: "{host} refuses connections.",
    errno.ECONNRESET: "{host} broke the connection off.",
    errno.EPIPE: "{host} broke the connection off.",
    errno.ECONNABORTED: "{host} broke the connection off.",
    errno.EHOSTUNREACH: "{host} cannot be reached.",
    errno.ENETUNREACH: "{host} cannot be reached.",
    errno.ETIMEDOUT: "{host} does not answer.",
}


def describe(error: BaseException, host: str, *, limit: int) -> Failed | None:
    """None for an error this module does not know."""
    if (refusal := _refusal(error)) is not None:
        return refused(refusal.reason)
    match error:
        case OverLimit():
            return too_large(limit)
        case Undecodable():
            return Failed(TEMPORARY, f"The answer could not be unpacked. {error}")
        case asyncio.TimeoutError():
            return Failed(TEMPORARY, f"{host} does not answer.")
        case aiohttp.ClientConnectorCertificateError():
            return Failed(TEMPORARY, _certificate(error, host))
        case aiohttp.ClientConnectorDNSError():
            return _unknown_name(error.os_error, host)
        case aiohttp.ClientProxyConnectionError():
            return Failed(TEMPORARY, "The proxy could not be reached.")
        case aiohttp.ClientHttpProxyError():
            return _proxy_answer(error.status)
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return Failed(TEMPORARY, f"No secure connection to {host} could be made.")
        case _:
            return _broken_exchange(error, host)


def _broken_exchange(error: BaseException, host: str) -> Failed | None:
    match error:
        case aiohttp.ServerDisconnectedError():
            return Failed(TEMPORARY, f"{host} closed the connection without an answer.")
        case aiohttp.ClientPayloadError():
            return Failed(TEMPORARY, "The connection broke off before the document was complete.")
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return Failed(TEMPORARY, f"{host} does not answer in proper HTTP.")
        case socket.gaierror():
            return _unknown_name(error, host)
        case OSError():
            words = _CONNECTION_FAULTS.get(error.errno or 0, "{host} could not be connected to.")
            return Failed(TEMPORARY, words.format(host=host))
        case aiohttp.InvalidURL():
            return Failed(PERMANENT, "The address is not valid.")
        case aiohttp.ClientError():
            return Failed(TEMPORARY, f"The exchange with {host} failed.")
        case _:
            return None


def _refusal(error: BaseException | None) -> AddressRefused | None:
    """The guard's own error, however deep the client wrapped it."""
    for _ in range(8):
        if error is None or isinstance(error, AddressRefused):
            return error
        error = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error.__cause__
    return None


def _certificate(error: aiohttp.ClientConnectorCertificateError, host: str) -> str:
    cause = error.certificate_error
    code = getattr(cause, "verify_code", 0)
    return f"The certificate of {host} is not valid: {_CERTIFICATE_FAULTS.get(code, 'it cannot be trusted')}."


def _unknown_name(error: OSError, host: str) -> Failed:
    if error.errno == socket.EAI_AGAIN:
        return Failed(TEMPORARY, f"The name {host} could not be looked up just now.")
    return Failed(TEMPORARY, f"The name {host} could not be found.")


def _proxy_answer(status: int) -> Failed:
    if status == 407:
        return Failed(UNAUTHORIZED, "The proxy asks for authentication.", status)
    return Failed(TEMPORARY, f"The proxy answered {status}.", status)

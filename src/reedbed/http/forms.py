"""Forms are read as UTF-8, whatever encoding they claim.

Browsers send nothing else, RFC 7578 knows no such claim, and among Python's encodings are some that fail
where nobody expects it, or make signs that no database can hold.
"""

from python_multipart.multipart import parse_options_header
from starlette.types import ASGIApp, Receive, Scope, Send

MULTIPART = b"multipart/form-data"


class PlainForms:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            # In place: the layers outside look into the same scope afterwards.
            scope["headers"] = [
                (name, _plain(value) if name == b"content-type" else value)
                for name, value in scope["headers"]
            ]
        await self._app(scope, receive, send)


def _plain(content_type: bytes) -> bytes:
    kind, options = parse_options_header(content_type)
    if kind.strip() != MULTIPART or b"charset" not in options:
        return content_type
    boundary = options.get(b"boundary", b"").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return MULTIPART + b'; boundary="' + boundary + b'"'

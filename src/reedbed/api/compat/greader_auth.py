"""The doors of Google Reader: ClientLogin, the `Authorization` header, the edit token."""

from fastapi import Request, Response

from reedbed.api.compat.answers import json, text
from reedbed.api.compat.calls import Call
from reedbed.api.compat.params import Params
from reedbed.domain.accounts import Caller
from reedbed.http.client_ip import client_ip
from reedbed.services.reader_logins import by_login_token, edit_token_is_good, log_in, new_edit_token
from reedbed.services.runtime import Runtime

LONGEST_HEADER = 500


async def client_login(request: Request, runtime: Runtime, params: Params) -> Response:
    token = await log_in(runtime, params.one("Email"), params.one("Passwd"), ip=client_ip(request))
    if token is None:
        return text("Error=BadAuthentication", 401)
    # Vienna wants a line for LSID, NetNewsWire a value on each line.
    names = {"SID": token, "LSID": token, "Auth": token}
    if params.one("output") == "json":
        return json(names)
    return text("\n".join(f"{name}={value}" for name, value in names.items()))


async def caller_of(request: Request, runtime: Runtime) -> Caller | None:
    token = _token(request.headers.get("authorization", ""))
    return await by_login_token(runtime, token) if token else None


def unauthorized() -> Response:
    return text("Unauthorized", 401, {"WWW-Authenticate": 'GoogleLogin realm="Reedbed"'})


async def edit_token(call: Call) -> Response:
    """Without a line end: some apps send back all they got."""
    return text(new_edit_token(call.runtime, call.caller))


def bad_edit_token(call: Call) -> Response | None:
    """The refusal, if the call brings an edit token that is wrong or too old."""
    if edit_token_is_good(call.runtime, call.caller, call.params.one("T")):
        return None
    return text("Unauthorized", 401, {"X-Reader-Google-Bad-Token": "true"})


def _token(header: str) -> str:
    """`GoogleLogin auth=…`, with or without quotes; or `Bearer …`."""
    if len(header) > LONGEST_HEADER:
        return ""
    scheme, _, rest = header.strip().partition(" ")
    rest = rest.strip()
    match scheme.lower():
        case "bearer":
            return rest
        case "googlelogin":
            name, _, value = rest.partition("=")
            return value.strip().strip('"') if name.strip().lower() == "auth" else ""
        case _:
            return ""

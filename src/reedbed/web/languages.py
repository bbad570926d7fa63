"""Which language the page speaks: the user's choice, else what the browser asks for."""

import orjson
from fastapi import Request

from reedbed.domain.accounts import Caller
from reedbed.http.caller import maybe_caller
from reedbed.web.speech import LANGUAGES, speak


async def choose_language(request: Request) -> None:
    """Before anything is said: views are put into words before they are drawn."""
    speak(language_of(request, await maybe_caller(request)))


def language_of(request: Request, caller: Caller | None) -> str:
    chosen = _preferred(caller)
    if chosen in LANGUAGES:
        return chosen
    for part in request.headers.get("accept-language", "").split(","):
        short = part.split(";")[0].strip().lower()[:2]
        if short in LANGUAGES:
            return short
    return "en"


def _preferred(caller: Caller | None) -> str:
    if caller is None:
        return ""
    wishes = orjson.loads(caller.user.preferences or "{}")
    return str(wishes.get("language", ""))

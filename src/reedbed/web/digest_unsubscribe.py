"""The link below a digest by mail: a page with a button, and the POST that mail programs send themselves."""

from fastapi import APIRouter, Request, Response

from reedbed.http.caller import RuntimeOf
from reedbed.services.digest_letters import end_digest_mail, reader_of
from reedbed.web.pages import page
from reedbed.web.views.digests import UnsubscribePage

router = APIRouter(include_in_schema=False)


@router.get("/digests/unsubscribe/{token}")
async def show_unsubscribe(request: Request, runtime: RuntimeOf, token: str) -> Response:
    """Only asks: programs that look into letters follow their links, but press nothing."""
    reader_of(runtime, token)
    return await page(request, "digest/unsubscribe.html", UnsubscribePage(token))


@router.post("/digests/unsubscribe/{token}")
async def unsubscribe(request: Request, runtime: RuntimeOf, token: str) -> Response:
    """The link itself is the proof: no log-in, no form token, as RFC 8058 wants it."""
    await end_digest_mail(runtime, token)
    return await page(request, "digest/unsubscribe.html", UnsubscribePage(token, done=True))

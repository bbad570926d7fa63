"""How one leaves a newsletter: the list is told once, and what still comes is not shown."""

import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest
from aiohttp import web

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.newsletters import Mail
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.ingest.mail.message import read_mime
from reedbed.services.newsletters.receive import Received
from reedbed.services.newsletters.senders import NO_WAY_OUT, REFUSED, resume_sender
from reedbed.services.subscriptions.manage import unsubscribe
from tests.harness import RuntimeHarness
from tests.mailserver import make_certificate
from tests.servers import free_port
from tests.services.newsletters.letters import LEAVING, PLAIN, SAMPLES, following, sent, the_sender
from tests.smtp_server import open_smtp_server, work_off


class ListPage:
    """Where a list wants to be told, with a certificate, as one-click pages must have."""

    status = 200

    def __init__(self, port: int) -> None:
        self.url = f"https://localhost:{port}/u/7"
        self.told: list[bytes] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.told.append(await request.read())
        return web.Response(status=self.status)


@pytest.fixture
async def list_page(harness: RuntimeHarness, tmp_path: Path) -> AsyncIterator[ListPage]:
    make_certificate(tmp_path)
    page = ListPage(free_port())
    app = web.Application()
    app.router.add_post("/u/7", page.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    await web.TCPSite(runner, "127.0.0.1", int(page.url.split(":")[2].split("/")[0]), ssl_context=tls).start()
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    fetcher = Fetcher(Guard([ip_network("127.0.0.0/8"), ip_network("::1/128")]), ssl_context=trusting)
    harness.runtime = replace(harness.runtime, fetcher=fetcher)
    yield page
    await fetcher.close()
    await runner.cleanup()


async def test_leaving_tells_the_list_with_one_click(harness: RuntimeHarness, list_page: ListPage) -> None:
    runtime, mine = harness.runtime, await harness.person()
    await sent(runtime, mine, _leaving_at(list_page.url))
    (followed,) = await following(runtime, mine)
    await unsubscribe(runtime, mine, followed.id)
    await work_off(runtime)

    assert (await the_sender(runtime, mine)).leaving == Failure(FailureCode.UNSUBSCRIBE_ACCEPTED)
    assert list_page.told == [b"List-Unsubscribe=One-Click"]


async def test_a_list_without_a_page_is_told_by_mail(harness: RuntimeHarness) -> None:
    with open_smtp_server() as smtp_server:
        runtime = replace(harness.runtime, mailer=smtp_server.mailer())
        mine = await harness.person()
        await sent(runtime, mine, LEAVING.raw.replace(b", <https://lists.example.org/u/7>", b""))
        (followed,) = await following(runtime, mine)
        await unsubscribe(runtime, mine, followed.id)
        await work_off(runtime)

    (letter,) = smtp_server.letters
    assert (letter["To"], letter["Subject"]) == ("leave@lists.example.org", "leave 7")
    assert (await the_sender(runtime, mine)).leaving == Failure(FailureCode.UNSUBSCRIBE_MAILED)


async def test_what_still_comes_after_leaving_is_not_shown_but_a_confirmation_is(harness: RuntimeHarness) -> None:
    runtime, mine = harness.runtime, await harness.person()
    first = SAMPLES["confirmation"]
    await sent(runtime, mine, first)
    (followed,) = await following(runtime, mine)
    await unsubscribe(runtime, mine, followed.id)
    assert (await the_sender(runtime, mine)).leaving == NO_WAY_OUT

    plain = PLAIN.raw.replace(b"From: plain@letters.example.org", b"From: hello@lists.example.org")
    assert await sent(runtime, mine, plain) == Received(unwanted=1)
    assert await following(runtime, mine) == []
    anew = first.raw.replace(b"<confirmation@", b"<confirmation2@")
    assert await sent(runtime, mine, anew) == Received(new=1)
    assert len(await following(runtime, mine)) == 1


async def test_whoever_follows_again_is_not_unsubscribed_meanwhile(
    harness: RuntimeHarness, list_page: ListPage
) -> None:
    runtime, mine = harness.runtime, await harness.person()
    await sent(runtime, mine, _leaving_at(list_page.url))
    (followed,) = await following(runtime, mine)
    await unsubscribe(runtime, mine, followed.id)
    await resume_sender(runtime, mine, (await the_sender(runtime, mine)).id)
    await work_off(runtime)
    assert list_page.told == []
    assert len(await following(runtime, mine)) == 1


async def test_a_list_that_refuses_is_reported(harness: RuntimeHarness, list_page: ListPage) -> None:
    runtime, mine = harness.runtime, await harness.person()
    list_page.status = 404
    await sent(runtime, mine, _leaving_at(list_page.url, mailto=False))
    (followed,) = await following(runtime, mine)
    await unsubscribe(runtime, mine, followed.id)
    await work_off(runtime)
    assert (await the_sender(runtime, mine)).leaving == REFUSED


def _leaving_at(url: str, *, mailto: bool = True) -> bytes:
    raw = LEAVING.raw.replace(b"https://lists.example.org/u/7", url.encode())
    assert isinstance(read_mime(raw), Mail)
    return raw if mailto else raw.replace(b"<mailto:leave@lists.example.org?subject=leave%207>, ", b"")

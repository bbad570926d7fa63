"""A reader with an address behind every endpoint that takes mail."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from reedbed.domain.newsletters import MailIntake, MailPolicy
from reedbed.ingest.mail import imap
from reedbed.roles.app import create_app
from reedbed.services.newsletters.channels import open_mail_intake
from reedbed.services.newsletters.senders import add_address, written
from tests.amazon import TOPIC, Amazon
from tests.clients import new_client
from tests.conftest import enter
from tests.harness import RuntimeHarness
from tests.http.newsletters.world import DOMAIN, MAILGUN_KEY, TOKEN, World
from tests.mailserver import ImapServer, imap_server
from tests.servers import free_port


@pytest.fixture(scope="session")
def imap_service(running_servers: ExitStack) -> ImapServer:
    return enter(running_servers, imap_server)


@pytest.fixture(scope="session")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> Amazon:
    return Amazon.create(tmp_path_factory.mktemp("amazon"))


@pytest.fixture
async def world(
    harness: RuntimeHarness, imap_service: ImapServer, amazon: Amazon, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    monkeypatch.setenv("SSL_CERT_FILE", str(imap_service.certificate))
    imap._tls.cache_clear()
    policy = MailPolicy(
        domain=DOMAIN, webhook_token=TOKEN, mailgun_key=MAILGUN_KEY, ses_topics=(TOPIC,), authserv_id="mx.example.net"
    )
    async with amazon.serving() as fetcher:
        harness.runtime = replace(harness.runtime, mail=policy, fetcher=fetcher)
        user_id = await harness.person()
        address = await add_address(harness.runtime, user_id, "Letters")
        intake = MailIntake("127.0.0.1", free_port(), per_minute=1_000)
        server = await open_mail_intake(harness.runtime, intake)
        async with new_client(create_app(harness.runtime)) as client:
            yield World(harness, client, user_id, written(harness.runtime, address), intake.port, imap_service, amazon)
        server.close()
    imap._tls.cache_clear()

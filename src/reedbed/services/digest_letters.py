"""Digests by mail."""

import structlog

from reedbed.domain.accounts import User
from reedbed.domain.digest_letters import digest_letter
from reedbed.domain.digests import Digest
from reedbed.domain.letters import NotSent
from reedbed.services.runtime import Runtime

log = structlog.get_logger()


async def send_digest(runtime: Runtime, user: User, digest: Digest) -> None:
    """One try: the digest is on the page whether or not the letter goes out."""
    if runtime.mailer is None:
        return
    letter = digest_letter(user.email, digest, runtime.accounts.base_url)
    sent = await runtime.mailer.send(letter, runtime.now())
    if isinstance(sent, NotSent):
        log.warning("a digest was not mailed", digest=digest.id, error=sent.reason)

"""Making and taking the links of letters."""

from reedbed.domain.errors import Invalid
from reedbed.domain.mail_links import EXPIRED, LIVES, MailLink, Purpose, link_url
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import new_token, token_hash
from reedbed.store import mail_links
from reedbed.store.database import Tx


async def make_link(runtime: Runtime, purpose: Purpose, email: str, user_id: int | None) -> str:
    """The address to send or print; it is the only place the token is ever written."""
    now, token = runtime.now(), new_token()
    async with runtime.db.write() as tx:
        await mail_links.add(
            tx,
            purpose=purpose,
            email=email,
            user_id=user_id,
            token_hash=token_hash(token),
            now=now,
            expires_at=now + LIVES[purpose],
        )
    return link_url(runtime.accounts.base_url, purpose, token)


async def find_link(runtime: Runtime, purpose: Purpose, token: str) -> MailLink | None:
    """For the page behind the link; nothing is spent."""
    async with runtime.db.read() as tx:
        return await mail_links.find(tx, purpose, token_hash(token), runtime.now())


async def spend_link(runtime: Runtime, tx: Tx, purpose: Purpose, token: str) -> MailLink:
    link = await mail_links.use(tx, purpose, token_hash(token), runtime.now())
    if link is None:
        raise Invalid(EXPIRED, field="token")
    return link

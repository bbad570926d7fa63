"""What the reading page shows of newsletters: confirmations in front, and who a mail is from."""

from dataclasses import replace

from reedbed.domain.entries import Entry
from reedbed.domain.newsletters import Sender, Verdicts, WaitingConfirmation, WaysOut
from reedbed.services.newsletter_senders import CONFIRMATIONS_SHOWN
from reedbed.services.runtime import Runtime
from reedbed.store import newsletters
from reedbed.store.database import Tx
from reedbed.web.speech import translate
from reedbed.web.views.newsletters import Confirm, MailFacts
from reedbed.web.views.reading import Article, EntryList

_SHOWN_ABOVE = ("unread", "all")


async def with_confirmations(
    runtime: Runtime, tx: Tx, user_id: int, view: str, listed: EntryList
) -> EntryList:
    """The list with the mails that wait for a click above it."""
    if view not in _SHOWN_ABOVE:
        return listed
    waiting = await newsletters.waiting(tx, user_id, runtime.now() - CONFIRMATIONS_SHOWN)
    return replace(listed, confirmations=tuple(map(confirm_view, waiting))) if waiting else listed


async def with_mail(tx: Tx, user_id: int, article: Article, entry: Entry) -> Article:
    """The article with what is known of its mail, where it came by one."""
    if not any(author.email for author in entry.authors):  # every mail has a sender: most entries end here
        return article
    sender = await newsletters.sender_of_feed(tx, user_id, entry.row.feed_id)
    if sender is None:
        return article
    waiting = await newsletters.confirmation(tx, user_id, entry.row.id)
    facts = MailFacts(
        address=sender.address,
        verdict=verdict_words(sender.verdicts),
        confirm=confirm_view(waiting) if waiting else None,
    )
    return replace(article, mail=facts)


def confirm_view(waiting: WaitingConfirmation) -> Confirm:
    label = waiting.label or translate("Confirm")
    return Confirm(waiting.entry_id, waiting.title, waiting.sender, waiting.url, label)


def sender_facts(sender: Sender) -> tuple[tuple[str, str], ...]:
    """For the page of a sender's feed."""
    facts = (
        (translate("Sender"), sender.address),
        (translate("Findings about the sender"), verdict_words(sender.verdicts)),
        (translate("When you unsubscribe, the list is told"), _way_out(sender.ways_out)),
    )
    return tuple((name, value) for name, value in facts if value)


def _way_out(ways: WaysOut) -> str:
    if ways.post:
        return translate("With one click")
    if ways.mailto:
        return translate("With a mail")
    return translate("By you, on its page") if ways.page else translate("Not: it offers no way")


def verdict_words(told: Verdicts) -> str:
    """`SPF pass, DKIM pass, says mx.example.org`; these are names of the trade and stay as they are."""
    found = (("SPF", told.spf), ("DKIM", told.dkim), ("DMARC", told.dmarc))
    results = ", ".join(f"{name} {result}" for name, result in found if result)
    return translate("%(results)s, says %(server)s", results=results, server=told.by) if results else ""

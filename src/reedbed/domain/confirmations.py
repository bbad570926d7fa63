"""Mails that ask to confirm a subscription: found by their words and the link they want clicked."""

import re
from collections.abc import Sequence

from reedbed.domain.newsletters import Confirmation
from reedbed.domain.records import record

MOST_WORDS = 500
"""A confirmation is short; a long letter that speaks of confirming is a letter."""
_LOOKED_AT = 4_000
_MAX_LABEL = 80

_ASKS = re.compile(
    r"\bconfirm(?:ing|ed)?\b.{0,60}\b(?:subscri\w+|e-?mail|address|sign[- ]?up|registration|newsletter)|"
    r"\b(?:verify|activate|validate)\b.{0,40}\b(?:subscri\w+|e-?mail|address|account)|"
    r"\b(?:subscription|e-?mail|address)\b.{0,30}\bconfirm|\bopt[- ]?in\b|"
    r"\bbest(?:ä|ae)tig\w*.{0,60}\b(?:anmeldung|abo\w*|e-?mail\w*|adresse|newsletter\w*)|"
    r"\b(?:anmeldung|abo\w*|e-?mail\w*|adresse|newsletter\w*)\b.{0,60}\bbest(?:ä|ae)tig|"
    r"\bconfirme[rz]?\b.{0,60}\b(?:inscription|abonnement|adresse|e-?mail)|"
    r"\bconfirm(?:a|ar|e|ación)\b.{0,60}\b(?:suscripci\w+|inscri\w+|correo|assinatura)|"
    r"\bconferma\w*\b.{0,60}\b(?:iscrizione|indirizzo|e-?mail)|"
    r"\bbevestig\w*\b.{0,60}\b(?:inschrijving|aanmelding|abonnement|e-?mail\w*)|"
    r"\bbekräfta\b.{0,60}\b(?:prenumeration|e-?post\w*)|\bbekræft\b.{0,60}\b(?:tilmelding|e-?mail)|"
    r"\bpotwierd\w*\b.{0,60}\b(?:subskrypcj\w+|zapis\w*|adres\w*)",
    re.IGNORECASE | re.DOTALL,
)
_BUTTON = re.compile(
    r"\b(?:confirm\w*|verify|activate|validate|subscribe me|yes,? .{0,20}subscribe|opt[- ]?in|"
    r"best(?:ä|ae)tig\w*|valider|conferm\w*|bevestig\w*|bekräfta|bekræft|potwierd\w*|"
    r"anmeldung abschließen)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"confirm|verif|activat|opt-?in|subscri(?:be|ption)|double-?opt|bestaetig", re.IGNORECASE
)
_WAY_OUT = re.compile(
    r"unsubscri|opt-?out|abmeld|abbestell|désabonn|desabonn|darse de baja|disiscri|afmeld", re.IGNORECASE
)


@record
class Link:
    url: str
    text: str


def find_confirmation(subject: str, text: str, links: Sequence[Link], words: int) -> Confirmation | None:
    """What to click, when the mail asks for a click and offers one."""
    if words > MOST_WORDS or not (_ASKS.search(subject) or _ASKS.search(text[:_LOOKED_AT])):
        return None
    wanted = [link for link in links if not _WAY_OUT.search(link.text) and not _WAY_OUT.search(link.url)]
    best = next((link for link in wanted if _BUTTON.search(link.text[:200])), None) or next(
        (link for link in wanted if _ADDRESS.search(link.url)), None
    )
    if best is None:
        return None
    label = " ".join(best.text.split())
    named = label if label and "://" not in label else ""
    return Confirmation(best.url, named[:_MAX_LABEL])

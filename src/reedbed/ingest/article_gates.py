"""Pages that stand in front of an article: walls to pay, to log in or to agree at, and errors.

All of them are short. A long text is an article even when a banner lies on top of it.
"""

import re

from reedbed.ingest.article_metadata import Metadata
from reedbed.ingest.text import plain_text

_SHORT, _MIDDLING = 700, 1_800
_CONSENT_PHRASES = 2
_LOOKED_AT = 20_000
_PASSWORD = re.compile(r"""<input[^>]{0,500}\stype\s*=\s*["']?password""", re.IGNORECASE)

_ERROR_TITLE = re.compile(
    r"^(?:error\b|(?:http )?(?:error )?[45]\d\d\b)|page not found|not found\b|access denied|"
    r"forbidden|just a moment|"
    r"attention required|are you (?:a )?(?:human|robot)|verify you are human|security check|"
    r"service unavailable|"
    r"bad gateway|seite nicht gefunden|page introuvable|página no encontrada|página não encontrada|"
    r"pagina non trovata",
    re.IGNORECASE,
)
_ERROR_TEXT = re.compile(
    r"enable javascript and cookies to continue|checking your browser|"
    r"verify(?:ing)? (?:that )?you are (?:a )?human|"
    r"unusual traffic from your|you have been blocked|request could not be satisfied|"
    r"the page you (?:are|were) looking for|"
    r"(?:this|the) page (?:doesn.t|does not|no longer) exist|complete the captcha",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"before you continue|we value your privacy|we and our (?:\d+ )?partners|your privacy choices|"
    r"manage (?:your )?(?:cookie|consent)|"
    r"accept all (?:cookies)?|cookie (?:policy|settings|preferences)|consent to (?:the use of )?cookies|"
    r"legitimate interest|wir (?:und unsere partner )?verwenden cookies|nous utilisons des cookies|"
    r"utilizamos cookies",
    re.IGNORECASE,
)
_PAYWALL = re.compile(
    r"subscribe (?:now )?to (?:continue|keep) reading|subscribers? only|for subscribers|already a subscriber|"
    r"to (?:read|continue reading) (?:the (?:full|rest)|this (?:article|story))|"
    r"start your (?:free )?(?:trial|subscription)|"
    r"become a (?:member|subscriber) to|you(?:'|’)ve reached your (?:free )?(?:article )?limit|"
    r"free articles? (?:left|remaining)|"
    r"reste de l(?:'|’)article|réservé aux abonnés|jetzt (?:abonnieren|weiterlesen mit)|nur für abonnenten|"
    r"exclusivo para (?:suscriptores|assinantes)|contenido exclusivo",
    re.IGNORECASE,
)
# Said beside the text rather than in it; the looser phrases above stand in the menus of free pages too.
_WALL = re.compile(
    r"(?:subscribe|sign ?up|register|log ?in|sign ?in)(?: now)? to (?:continue|keep) reading|"
    r"(?:subscribe|sign ?up|register) to read (?:the (?:full|rest)|this)|you(?:'|"
    r"’)ve reached your (?:free )?article limit",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?:log|sign) ?in to (?:continue|view|read|your account)|please (?:log|sign) ?in|you must be logged in|"
    r"forgot(?:ten)? (?:your )?password|anmelden|se connecter|iniciar sesión",
    re.IGNORECASE,
)


def closed_gate(source: str, metadata: Metadata, text: str) -> str | None:
    """One sentence about what stands between us and the article, or None. `source` is the whole page."""
    if len(text) > _MIDDLING:
        return None
    if not metadata.free or _PAYWALL.search(text):
        return "The article is behind a paywall."
    return _short_gate(source, metadata, text) if len(text) <= _SHORT else None


def _short_gate(source: str, metadata: Metadata, text: str) -> str | None:
    if _ERROR_TITLE.search(metadata.title or "") or _ERROR_TEXT.search(text):
        return "The site answered with an error page."
    if len(set(map(str.lower, _CONSENT.findall(text)))) >= _CONSENT_PHRASES:
        return "The site asks for consent first."
    page = plain_text(source)[:_LOOKED_AT]
    if _PASSWORD.search(source) and _LOGIN.search(page):
        return "The site asks to log in first."
    return "The article is behind a paywall." if _WALL.search(page) else None

"""Emails that Reedbed sends about accounts, the result of sending, and checking email addresses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, tzinfo
from html import escape

from reedbed.domain.auth import LINK_LIFETIMES, Purpose
from reedbed.domain.digests import Digest, Paragraph, Sentence, Source
from reedbed.domain.errors import Invalid
from reedbed.domain.languages import ENGLISH, Texts
from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, to_datetime


@record
class Attachment:
    name: str
    media_type: str
    data: bytes = field(repr=False)


@record
class Email:
    to: str
    subject: str
    text: str
    html: str = ""
    """Optional HTML version, sent along with the text."""
    unsubscribe_url: str = ""
    """Optional URL for one-click unsubscribe from emails of this kind."""
    attachment: Attachment | None = None


@record
class Sent:
    """The mail server accepted it."""


@record
class NotSent:
    reason: str
    try_again: bool
    """The server was unavailable or busy; it did not reject this email."""


Posted = Sent | NotSent


def link_email(to: str, purpose: Purpose, url: str, texts: Texts = ENGLISH) -> Email:
    subject, opening, closing = _link_texts(purpose, texts)
    return Email(to, subject, f"{opening}\n\n{url}\n\n{_lifetime(purpose, texts)} {closing}\n")


def already_registered_email(to: str, base_url: str, texts: Texts = ENGLISH) -> Email:
    """Sent to the owner of an account when someone registers with its address; the visitor learns nothing."""
    opening = texts.translate(
        "Somebody, perhaps you, tried to register at Reedbed with this address. It has an account already."
    )
    log_in = texts.translate("Log in, or choose a new password there:")
    closing = texts.translate("If it was not you, there is nothing to do.")
    text = f"{opening}\n\n{log_in}\n\n{base_url}/login\n\n{closing}\n"
    return Email(to, texts.translate("You have a Reedbed account already"), text)


def password_changed_email(to: str, base_url: str, texts: Texts = ENGLISH) -> Email:
    opening = texts.translate(
        "The password of your Reedbed account was changed, and every other device was logged out."
    )
    closing = texts.translate("If it was not you, choose a new one at once:")
    subject = texts.translate("Your Reedbed password was changed")
    return Email(to, subject, f"{opening}\n\n{closing}\n\n{base_url}/forgot\n")


def _link_texts(purpose: Purpose, texts: Texts) -> tuple[str, str, str]:
    """The subject, and what stands above and below the link."""
    match purpose:
        case "reset":
            return (
                texts.translate("Choose a new password for Reedbed"),
                texts.translate(
                    "Somebody, perhaps you, asked for a new password for this address. To choose one, open this link:"
                ),
                texts.translate("If it was not you, there is nothing to do: your password stays as it is."),
            )
        case "verify":
            return (
                texts.translate("Confirm your address for Reedbed"),
                texts.translate("Welcome to Reedbed. To confirm that this address is yours, open this link:"),
                texts.translate("If you did not register, there is nothing to do."),
            )
        case "invite":
            return (
                texts.translate("You are invited to Reedbed"),
                texts.translate("You are invited to read with Reedbed. To choose your password, open this link:"),
                texts.translate("If you do not want to, there is nothing to do."),
            )


def _lifetime(purpose: Purpose, texts: Texts) -> str:
    days = LINK_LIFETIMES[purpose] // DAY
    if days:
        return texts.ngettext("The link works once, for %(num)s day.", "The link works once, for %(num)s days.", days)
    hours = LINK_LIFETIMES[purpose] // HOUR
    return texts.ngettext("The link works once, for %(num)s hour.", "The link works once, for %(num)s hours.", hours)


# --- Addresses: strict enough to catch typing errors, lenient enough for real ones

MAX_EMAIL = 254
_MAX_LOCAL_LENGTH = 64

_ATOM = r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f\ud800-\udfff.]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*\Z")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)\Z")


def email_address(text: str) -> str:
    """Validate and normalize an address: trimmed, lower case, the domain in punycode."""
    typed = text.strip()
    if not typed:
        raise Invalid("E-mail address is required", field="email")
    if len(typed) > MAX_EMAIL:
        raise Invalid("E-mail address must be at most %(limit)s characters", field="email", limit=MAX_EMAIL)
    local, _, domain = typed.lower().rpartition("@")
    host = _domain(domain)
    if host is None or len(local) > _MAX_LOCAL_LENGTH or not _LOCAL.match(local):
        raise Invalid("This does not look like an e-mail address. Write it as name@example.com.", field="email")
    if len(local) + 1 + len(host) > MAX_EMAIL:
        raise Invalid("E-mail address must be at most %(limit)s characters", field="email", limit=MAX_EMAIL)
    return f"{local}@{host}"


def known_as(text: str) -> str:
    """The normalized address for looking up an account; empty if it is invalid."""
    try:
        return email_address(text)
    except Invalid:
        return ""


def _domain(text: str) -> str | None:
    try:
        host = text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    labels = host.split(".")
    # Allow `owner@localhost` for installations on a single machine.
    is_complete = len(labels) > 1 or host == "localhost"
    return host if is_complete and all(map(_LABEL.match, labels)) else None


# --- Digests

_MAX_SUBJECT = 120
_MAX_MARKS = 6
_PREHEADER = 3
_SERIF = "Charter,'Iowan Old Style',Georgia,'Noto Serif',serif"
_SANS = "-apple-system,'Segoe UI',Roboto,Arial,sans-serif"
_MARK_COLOURS = ("#3b5c45", "#75463f", "#574d7d", "#6d4b22", "#2a5a7c", "#1b6167")
_DARK = (
    "@media (prefers-color-scheme: dark) { .p { background:#171c18 !important } .c { background:#1d231e !important } "
    ".k { color:#e2e4da !important } .q { color:#aab0a6 !important } .l { border-color:#343b35 !important } "
    ".b { border-color:#e2e4da !important } .a { background:#8fd0a3 !important; color:#10261a !important } "
    ".u { color:#8fd0a3 !important } } "
    "@media (max-width:480px) { .d { padding:22px 18px !important } .h { font-size:25px !important; "
    "line-height:30px !important } }"
)


@record
class DigestMail:
    """What the mail of a digest needs besides the digest."""

    base_url: str
    unsubscribe_url: str = ""
    texts: Texts = ENGLISH
    zone: tzinfo = UTC
    image: str = ""
    """The picture of the lead, from this server; mails load nothing from elsewhere."""


def digest_email(to: str, digest: Digest, mail: DigestMail) -> Email:
    text = _DigestMailText(digest, mail)
    return Email(to, text.subject(), text.text(), text.html(), mail.unsubscribe_url)


class _DigestMailText:
    def __init__(self, digest: Digest, mail: DigestMail) -> None:
        self.digest, self.mail = digest, mail
        self.texts = mail.texts
        self.sources: Mapping[int, Source] = {source.entry_id: source for source in digest.text.sources}
        self.numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
        day = to_datetime(digest.until).astimezone(mail.zone)
        self.date = self.texts.conventions.full_date(day)

    def subject(self) -> str:
        subject = ": ".join([self.date, *map(self._headline, self._sentences()[:1])])
        return subject if len(subject) <= _MAX_SUBJECT else subject[: _MAX_SUBJECT - 1].rsplit(" ", 1)[0] + "…"

    def text(self) -> str:
        lines = [self.date, *self._facts(), ""]
        for paragraph in self.digest.text.paragraphs:
            if paragraph.heading:
                lines += [_line(paragraph.heading).upper(), ""]
            for sentence in paragraph.sentences:
                citations = "".join(f" [{self.numbers[source.entry_id]}]" for source in self._cited(sentence))
                lines.append(f"{_line(sentence.text)}{citations}")
            lines.append("")
        for source in self.digest.text.sources:
            number = self.numbers[source.entry_id]
            lines.append(f"[{number}] {_line(source.title)}, {_line(source.feed)}\n    {self._url(source)}")
        lines += ["", f"{self._read_all()}: {self.mail.base_url}/digests/{self.digest.id}"]
        if self.mail.unsubscribe_url:
            lines.append(f"{self._stop()}: {self.mail.unsubscribe_url}")
        return "\n".join([*lines, ""])

    def html(self) -> str:
        """One column of tables with inline styles, because mail programs know little else."""
        rows = [self._head(), *(row for paragraph in self.digest.text.paragraphs for row in self._rows(paragraph))]
        return (
            f'<!doctype html>\n<html lang="{self.texts.language}"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
            f"<title>{escape(self.subject())}</title><style>{_DARK}</style></head>\n"
            '<body class="p" style="margin:0;background:#f1f4f0">\n'
            f'<div style="display:none;max-height:0;overflow:hidden">{escape(self._preheader())}</div>\n'
            '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="p" '
            'style="background:#f1f4f0"><tr><td align="center" style="padding:24px 8px">\n'
            '<table role="presentation" width="600" cellpadding="0" cellspacing="0" class="c" '
            'style="width:100%;max-width:600px;background:#ffffff;border-radius:8px"><tr><td class="d" '
            'style="padding:28px 32px">\n<table role="presentation" width="100%" cellpadding="0" cellspacing="0">\n'
            + "\n".join([*rows, self._foot()])
            + "\n</table></td></tr></table>\n</td></tr></table>\n</body></html>\n"
        )

    def _facts(self) -> list[str]:
        texts = self.texts
        entries = texts.ngettext("%(num)s entry", "%(num)s entries", self.digest.entries)
        feeds = texts.ngettext("%(num)s feed", "%(num)s feeds", self.digest.text.feeds)
        facts = [f"{entries} · {feeds}"]
        if self.digest.text.fallback:
            facts.append(texts.translate("The model did not answer. These are lines of your entries."))
        return facts

    def _read_all(self) -> str:
        return self.texts.translate("Read the whole digest")

    def _stop(self) -> str:
        return self.texts.translate("Stop these e-mails")

    def _outlets(self, number: int) -> str:
        return self.texts.ngettext("%(num)s outlet", "%(num)s outlets", number)

    def _head(self) -> str:
        notes = "<br>".join(map(escape, self._facts()))
        return (
            '<tr><td align="center" class="b" style="padding-bottom:16px;border-bottom:3px double #c9cfc6">'
            f'<h1 class="k h" style="margin:0;font:bold 30px/36px {_SERIF};color:#262c26">{escape(self.date)}</h1>'
            f'<div class="q" style="font:14px/20px {_SANS};color:#5a6058;padding-top:4px">{notes}</div></td></tr>'
        )

    def _rows(self, paragraph: Paragraph) -> list[str]:
        rows = [_heading_row(paragraph.heading)] if paragraph.heading else []
        for place, sentence in enumerate(paragraph.sentences):
            if paragraph.kind == "top":
                rows.append(self._top_row(sentence, is_lead=not place))
            else:
                rows.append(self._line_row(sentence))
        return rows

    def _top_row(self, sentence: Sentence, *, is_lead: bool) -> str:
        url, size = escape(self._link(sentence)), "26px/31px" if is_lead else "19px/24px"
        picture = (
            f'<a href="{url}"><img src="{escape(self.mail.image)}" alt="" width="536" style="display:block;width:100%;'
            'height:auto;border-radius:6px;border:0;margin-bottom:14px"></a>'
            if is_lead and self.mail.image
            else ""
        )
        headline, text = self._headline(sentence), _line(sentence.text)
        more = (
            f'<div class="k" dir="auto" style="font:16px/24px {_SERIF};color:#262c26;padding-top:4px">'
            f"{escape(text)}</div>"
            if text != headline
            else ""
        )
        border = "" if is_lead else "border-top:1px solid #e2e5df"
        return (
            f'<tr><td class="l" style="padding:16px 0;{border}">{picture}<a href="{url}" class="k" dir="auto" '
            f'style="display:block;font:bold {size} {_SERIF};color:#262c26;text-decoration:none">{escape(headline)}</a>'
            f"{more}{self._marks(sentence)}</td></tr>"
        )

    def _line_row(self, sentence: Sentence) -> str:
        return (
            '<tr><td class="l" style="padding:10px 0;border-bottom:1px solid #e2e5df">'
            f'<a href="{escape(self._link(sentence))}" class="k" dir="auto" style="font:16px/24px {_SERIF};'
            f'color:#262c26;text-decoration:none">{escape(_line(sentence.text))}</a>{self._marks(sentence)}</td></tr>'
        )

    def _marks(self, sentence: Sentence) -> str:
        """The outlets, each as its initial in a colour of its own."""
        feeds = list(dict.fromkeys(_line(source.feed) for source in self._cited(sentence)))
        if not feeds:
            return ""
        marks = "".join(map(_mark, feeds[:_MAX_MARKS]))
        note = feeds[0] if len(feeds) == 1 else self._outlets(len(feeds))
        return (
            f'<div class="q" style="font:13px/20px {_SANS};color:#5a6058;padding-top:6px">{marks} {escape(note)}</div>'
        )

    def _foot(self) -> str:
        read, stop = escape(self._read_all()), escape(self._stop())
        change, sent = self.texts.translate("Change the time"), self.texts.translate("Sent by your Reedbed.")
        base, link = escape(self.mail.base_url), 'class="u" style="color:#2f6645"'
        links = [f'<a href="{base}/summaries" {link}>{escape(change)}</a>']
        if self.mail.unsubscribe_url:
            links.append(f'<a href="{escape(self.mail.unsubscribe_url)}" {link}>{stop}</a>')
        return (
            f'<tr><td align="center" style="padding:26px 0 8px"><a href="{base}/digests/{self.digest.id}" class="a" '
            'style="display:inline-block;background:#2f6645;color:#ffffff;'
            f'font:600 15px/20px {_SANS};text-decoration:none;padding:11px 22px;border-radius:7px">'
            f'{read}</a></td></tr>\n<tr><td align="center" class="q" '
            f'style="font:13px/20px {_SANS};color:#5a6058;padding-top:12px">{escape(sent)} '
            f"{' · '.join(links)}</td></tr>"
        )

    def _preheader(self) -> str:
        return " · ".join(map(self._headline, self._sentences()[1 : 1 + _PREHEADER]))

    def _sentences(self) -> Sequence[Sentence]:
        return [sentence for paragraph in self.digest.text.paragraphs for sentence in paragraph.sentences]

    def _headline(self, sentence: Sentence) -> str:
        cited = self._cited(sentence)
        return _line(cited[0].title if cited and cited[0].title else sentence.text)

    def _cited(self, sentence: Sentence) -> list[Source]:
        return [self.sources[id_] for id_ in sentence.entry_ids if id_ in self.sources]

    def _link(self, sentence: Sentence) -> str:
        cited = self._cited(sentence)
        return self._url(cited[0]) if cited else f"{self.mail.base_url}/digests/{self.digest.id}"

    def _url(self, source: Source) -> str:
        return f"{self.mail.base_url}/entry/{source.entry_id}"


def _heading_row(heading: str) -> str:
    return (
        f'<tr><td class="k b" dir="auto" style="padding:22px 0 6px;font:bold 13px/18px {_SANS};color:#262c26;'
        f'border-bottom:2px solid #262c26">{escape(_line(heading))}</td></tr>'
    )


def _mark(feed: str) -> str:
    colour = _MARK_COLOURS[sum(map(ord, feed)) % len(_MARK_COLOURS)]
    return (
        '<span style="display:inline-block;width:16px;height:16px;border-radius:3px;color:#ffffff;'
        f'background:{colour};font:bold 10px/16px Arial,sans-serif;text-align:center;margin-right:3px" '
        f'title="{escape(feed)}">{escape(feed[:1])}</span>'
    )


def _line(text: str) -> str:
    return " ".join(text.split())

"""A mail to test with, written by hand or built, and what a reader should find of it."""

from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

DATE = "Sat, 14 Nov 2026 08:30:00 +0100"


@dataclass(frozen=True)
class Sample:
    """A mail, and what a reader should find of it."""

    name: str
    raw: bytes
    sender: str
    subject: str
    says: str
    """Stands in the entry's content."""
    sender_name: str = ""
    html: str = ""
    text: str = ""
    pictures: tuple[tuple[str, bytes], ...] = ()
    message_id: str = ""
    date: str = DATE
    headers: tuple[tuple[str, str], ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


def head_of(name: str, sender: str, subject: str, *more: str, date: str = DATE, message_id: bool = True) -> str:
    lines = [f"From: {sender}", "To: <reader@in.example.net>", f"Subject: {subject}"]
    if date:
        lines.append(f"Date: {date}")
    if message_id:
        lines.append(f"Message-ID: <{name}@letters.example.org>")
    return "\r\n".join([*lines, "MIME-Version: 1.0", *more])


def one_part(name: str, kind: str, body: bytes, *, encoding: str = "8bit", **told: Any) -> Sample:
    """A mail of one part, written by hand so that nothing mends it on the way."""
    sender, subject = told.pop("sender", f"{name}@letters.example.org"), told.pop("subject", f"About {name}")
    head = head_of(
        name, sender, subject, f"Content-Type: {kind}", f"Content-Transfer-Encoding: {encoding}", *told.pop("more", ())
    )
    known = {"message_id": f"{name}@letters.example.org", **told}
    return Sample(
        name, f"{head}\r\n\r\n".encode() + body, known.pop("address", sender), known.pop("title", subject), **known
    )


def built(name: str, message: EmailMessage, **told: Any) -> Sample:
    message["From"] = f"{told['sender_name']} <{told['sender']}>" if told.get("sender_name") else told["sender"]
    message["To"], message["Subject"], message["Date"] = "reader@in.example.net", told["subject"], DATE
    message["Message-ID"] = f"<{name}@letters.example.org>"
    for key, value in told.get("headers", ()):
        message[key] = value
    return Sample(name, message.as_bytes(policy=SMTP), message_id=f"{name}@letters.example.org", **told)

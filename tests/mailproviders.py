"""How providers of mail would hand a mail over."""

import hmac
import json
import time
from base64 import b64encode
from hashlib import sha256
from typing import Any

from tests.sample_mail import Sample


def as_postmark(sample: Sample, to: str) -> dict[str, Any]:
    """What Postmark posts for this mail, without the raw one."""
    headers = [*sample.headers]
    if sample.message_id:
        headers.append(("Message-ID", f"<{sample.message_id}>"))
    return {
        "From": sample.sender,
        "FromFull": {"Email": sample.sender, "Name": sample.sender_name},
        "OriginalRecipient": to,
        "Subject": sample.subject,
        "MessageID": f"guid-{sample.name}",
        "Date": sample.date,
        "HtmlBody": sample.html,
        "TextBody": sample.text,
        "Headers": [
            {"Name": "Received-SPF", "Value": "Pass (sender SPF authorized)"},
            *({"Name": name, "Value": value} for name, value in headers),
        ],
        "Attachments": [
            {"Name": f"{cid}.png", "Content": b64encode(data).decode(), "ContentType": "image/png", "ContentID": cid}
            for cid, data in sample.pictures
        ],
    }


def signed_by_mailgun(key: str, name: str, *, at: float | None = None) -> dict[str, str]:
    stamp, token = str(int(at if at is not None else time.time())), f"token-of-{name}-".ljust(50, "x")
    signature = hmac.new(key.encode(), f"{stamp}{token}".encode(), sha256).hexdigest()
    return {"timestamp": stamp, "token": token, "signature": signature}


def as_mailgun(sample: Sample, to: str, key: str) -> tuple[dict[str, str], dict[str, tuple[str, bytes, str]]]:
    """The form and the files that Mailgun posts for this mail."""
    sender = (
        f'"{sample.sender_name}" <{sample.sender}>'.replace('"Z"', '\\"Z\\"') if sample.sender_name else sample.sender
    )
    fields = {
        **signed_by_mailgun(key, sample.name),
        "recipient": to,
        "from": sender,
        "subject": sample.subject,
        "body-plain": sample.text,
        "body-html": sample.html,
        "Date": sample.date,
        "message-headers": json.dumps([list(pair) for pair in sample.headers]),
        "X-Mailgun-Spf": "Pass",
    }
    if sample.message_id:
        fields["Message-Id"] = f"<{sample.message_id}>"
    files = {
        f"attachment-{number}": (f"{cid}.png", data, "image/png")
        for number, (cid, data) in enumerate(sample.pictures, 1)
    }
    if files:
        cids = {f"<{cid}>": f"attachment-{number}" for number, (cid, _) in enumerate(sample.pictures, 1)}
        fields["content-id-map"] = json.dumps(cids)
    return fields, files

"""Every mail is written in the language of its reader: no line of it stays in English."""

import re
from dataclasses import replace

import pytest

from reedbed.domain.digests import Digest, DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.domain.email import (
    DigestMail,
    Email,
    already_registered_email,
    digest_email,
    link_email,
    password_changed_email,
)
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.languages import SOURCE, Texts
from reedbed.domain.push import stopped_note
from reedbed.domain.rules import NoticedEntry, RuleNotice, notice_email
from reedbed.domain.subscriptions import MAX_BROKEN, broken_feeds_email, stopped_feed_email
from reedbed.domain.webhooks import Webhook, switched_off_email
from reedbed.web.i18n import languages, texts_in

TO, BASE = "a@b.example", "https://r.example"
REASON = Failure(FailureCode.HTTP_STATUS, {"status": 410})
TEXT = DigestText(
    (Paragraph("", (Sentence("X.", (1, 2)),), "top"),),
    (Source(1, "X", "Y", 1), Source(2, "X", "Z", 2)),
    feeds=3,
    fallback=True,
)
DIGEST = Digest(
    id=9, user_id=1, status="ready", scope=DigestScope(), model="extract", language="en", entries=5, error=None,
    since=1, until=1_794_783_600_000, created_at=1, finished_at=2, text=TEXT,
)  # fmt: skip
WEBHOOK = Webhook(
    id=1, user_id=1, name="X", url="https://x.example", secret="s", events=frozenset(), enabled=True,
    created_at=1, failing_since=None, disabled_at=1,
)  # fmt: skip


def _mails(texts: Texts) -> dict[str, Email]:
    entries = [NoticedEntry(1, "X", None, "Y", None)]
    mail = DigestMail(BASE, f"{BASE}/stop", texts)
    return {
        "reset": link_email(TO, "reset", BASE, texts),
        "verify": link_email(TO, "verify", BASE, texts),
        "invite": link_email(TO, "invite", BASE, texts),
        "already registered": already_registered_email(TO, BASE, texts),
        "password changed": password_changed_email(TO, BASE, texts),
        "notice": notice_email(TO, RuleNotice(1, "X", 3, entries), BASE, texts),
        "stopped": stopped_feed_email(TO, 1, "X", REASON, BASE, texts),
        "broken": broken_feeds_email(TO, [(1, "X", REASON)] * (MAX_BROKEN + 2), BASE, texts),
        "webhook": switched_off_email(TO, WEBHOOK, REASON, BASE, texts),
        "digest": digest_email(TO, DIGEST, mail),
    }


def _lines(email: Email) -> set[str]:
    text = re.sub(r"https?://\S+", "", f"{email.subject}\n{email.text}")
    return {line.strip() for line in text.splitlines() if len(line.strip()) > 3 and " " in line.strip()}


@pytest.mark.parametrize("language", [code for code in languages() if code != SOURCE])
def test_no_line_of_a_mail_stays_in_english(language: str) -> None:
    english = _mails(texts_in(SOURCE))
    for name, email in _mails(texts_in(language)).items():
        lines = _lines(english[name])
        assert len(lines) > 2, name
        assert lines & _lines(email) <= {"X. [1] [2]", "[1] X, Y", "[2] X, Z"}, name
        assert "%(" not in email.subject + email.text, name


def test_a_notification_says_why_in_the_language_of_its_reader() -> None:
    assert stopped_note(1, "X", REASON).body != stopped_note(1, "X", REASON, texts_in("de")).body


def test_a_digest_names_its_language_to_mail_programs() -> None:
    email = digest_email(TO, replace(DIGEST, id=10), DigestMail(BASE, "", texts_in("de")))
    assert '<html lang="de">' in email.html

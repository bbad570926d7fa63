"""Mails however broken: read or refused, never an exception, and nothing dangerous in what is shown."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.newsletters import InvalidMail, Mail
from reedbed.ingest.mail import read_mail
from reedbed.ingest.mail.message import mailbox, media_type, read_mime
from reedbed.ingest.mail.sandbox import packed, unpacked
from reedbed.services.newsletters.receive import convert_mail
from tests.newsletters import samples

SAMPLES = samples()
HEADS = [
    b"Content-Type: text/html; charset=",
    b"Content-Type: multipart/alternative; boundary=",
    b"Content-Type: multipart/mixed; boundary=\"\"",
    b"Content-Transfer-Encoding: base64",
    b"Content-Transfer-Encoding: x-uuencode",
    b"Content-Transfer-Encoding: quoted-printable",
    b"Content-Type: message/rfc822",
    b"Content-ID: <a>",
    b"Subject: =?utf-8?B?////?= =?x?Q?=ZZ?=",
    b"From: =?utf-8?Q?=00?= <a@example.org",
    b"Date: Mon, 99 Foo 99999 99:99:99 +9999",
    b"MIME-Version: 1.0",
]  # fmt: skip


@given(st.lists(st.sampled_from(HEADS), max_size=6), st.binary(max_size=300), st.binary(max_size=40))
def test_any_bytes_are_a_mail_or_are_refused(heads: list[bytes], body: bytes, mark: bytes) -> None:
    raw = b"\r\n".join([b"From: a@example.org", *(head + mark for head in heads), b"", body])
    mail = read_mime(raw)
    if isinstance(mail, Mail):
        assert unpacked(packed(mail)) == mail
        convert_mail(mail)
    else:
        assert isinstance(mail, InvalidMail)


def test_damaged_samples_are_read_or_refused() -> None:
    chance = random.Random("mail")
    for sample in SAMPLES:
        raw = bytearray(sample.raw[:20_000])
        for _ in range(20):
            for _ in range(chance.randrange(1, 30)):
                raw[chance.randrange(len(raw))] = chance.randrange(256)
            mail = read_mime(bytes(raw))
            if isinstance(mail, Mail):
                convert_mail(mail)


def test_what_a_sender_writes_never_runs_in_the_page() -> None:
    html = (
        '<p onclick="x()">Hi<script>alert(1)</script><img src="cid:none"><img src="cid:svg">'
        '<img src="https://inside-this-mail.invalid/0"><a href="javascript:x()">y</a>'
        '<form action="https://evil.example"><input name="p"></form><iframe src="https://evil.example"></iframe>'
    )
    raw = f"From: a@example.org\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}".encode()
    mail = read_mime(raw)
    assert isinstance(mail, Mail)
    content = convert_mail(mail).text.content
    for danger in ("script", "onclick", "javascript", "<form", "<iframe", "cid:", "inside-this-mail"):
        assert danger not in content, content


def test_only_pictures_a_browser_cannot_run_are_kept() -> None:
    assert media_type(b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>') is None
    assert media_type(b"<html>") is None
    assert media_type(b"RIFF\x00\x00\x00\x00WEBPVP8 ") == "image/webp"
    assert media_type(b"") is None


def test_a_mail_read_apart_is_the_same() -> None:
    raw = next(sample for sample in SAMPLES if sample.name == "attachment").raw
    here = asyncio.run(read_mail(raw))
    apart = asyncio.run(read_mail(raw + (b"x" * 990 + b"\r\n") * 3_200))
    assert isinstance(here, Mail) and here == apart


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("a@x.example", ("", "a@x.example")),
        ("Anna Reed <a@x.example>", ("Anna Reed", "a@x.example")),
        ('"Reed, Anna" <a@x.example>', ("Reed, Anna", "a@x.example")),
        (r'"The \"Marsh\"" <a@x.example>', ('The "Marsh"', "a@x.example")),
        ("Reed, Anna <a@x.example>", ("Reed, Anna", "a@x.example")),
        ("bank@y.example <a@x.example>", ("bank@y.example", "a@x.example")),
        ("Anna <a@x.example>, Ben <b@x.example>", ("Anna", "a@x.example")),
        ("a@x.example, b@x.example", ("", "a@x.example")),
        ("a@x.example (Anna)", ("Anna", "a@x.example")),
        ("(none@y.example) a@x.example", ("none@y.example", "a@x.example")),
        ("Readers: a@x.example, b@x.example;", ("", "a@x.example")),
        ("a@[192.0.2.1]", ("", "a@[192.0.2.1]")),
        ('"unclosed <a@x.example', ("unclosed", "a@x.example")),
        ("=?utf-8?q?=C3=84nne?= <a@x.example>", ("Änne", "a@x.example")),
        ("Nobody <>", ("", "")),
        ("undisclosed-recipients:;", ("", "")),
        ("", ("", "")),
    ],
)
def test_every_python_reads_the_same_sender(header: str, expected: tuple[str, str]) -> None:
    assert mailbox(header) == expected

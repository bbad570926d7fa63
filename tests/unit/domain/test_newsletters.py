"""What is decided about a mail before anything is stored."""

import json
import zlib
from base64 import urlsafe_b64encode
from urllib.parse import quote

import pytest

from reedbed.domain.newsletters import (
    ANY_SERVER,
    AuthResults,
    ConfirmationLink,
    UnsubscribeOptions,
    find_confirmation,
    local_part,
    parse_mailto,
    sender_key,
    verdicts,
    ways_out,
)
from reedbed.domain.urls import without_tracking

TARGET = "https://example.org/story?id=3"


def coded(text: str | bytes) -> str:
    return urlsafe_b64encode(text.encode() if isinstance(text, str) else text).decode().rstrip("=")


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("News@Example.ORG", "news@example.org"),
        ("author+sports@example.org", "author+sports@example.org"),
        ("news+a8f3bd12c9@example.org", "news@example.org"),
        ("news+reader=example.com@example.org", "news@example.org"),
        ("grüße@bücher.example", "grüße@xn--bcher-kva.example"),
        ("nobody", ""),
        ("", ""),
    ],
)
def test_one_sender_has_one_key(address: str, key: str) -> None:
    assert sender_key(address) == key


@pytest.mark.parametrize(
    ("recipient", "local"),
    [
        ("abc123@in.example.net", "abc123"),
        ("<ABC123@IN.example.net.>", "abc123"),
        ("abc123+shop@in.example.net", "abc123"),
        ("abc123@elsewhere.example", None),
        ("abc123@in.example.net@evil.example", None),
        ("abc123", None),
        ("+x@in.example.net", None),
    ],
)
def test_a_recipient_names_an_address_of_ours_or_nothing(recipient: str, local: str | None) -> None:
    assert local_part(recipient, "in.example.net") == local


@pytest.mark.parametrize(
    "link",
    [
        f"https://click.letters.example/CL0/{quote(TARGET, safe='')}/1/0100/x",
        f"https://abc.r.us-east-1.awstrack.me/L0/{quote(TARGET, safe='')}/1/0102/y",
        f"https://substack.com/redirect/2/{coded(json.dumps({'e': TARGET}))}.signature",
        f"https://click.convertkit-mail.com/a/b/{coded(TARGET)}",
        f"https://email.mg.example.net/c/{coded(zlib.compress(json.dumps({'l': TARGET}).encode()))}",
        f"https://eur01.safelinks.protection.outlook.com/?url={quote(TARGET, safe='')}&data=05",
        f"https://www.google.com/url?q={quote(TARGET, safe='')}&sa=D",
        f"https://links.example.net/track?u={quote(TARGET + '&utm_medium=email', safe='')}",
        f"{TARGET}&utm_source=letter&mc_eid=7",
    ],
)
def test_a_counted_link_leads_straight_to_its_target(link: str) -> None:
    assert without_tracking(link) == TARGET


@pytest.mark.parametrize(
    "link",
    [
        "https://example.org/login?redirect=https://example.com/",
        "https://click.example.org/abc/def",
        "https://click.example.org/c/eJxx",
        f"https://click.example.org/c/{coded(zlib.compress(b'x' * 10_000_000))}",
        "https://click.example.org/?url=javascript:alert(1)",
        "https://click.example.org/?url=https://user@example.org/",
        "mailto:a@example.org",
        "https://[broken/?url=https://example.org/",
    ],
)
def test_a_link_that_tells_no_safe_target_stays_as_it_is(link: str) -> None:
    assert without_tracking(link) == link


def test_the_ways_out_of_a_list() -> None:
    header = "<mailto:out@example.org?subject=leave>, <http://example.org/u>, <https://example.org/u/1>"
    one_click = ways_out(header, "List-Unsubscribe=One-Click")
    assert one_click == UnsubscribeOptions(
        "https://example.org/u/1", "mailto:out@example.org?subject=leave", "https://example.org/u/1"
    )
    assert ways_out(header, "").post == ""
    assert ways_out("<http://example.org/u>", "List-Unsubscribe=One-Click").post == ""
    assert ways_out("<javascript:alert(1)>, nonsense", "") == UnsubscribeOptions()


def test_a_mail_to_a_list_cannot_smuggle_headers() -> None:
    wish = parse_mailto("mailto:out@example.org?subject=a%0D%0ABcc:x@example.org&bcc=y@example.org&body=bye")
    assert wish == ("out@example.org", "a Bcc:x@example.org", "bye")
    assert parse_mailto("mailto:") is None
    assert parse_mailto("https://example.org") is None


def test_only_the_server_we_know_is_believed() -> None:
    own = "mx.example.net 1; spf=pass (all (is) well) smtp.mailfrom=a; dkim=fail; dkim=pass; dmarc=none"
    forged = "mx.evil.example; spf=pass; dkim=pass"
    assert verdicts([forged, own], "mx.example.net") == AuthResults("mx.example.net", "pass", "pass", "none")
    assert verdicts([forged], "mx.example.net") == AuthResults()
    assert verdicts([own], "") == AuthResults()
    assert verdicts([own, forged], ANY_SERVER).by == "mx.example.net"
    assert not verdicts(["; ; ;", "("], ANY_SERVER)


@pytest.mark.parametrize(
    ("subject", "text", "label"),
    [
        ("Confirm your subscription", "Hello", "Confirm"),
        ("Welcome", "Please verify your email address to go on.", "Verify"),
        ("Bitte bestätigen Sie Ihre Anmeldung", "Hallo", "Anmeldung bestätigen"),
        ("Confirmez votre inscription", "Bonjour", "Confirmer"),
        ("Confirma tu suscripción", "Hola", "Confirmar"),
    ],
)
def test_a_confirmation_is_found_by_its_words_and_its_link(subject: str, text: str, label: str) -> None:
    links = [ConfirmationLink("https://example.org/", "Home"), ConfirmationLink("https://example.org/x", label)]
    found = find_confirmation(subject, text, links, words=40)
    assert found is not None and (found.url, found.label) == ("https://example.org/x", label)


def test_what_only_speaks_of_confirming_is_no_confirmation() -> None:
    link = ConfirmationLink("https://example.org/confirm", "Confirm")
    assert find_confirmation("The week", "A long letter. Confirm your subscription.", [link], words=900) is None
    assert find_confirmation("The week in birds", "A heron came back.", [link], words=40) is None
    leave = ConfirmationLink("https://example.org/unsubscribe/confirm", "Confirm and unsubscribe")
    assert find_confirmation("Confirm your subscription", "", [leave], words=40) is None

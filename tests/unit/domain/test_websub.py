"""When hubs are asked, whom they are believed, and which addresses they can call."""

import hmac

import pytest

from reedbed.domain.refresh.outcomes import CacheHeaders
from reedbed.domain.refresh.schedule import (
    IntervalRule,
    PublishPattern,
    explain,
    next_check_after_failure,
    next_check_after_success,
)
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND
from reedbed.domain.websub import (
    MAX_LEASE,
    MIN_LEASE,
    REQUESTED_LEASE,
    is_signed,
    lease_of,
    renew_at,
    retry_at,
    why_unreachable,
)

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    "url",
    ["https://reader.example.org", "http://8.8.8.8:8080", "https://reader.example.org/reed", "http://[2606:4700::1]"],
)
def test_public_addresses_can_be_called(url: str) -> None:
    assert why_unreachable(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080",
        "http://localhost:8080",
        "https://reader.localhost",
        "https://192.168.1.5",
        "http://10.0.0.1",
        "http://[::1]:8080",
        "http://[fd00::1]",
        "https://reader.local",
        "https://reader.lan",
        "https://reader.home.arpa.",
        "https://reader",
        "",
    ],
)
def test_private_addresses_cannot_and_the_reason_names_the_setting(url: str) -> None:
    failure = why_unreachable(url)
    assert failure is not None and "REEDBED_BASE_URL" in failure.message


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (None, REQUESTED_LEASE),
        ("", REQUESTED_LEASE),
        ("soon", REQUESTED_LEASE),
        ("-5", REQUESTED_LEASE),
        ("٣", REQUESTED_LEASE),
        ("9" * 40, REQUESTED_LEASE),
        ("0", MIN_LEASE),
        ("3600", HOUR),
        ("99999999", MAX_LEASE),
    ],
)
def test_a_lease_is_what_the_hub_says_within_reason(said: str | None, kept: int) -> None:
    assert lease_of(said) == kept


def test_a_lease_is_renewed_before_its_end() -> None:
    assert renew_at(NOW, 10 * DAY) == NOW + 9 * DAY
    assert renew_at(NOW, HOUR) == NOW + 45 * MINUTE


def test_failures_are_tried_again_ever_more_rarely_and_never_beyond_a_running_lease() -> None:
    waits = [retry_at(NOW, attempts) - NOW for attempts in range(1, 12)]
    assert waits[0] == 5 * MINUTE
    assert waits == sorted(waits) and waits[-1] == DAY
    assert retry_at(NOW, 9, NOW + 20 * SECOND) == NOW + 20 * SECOND
    assert retry_at(NOW, 9, NOW + DAY) == NOW + HOUR
    assert retry_at(NOW, 1, NOW - 1) == NOW + 5 * MINUTE


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_a_signature_is_of_this_body_with_this_secret(method: str) -> None:
    body = b"<rss/>"
    good = f"{method}={hmac.new(b'secret', body, method).hexdigest()}"
    assert is_signed("secret", body, good)
    assert is_signed("secret", body, good.upper())
    assert not is_signed("secret", body + b" ", good)
    assert not is_signed("other", body, good)


@pytest.mark.parametrize("header", [None, "", "=", "sha256", "md5=abc", "sha3_256=abc", "sha256=ü", "shake_128=a"])
def test_anything_else_proves_nothing(header: str | None) -> None:
    assert not is_signed("secret", b"", header)


def test_a_secret_that_could_not_be_decrypted_proves_nothing() -> None:
    assert not is_signed("", b"<rss/>", f"sha256={hmac.new(b'', b'<rss/>', 'sha256').hexdigest()}")


def test_while_a_hub_sends_a_check_a_day_is_enough_unless_the_operator_says_otherwise() -> None:
    hourly = tuple(NOW - number * HOUR for number in range(5))
    quiet = CacheHeaders()
    pushed = next_check_after_success(
        NOW, PublishPattern(hourly, subscriber_interval=HOUR, pushed=True), quiet, jitter=0.5
    )
    assert (pushed.rule, pushed.delay) == (IntervalRule.PUSH, DAY)
    assert "its hub sends new entries at once" in explain(pushed.rule, pushed.delay)
    set_by_hand = PublishPattern(hourly, operator=HOUR, pushed=True)
    assert next_check_after_success(NOW, set_by_hand, quiet, jitter=0.5).delay == HOUR
    failed = next_check_after_failure(NOW, PublishPattern(hourly, pushed=True), quiet, failures=1, jitter=0.5)
    assert failed.delay == 54 * MINUTE

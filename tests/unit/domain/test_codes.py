"""One-time codes as RFC 6238 and RFC 4226 have them."""

from urllib.parse import parse_qs, urlsplit

import pytest

from reedbed.domain.codes import (
    STEP,
    clean_code,
    code_of,
    enrolment,
    is_app_code,
    matching_step,
    recovery_code,
    secret_bytes,
)

SECRET = b"12345678901234567890"
VECTORS = {59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037"}


@pytest.mark.parametrize("seconds", VECTORS)
def test_the_codes_of_the_rfc(seconds: int) -> None:
    assert code_of(SECRET, seconds * 1000 // STEP) == VECTORS[seconds]


@pytest.mark.parametrize(("drift", "accepted"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_phone_may_be_one_step_off(drift: int, accepted: bool) -> None:
    now = 1_700_000_000_000
    step = now // STEP + drift
    assert matching_step(SECRET, code_of(SECRET, step), now) == (step if accepted else None)


def test_an_app_gets_everything_that_it_needs() -> None:
    made = enrolment(SECRET, "reader+1@example.org")
    parts = urlsplit(made.url)
    assert (parts.scheme, parts.netloc, parts.path) == ("otpauth", "totp", "/Reedbed%3Areader%2B1%40example.org")
    assert parse_qs(parts.query) == {"secret": [made.secret], "issuer": ["Reedbed"]}
    assert secret_bytes(made.secret) == SECRET and made.secret not in repr(made)


def test_what_is_typed_is_read_kindly() -> None:
    assert (
        is_app_code(clean_code(" 123 456 "))
        and not is_app_code(clean_code("12345"))
        and not is_app_code("１２３４５６")
    )
    made = recovery_code(bytes(range(10)))
    assert len(made) == 19 and clean_code(made.upper().replace("-", " ")) == made.replace("-", "")

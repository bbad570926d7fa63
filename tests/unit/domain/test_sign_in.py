"""What the claims of a provider come to."""

from typing import Any

import pytest

from reedbed.domain.sign_in import Provider, challenge_of, identity_of, is_current

PROVIDER = Provider("oidc", "Reed ID", "https://id.example.org", "reedbed")
NOW = 1_800_000_000_000
SECONDS = NOW // 1000


def test_the_challenge_is_the_one_of_the_standard() -> None:
    # RFC 7636, appendix B
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize(
    ("said", "verified"),
    [(True, True), ("true", True), (False, False), ("false", False), (None, False), ("yes", False), ([1], False)],
)
def test_an_address_is_verified_only_by_a_plain_yes(said: Any, verified: bool) -> None:
    found = identity_of(PROVIDER, "i", {"sub": "1", "email": "A@Example.org", "email_verified": said})
    assert found is not None
    assert (found.email, found.email_verified) == ("a@example.org", verified)


@pytest.mark.parametrize("email", [None, 5, "", "nobody", "a@b@c", "a\x00@example.org", ["a@example.org"]])
def test_no_address_is_verified_when_there_is_none(email: Any) -> None:
    found = identity_of(PROVIDER, "i", {"sub": "1", "email": email, "email_verified": True})
    assert found is not None
    assert (found.email, found.email_verified) == ("", False)


@pytest.mark.parametrize("subject", [None, 5, "", "x" * 256, "a\x00b", ["1"], {"a": 1}])
def test_without_a_subject_there_is_nobody(subject: Any) -> None:
    assert identity_of(PROVIDER, "i", {"sub": subject}) is None


@pytest.mark.parametrize(
    ("claims", "current"),
    [
        ({"exp": SECONDS + 10, "iat": SECONDS}, True),
        ({"exp": SECONDS - 30, "iat": SECONDS - 60}, True),  # clocks differ
        ({"exp": SECONDS - 90, "iat": SECONDS - 300}, False),
        ({"exp": SECONDS + 10, "iat": SECONDS + 90}, False),
        ({"exp": SECONDS + 10, "iat": SECONDS, "nbf": SECONDS + 90}, False),
        ({"exp": SECONDS + 10}, False),
        ({"iat": SECONDS}, False),
        ({"exp": "1e99", "iat": SECONDS}, False),
        ({"exp": float("nan"), "iat": SECONDS}, False),
        ({"exp": float("inf"), "iat": SECONDS}, False),
        ({"exp": -5, "iat": SECONDS}, False),
    ],
)
def test_a_token_is_good_for_its_time(claims: dict[str, Any], current: bool) -> None:
    assert is_current(claims, NOW) is current

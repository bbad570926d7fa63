import pytest

from reedbed.domain.auth import check_password, is_common
from reedbed.domain.email import email_address
from reedbed.domain.errors import Invalid


@pytest.mark.parametrize("password", ["quiet-heron-7", "ten chars!", "пароль-с-тростником", "x1" + "y" * 1_000])
def test_a_long_uncommon_password_is_accepted(password: str) -> None:
    check_password(password, "owner@example.com")


@pytest.mark.parametrize(
    "password",
    [
        "password123",
        "Password123!",
        "1234567890",
        "0987654321",
        "qwertyuiop",
        "QWERTYUIOP123",
        "aaaaaaaaaa",
        "abcabcabcabc",
        "abcdefghijkl",
        "passwordpassword",
        "1q2w3e4r5t",
        "letmein2026",
    ],
)
def test_what_everyone_tries_first_is_refused(password: str) -> None:
    with pytest.raises(Invalid, match="first that anyone would try"):
        check_password(password)


def test_length_has_two_ends() -> None:
    with pytest.raises(Invalid, match="at least 10"):
        check_password("short-one")
    with pytest.raises(Invalid, match="at most 1024"):
        check_password("ab1" * 500)


def test_the_address_is_no_password() -> None:
    for password in ("Someone.Long@example.com", "someone.long"):
        with pytest.raises(Invalid, match="e-mail"):
            check_password(password, "someone.long@example.com")


def test_a_sentence_is_not_common() -> None:
    assert not is_common("the reeds stand in cold water")


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        (" Someone@Example.COM ", "someone@example.com"),
        ("a.b+c@sub.example.co.uk", "a.b+c@sub.example.co.uk"),
        ("me@bücher.example", "me@xn--bcher-kva.example"),
        ("owner@localhost", "owner@localhost"),
    ],
)
def test_addresses_are_normalised(typed: str, address: str) -> None:
    assert email_address(typed) == address


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "nobody",
        "@example.com",
        "a@",
        "a@b",
        "a b@example.com",
        "a@exa mple.com",
        "a..b@example.com",
        ".a@example.com",
        "a@-x.com",
        "a@x..com",
        "a@b@",
        "a\n@example.com",
        "<a@example.com>",
        "x" * 65 + "@example.com",
        "a@" + "x" * 250 + ".com",
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(Invalid) as refused:
        email_address(typed)
    assert refused.value.field == "email"

"""Which passwords are accepted: long, not the first that anyone would try, not the account's own name."""

from functools import cache
from itertools import product

from reedbed.domain.common_passwords import BASES, LONERS, TAILS
from reedbed.domain.errors import Invalid

MIN_LENGTH = 10
MAX_LENGTH = 1_024


def check_password(password: str, email: str = "", field: str = "password") -> None:
    if len(password) < MIN_LENGTH:
        raise Invalid(f"The password must have at least {MIN_LENGTH} characters", field=field)
    if len(password) > MAX_LENGTH:
        raise Invalid(f"The password must have at most {MAX_LENGTH} characters", field=field)
    if _is_the_address(password, email):
        raise Invalid("The password must not be your e-mail address", field=field)
    if is_common(password):
        raise Invalid("This password is one of the first that anyone would try. Choose another", field=field)


def is_common(password: str) -> bool:
    plain = password.casefold()
    return plain in _common() or _is_repetition(plain) or _is_run(plain)


def _is_the_address(password: str, email: str) -> bool:
    plain, address = password.casefold(), email.strip().casefold()
    return bool(address) and plain in (address, address.partition("@")[0])


def _is_repetition(text: str) -> bool:
    """One piece of up to five characters over and over: `aaaaaaaaaa`, `abcabcabcabc`, `12341234123`."""
    return any(text[step:] == text[:-step] for step in range(1, 6))


_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "1234567890",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
)


def _is_run(text: str) -> bool:
    """A walk along the alphabet, the digits or the keyboard, either way."""
    return any(text in row * 2 or text in (row * 2)[::-1] for row in _ROWS)


@cache
def _common() -> frozenset[str]:
    grown = (base + tail for base, tail in product(BASES.split(), ("", *TAILS.split())))
    return frozenset(word for word in (*grown, *LONERS.split()) if len(word) >= MIN_LENGTH)

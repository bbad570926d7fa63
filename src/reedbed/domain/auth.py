"""Password rules, and the links in mails that reset a password, verify an address or invite a user.

Links can be used once, expire soon and are stored only as hashes.
"""

from functools import cache
from itertools import product
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, Instant, Millis

BASES = """
password passw0rd p@ssword p@ssw0rd pa55word passwort motdepasse contrasena senha letmein welcome
admin administrator qwerty qwertyuiop qwertz azerty azertyuiop iloveyou monkey dragon master
sunshine princess football baseball superman batman starwars trustno1 whatever changeme secret
default login guest access computer internet samsung google facebook liverpool chelsea arsenal
michael jordan charlie jennifer ashley daniel thomas shadow summer winter spring autumn freedom
pokemon minecraft fuckyou asdfgh asdfghjkl zxcvbnm reedbed reader rssreader newsreader feedreader
"""

TAILS = """
1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890 ! !! 1! 12! 123! 1234! @123 @1234
#1 #123 0 00 01 007 69 99 111 321 666 777 888 999 000 2000 qwerty abc 2018 2019 2020 2021 2022 2023
2024 2025 2026 2027 2028 2029 2030
"""

COMMON_PASSWORDS = """
1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5t6y7u q1w2e3r4t5 q1w2e3r4t5y6 1qaz2wsx3edc 1qazxsw23edc
qazwsxedcrfv qazwsxedc1 zaq12wsxcde3 zaq1xsw2cde3 qweasdzxc123 qwerty12345 qwe123qwe123 123qweasdzxc
abcd123456 abc1234567 abcd12345678 a123456789 a1234567890 aa12345678 aa123456789 1234567890a
123456789a 0987654321 9876543210 1029384756 1357924680 2468013579 3141592653 3141592654 1111122222
1112223334 1122334455 11223344556 112233445566 1212121212 123123123a 123321123321 1233211234567
123654789a 1236547890 147258369a 1472583690 147852369a 159753456852 7894561230 789456123a
passwordpassword adminadmin rootrootroot testtesttest testtest123 test123456 testing123 testing1234
user123456 hello12345 hello123456 helloworld helloworld1 iloveyou12 iloveyou123 iloveyouso
iloveyou4ever mypassword mypassword1 mypassword123 newpassword newpassword1 yourpassword thepassword
nopassword password.1 passwordpass letmeinnow letmeinplease correcthorse correcthorsebatterystaple
opensesame blink182blink manchester manchester1 manchesterunited barcelona1 realmadrid realmadrid1
juventus1897 harrypotter harrypotter1 christopher christina1 alexander1 alexandra1 elizabeth1
jacqueline basketball basketball1 volleyball volleyball1 strawberry strawberry1 chocolate1
butterfly1 watermelon cheesecake sweetheart sweetheart1 spiderman1 undertaker california washington
metallica1 motorola123 alienware1 playstation playstation1 xboxone360 counterstrike leagueoflegends
"""


MIN_LENGTH = 10
MAX_LENGTH = 1_024


def check_password(password: str, email: str = "", field: str = "password") -> None:
    if len(password) < MIN_LENGTH:
        raise Invalid("The password must have at least %(limit)s characters", field=field, limit=MIN_LENGTH)
    if len(password) > MAX_LENGTH:
        raise Invalid("The password must have at most %(limit)s characters", field=field, limit=MAX_LENGTH)
    if _is_own_email(password, email):
        raise Invalid("The password must not be your e-mail address", field=field)
    if is_common(password):
        raise Invalid("This password is one of the first that anyone would try. Choose another", field=field)


def is_common(password: str) -> bool:
    plain = password.casefold()
    return plain in _common() or _is_repetition(plain) or _is_run(plain)


def _is_own_email(password: str, email: str) -> bool:
    plain, own_email = password.casefold(), email.strip().casefold()
    return bool(own_email) and plain in (own_email, own_email.partition("@")[0])


def _is_repetition(text: str) -> bool:
    """Up to five characters repeated: `aaaaaaaaaa`, `abcabcabcabc`, `12341234123`."""
    return any(text[step:] == text[:-step] for step in range(1, 6))


_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "1234567890",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
)


def _is_run(text: str) -> bool:
    """A run along the alphabet, the digits or the keyboard, in either direction."""
    return any(text in row * 2 or text in (row * 2)[::-1] for row in _ROWS)


@cache
def _common() -> frozenset[str]:
    combined = (base + tail for base, tail in product(BASES.split(), ("", *TAILS.split())))
    return frozenset(word for word in (*combined, *COMMON_PASSWORDS.split()) if len(word) >= MIN_LENGTH)


# --- Links in mails

Purpose = Literal["reset", "verify", "invite"]

LINK_LIFETIMES: dict[Purpose, Millis] = {"reset": HOUR, "verify": 3 * DAY, "invite": 7 * DAY}
PATHS: dict[Purpose, str] = {"reset": "/reset/", "verify": "/verify/", "invite": "/register?invite="}
EXPIRED = "This link is not valid any more: it was used or is too old. Ask for a new one."


@record
class MailLink:
    id: int
    purpose: Purpose
    email: str
    user_id: int | None
    created_at: Instant
    expires_at: Instant
    used_at: Instant | None = None


def link_url(base_url: str, purpose: Purpose, token: str) -> str:
    """Always uses the configured base URL, because the Host header is set by the client."""
    return f"{base_url}{PATHS[purpose]}{token}"

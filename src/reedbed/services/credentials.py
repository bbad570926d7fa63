"""`https://name:secret@host/feed`: credentials are kept apart from the address and make the feed private."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def secret(self) -> bool:
        return self.username is not None


def split_credentials(url: str) -> Address:
    parts = urlsplit(url)
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return Address(url)
    username, _, password = userinfo.partition(":")
    clean = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return Address(clean, unquote(username), unquote(password))

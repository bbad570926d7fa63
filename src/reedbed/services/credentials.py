"""`https://name:secret@host/feed`: credentials are kept apart from the address and make the feed private."""

import re
from dataclasses import field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from reedbed.domain.feed_fetching import check_login, check_password, check_username
from reedbed.domain.records import record
from reedbed.ingest.discover import same_origin
from reedbed.ingest.typed_address import typed_address

_CREDENTIALS = re.compile(
    r"(\b(?:https?|htts?|htps?|hhtps?|htpps?|ttps?|feed|rss|itpc|pcast|podcast)(?:;//|:/+|//|:\\\\))[^/?#\s]*@",
    re.IGNORECASE,
)


@record
class Address:
    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def secret(self) -> bool:
        return self.username is not None

    @property
    def whole(self) -> str:
        """With the credentials in the address, as other programs write it."""
        if self.username is None:
            return self.url
        scheme, _, rest = self.url.partition("://")
        password = f":{quote(self.password, safe='')}" if self.password else ""
        return f"{scheme}://{quote(self.username, safe='')}{password}@{rest}"

    def at(self, url: str) -> "Address":
        """Another address; the credentials go with it on the same origin only."""
        return Address(url, self.username, self.password) if same_origin(self.url, url) else Address(url)


def split_credentials(url: str) -> Address:
    parts = urlsplit(url)
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return Address(url)
    username, _, password = userinfo.partition(":")
    clean = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return Address(clean, unquote(username), unquote(password))


def typed_login(text: str, username: str | None = None, password: str | None = None) -> Address:
    """A typed address with its credentials, which may also come in fields of their own."""
    address = split_credentials(typed_address(text))
    name, secret = check_username(username), check_password(password)
    check_login(name or address.username, secret)
    if name is None:
        return address if secret is None else Address(address.url, address.username, secret)
    return Address(address.url, name, secret)


def without_credentials(text: str) -> str:
    """What was typed, perhaps several addresses, as it may be shown and kept."""
    return _CREDENTIALS.sub(r"\1", text)

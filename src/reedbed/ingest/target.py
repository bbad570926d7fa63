"""An address made ready for a request: one spelling, no surprises."""

from dataclasses import dataclass
from urllib.parse import unquote

from ada_url import URL as WebURL  # noqa: N811 -- yarl's class has the same name
from yarl import URL

_MAX_LENGTH = 4096
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    url: URL
    """Without credentials and fragment."""
    host: str
    port: int
    origin: str
    username: str = ""
    password: str = ""

    @property
    def href(self) -> str:
        return str(self.url)


def parse_target(address: str, base: str | None = None) -> Target | str:
    """The target, or one sentence why the address cannot be one.

    Parsed as browsers do, so that `http://0x7f.1/`, `http://2130706433/` and full-width digits all
    become the plain `127.0.0.1` they mean before anyone judges them.
    """
    if len(address) > _MAX_LENGTH:
        return "The address is too long."
    try:
        parsed = WebURL(address, base) if base else WebURL(address)
    except (ValueError, UnicodeError):
        return "The address is not valid."
    scheme = parsed.protocol.removesuffix(":")
    if scheme not in _DEFAULT_PORTS:
        return "Only addresses with http:// or https:// can be fetched."
    return _target(parsed, scheme)


def _target(parsed: WebURL, scheme: str) -> Target:
    host = parsed.hostname
    port = int(parsed.port) if parsed.port else _DEFAULT_PORTS[scheme]
    origin = f"{scheme}://{parsed.host}"
    return Target(
        url=URL(f"{origin}{parsed.pathname}{parsed.search}", encoded=True),
        host=host,
        port=port,
        origin=origin,
        username=unquote(parsed.username),
        password=unquote(parsed.password),
    )

"""An address made ready for a request: one spelling, no surprises."""

import re
from urllib.parse import unquote

from ada_url import URL as WebURL  # noqa: N811 -- yarl's class has the same name
from yarl import URL

from reedbed.domain.records import record

_MAX_LENGTH = 4096
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Addresses the full parser would leave letter for letter as they are, which is nearly all of them: a lower
# case name under a domain that begins with a letter (so no number in any notation) and nothing that needs
# escaping. Reading these here costs a fifth.
_PLAIN = re.compile(
    r"(https?)://((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z][a-z]{1,30})(?::([1-5][0-9]{4}|[1-9][0-9]{3}))?"
    r"(/[A-Za-z0-9_~/%!$&()*+,;=:@.-]*(?:\?[A-Za-z0-9_~/%!$&()*+,;=:@.?-]*)?)"
)


@record
class Target:
    href: str
    """Without credentials and fragment."""
    url: URL
    """The same, as the client takes it."""
    host: str
    port: int
    origin: str
    username: str = ""
    password: str = ""


def parse_target(address: str, base: str | None = None) -> Target | str:
    """The target, or one sentence why the address cannot be one.

    Parsed as browsers do, so that `http://0x7f.1/`, `http://2130706433/` and full-width digits all
    become the plain `127.0.0.1` they mean before anyone judges them.
    """
    if len(address) > _MAX_LENGTH:
        return "The address is too long."
    if (plain := _PLAIN.fullmatch(address)) and "/." not in plain[4] and "xn--" not in plain[2]:
        return _plain_target(address, *plain.groups()[:3])
    try:
        parsed = WebURL(address, base) if base else WebURL(address)
    except (ValueError, UnicodeError):
        return "The address is not valid."
    scheme = parsed.protocol.removesuffix(":")
    if scheme not in _DEFAULT_PORTS:
        return "Only addresses with http:// or https:// can be fetched."
    return _target(parsed, scheme)


def _plain_target(address: str, scheme: str, host: str, port: str | None) -> Target:
    url = URL(address, encoded=True)
    if port is None:
        return Target(address, url, host, _DEFAULT_PORTS[scheme], f"{scheme}://{host}")
    return Target(address, url, host, int(port), f"{scheme}://{host}:{port}")


def _target(parsed: WebURL, scheme: str) -> Target:
    host = parsed.hostname
    port = int(parsed.port) if parsed.port else _DEFAULT_PORTS[scheme]
    origin = f"{scheme}://{parsed.host}"
    href = f"{origin}{parsed.pathname}{parsed.search}"
    return Target(
        href=href,
        url=URL(href, encoded=True),
        host=host,
        port=port,
        origin=origin,
        username=unquote(parsed.username),
        password=unquote(parsed.password),
    )

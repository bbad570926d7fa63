"""The settings: one template and one class per section, all inside `SettingsPage`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Generic, TypeVar

from reedbed.domain.records import record
from reedbed.web.views.frame import Choice, Moment

Section = TypeVar("Section", covariant=True)


@record
class Saved:
    """Shown in place of a new secret, once."""

    name: str
    secret: str


@record
class LookSettings:
    themes: tuple[Choice, ...]
    sizes: tuple[Choice, ...]
    widths: tuple[Choice, ...]
    fonts: tuple[Choice, ...]
    densities: tuple[Choice, ...]
    languages: tuple[Choice, ...]


@record
class ReadingSettings:
    orders: tuple[Choice, ...]
    time_zones: tuple[Choice, ...]
    scroll_marks: bool = False
    open_marks: bool = True
    group_stories: bool = False


@record
class AccountSettings:
    email: str
    verified: bool
    since: Moment
    linked: tuple[Choice, ...] = ()
    """Sign-in providers; chosen ones are linked."""
    has_password: bool = True
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    saved: str = ""


@record
class Device:
    id: int
    name: str
    seen: str
    icon: str = "device"
    this_one: bool = False


@record
class AppPassword:
    id: int
    name: str
    used: str


@record
class SetupCard:
    heading: str
    hint: str
    address: str
    secret: str
    """What the app is to be given as its password."""
    user: str = ""
    lines: str = ""
    """For a file of settings, instead of fields to fill in."""


@record
class DevicesSettings:
    devices: tuple[Device, ...]
    passwords: tuple[AppPassword, ...]
    cards: tuple[SetupCard, ...]
    made: Saved | None = None
    name: str = ""
    error: str = ""


@record
class ApiToken:
    id: int
    name: str
    scopes: str
    used: str


@record
class TokensSettings:
    tokens: tuple[ApiToken, ...]
    scopes: tuple[Choice, ...]
    made: Saved | None = None
    name: str = ""
    error: str = ""


@record
class PublishedFeed:
    id: int
    name: str
    used: str


@record
class PublishedAddress:
    """Shown once: only a hash of it is kept."""

    name: str
    atom_url: str
    json_url: str


@record
class PublishedSettings:
    feeds: tuple[PublishedFeed, ...]
    views: tuple[Choice, ...]
    made: PublishedAddress | None = None
    error: str = ""


@record
class ToldDevice:
    id: int
    name: str
    reached: str
    this_one: bool = False


@record
class NotificationSettings:
    devices: tuple[ToldDevice, ...]
    feeds: tuple[Choice, ...]
    """Those whose news are told."""
    digests: bool = False

    @property
    def this_device(self) -> bool:
        return any(device.this_one for device in self.devices)


@record
class NoSettings:
    """A section that only shows."""


@record
class SettingsPage(Generic[Section]):
    title: str
    sections: tuple[Choice, ...]
    section: Section
    elsewhere: tuple[Choice, ...] = ()
    """Pages that are no settings but are looked for here."""


@record
class FramingSettings:
    wordings: tuple[Choice, ...]
    loud: tuple[Choice, ...]
    limits: tuple[Choice, ...]
    model: str = ""
    sends: bool = False
    allowed: bool = False

"""View models of the settings pages and of the admin page of users."""

from collections.abc import Mapping
from dataclasses import field
from typing import Generic, TypeVar

from markupsafe import Markup

from reedbed.domain.records import record
from reedbed.web.views.layout import SelectOption, TimeView

Section = TypeVar("Section", covariant=True)


@record
class Saved:
    """A new secret, shown only once."""

    name: str
    secret: str


@record
class ThemeSettings:
    themes: tuple[SelectOption, ...]
    sizes: tuple[SelectOption, ...]
    widths: tuple[SelectOption, ...]
    fonts: tuple[SelectOption, ...]
    languages: tuple[SelectOption, ...]


@record
class ReadingSettings:
    orders: tuple[SelectOption, ...]
    time_zones: tuple[SelectOption, ...]
    scroll_marks: bool = False
    open_marks: bool = True
    group_stories: bool = False
    same_address_once: bool = False
    marked_words: str = ""
    marked_words_error: str = ""
    video_site: str = ""
    video_site_error: str = ""
    can_listen: bool = False
    """The server reads aloud."""
    voice: str = ""
    spoken_digests: bool = False
    podcast: "PodcastSettings | None" = None
    translation: "TranslationSettings | None" = None
    """None: no translator is configured."""


@record
class PodcastSettings:
    used: str = ""
    """When it was last read; empty: there is none."""
    url: str = ""
    """Shown once: only a hash of the token is stored."""


@record
class TranslationSettings:
    languages: tuple[SelectOption, ...]
    """To translate into."""
    read: str
    """Codes of the languages that need no translation."""
    automatic: bool
    in_apps: bool
    service: str = ""
    """The name of a translator that texts are sent to; empty: none are sent."""
    allowed: bool = False


@record
class AccountSettings:
    email: str
    verified: bool
    since: TimeView
    has_password: bool = True
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    saved: str = ""


@record
class DeviceView:
    id: int
    name: str
    seen: str
    icon: str = "device"
    this_one: bool = False
    new_place: bool = False


@record
class CodesView:
    """One-time codes: off, being set up, or on."""

    since: str = ""
    """When they were turned on; empty: they are off."""
    left: int = 0
    used: int = 0
    left_text: str = ""
    secret: str = ""
    """While they are being set up, with the same as `url` and as a QR code."""
    url: str = ""
    qr: Markup = Markup()
    recovery: tuple[str, ...] = ()
    """New recovery codes, shown only once."""
    error: str = ""


@record
class PasskeyView:
    id: int
    name: str
    used: str
    stranded: str = ""
    """Why it does not work here any more."""


@record
class RevocableSecret:
    """An app password or an API token."""

    name: str
    used: str
    revoke_url: str


@record
class LoginEntry:
    what: str
    where: str
    when: TimeView
    new_place: bool = False
    failed: bool = False


@record
class SecuritySettings:
    email: str
    has_password: bool
    passkeys: tuple[PasskeyView, ...]
    passkeys_possible: bool
    """Browsers allow them at this address."""
    codes: CodesView
    linked: tuple[SelectOption, ...]
    """Sign-in providers; chosen ones are linked."""
    devices: tuple[DeviceView, ...]
    secrets: tuple[RevocableSecret, ...]
    logins: tuple[LoginEntry, ...]
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


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
    """What to enter as the password in the app."""
    user: str = ""
    lines: str = ""
    """Lines for a configuration file, instead of form fields."""


@record
class DevicesSettings:
    passwords: tuple[AppPassword, ...]
    cards: tuple[SetupCard, ...]
    made: Saved | None = None
    name: str = ""
    error: str = ""


@record
class TokenView:
    id: int
    name: str
    scopes: str
    used: str


@record
class TokensSettings:
    tokens: tuple[TokenView, ...]
    scopes: tuple[SelectOption, ...]
    made: Saved | None = None
    name: str = ""
    error: str = ""


@record
class PublishedFeedView:
    id: int
    name: str
    used: str


@record
class PublishedAddress:
    """Shown once: only a hash of the token is stored."""

    name: str
    urls: tuple[str, ...]
    is_story: bool = False


@record
class PublishedSettings:
    feeds: tuple[PublishedFeedView, ...]
    views: tuple[SelectOption, ...]
    stories: tuple[PublishedFeedView, ...] = ()
    made: PublishedAddress | None = None
    error: str = ""


@record
class NotifiedDevice:
    id: int
    name: str
    reached: str
    this_one: bool = False


@record
class NotificationSettings:
    devices: tuple[NotifiedDevice, ...]
    feeds: tuple[SelectOption, ...]
    """Feeds with notifications on."""
    digests: bool = False
    stopped: tuple[SelectOption, ...] = ()
    """How the user learns that a feed has stopped."""
    broken_weekly: bool = False
    has_mail: bool = True

    @property
    def this_device(self) -> bool:
        return any(device.this_one for device in self.devices)


@record
class NoSettings:
    """A section without data."""


@record
class SettingsPage(Generic[Section]):
    title: str
    sections: tuple[SelectOption, ...]
    section: Section
    elsewhere: tuple[SelectOption, ...] = ()
    """Links to pages that are not settings but that users look for here."""
    index: bool = False
    """A phone shows the list of sections, and no section."""


@record
class FramingSettings:
    wordings: tuple[SelectOption, ...]
    loud: tuple[SelectOption, ...]
    limits: tuple[SelectOption, ...]
    model: str = ""
    sends: bool = False
    allowed: bool = False


@record
class WebhookView:
    id: int
    name: str
    url: str
    events: str
    state: str
    kind: str
    """Style of the state: good, warn or bad."""


@record
class WebhookCall:
    event: str
    when: str
    state: str
    kind: str
    detail: str


@record
class WebhookDetails:
    line: WebhookView
    events: tuple[SelectOption, ...]
    calls: tuple[WebhookCall, ...]
    enabled: bool


@record
class WebhooksSettings:
    webhooks: tuple[WebhookView, ...]
    events: tuple[SelectOption, ...]
    """Options of the form for a new webhook."""
    one: WebhookDetails | None = None
    made: Saved | None = None
    name: str = ""
    url: str = ""
    error: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    """By form field; if set, `name`, `url` and `events` are the rejected input."""


@record
class ShareTargetView:
    id: int
    name: str
    kind: str
    url: str
    used: str
    problem: str = ""
    takes_messages: bool = False
    digests: bool = False
    stopped_feeds: bool = False


@record
class SecretField:
    name: str
    label: str
    hidden: bool
    required: bool = True
    value: str = ""
    hint: str = ""
    is_text: bool = False
    """Several lines."""
    choices: tuple[SelectOption, ...] = ()


@record
class ShareTestView:
    """What a service answered to a test."""

    name: str
    accepted: bool
    status: int
    answer: str
    problem: str


@record
class ShareSettings:
    targets: tuple[ShareTargetView, ...]
    kinds: tuple[tuple[str, tuple[SelectOption, ...]], ...]
    """By purpose, the kinds of services, each with the URL of its form; the form of the chosen one is shown."""
    chosen: SelectOption
    fields: tuple[SecretField, ...]
    asks_address: bool = True
    """The service has no address that is the same for all users."""
    test: ShareTestView | None = None
    name: str = ""
    url: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    marks_read: bool = False
    """An entry that was sent to a service is marked read."""


@record
class SharePage:
    """One entry and the services it can be shared to."""

    entry_id: int
    title: str
    address: str
    mail_url: str
    targets: tuple[SelectOption, ...]


# --- Admin: users


@record
class UserView:
    id: int
    email: str
    role: str
    facts: str
    disabled: bool = False
    may_change: bool = False
    """False for oneself and for users whom only an owner may change."""
    other_role: str = ""
    """The role a button assigns; empty if the caller may not change roles."""


@record
class InviteView:
    id: int
    email: str
    ends: str


@record
class NewLink:
    """A new invitation or reset link, shown only once."""

    says: str
    url: str


@record
class UsersPage:
    people: tuple[UserView, ...]
    invites: tuple[InviteView, ...]
    made: NewLink | None = None
    email: str = ""
    error: str = ""
    more_url: str = ""

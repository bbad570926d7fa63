"""Pages before the login, and pages when something went wrong.

`errors` maps a field's name to its sentence.
"""

from collections.abc import Mapping
from dataclasses import field

from reedbed.domain.records import record


@record
class Provider:
    url: str
    name: str


@record
class LoginPage:
    email: str = ""
    next: str = ""
    error: str = ""
    notice: str = ""
    providers: tuple[Provider, ...] = ()
    can_register: bool = False
    returning: bool = False
    """A lost session: the reader comes back to where they were."""


@record
class LeavingPage:
    """Logged out here; the provider is asked to do the same."""

    url: str


@record
class FinishPage:
    """Known by a provider: the account has to be proved, or made."""

    ticket: str
    provider: str
    email: str
    kind: str
    """prove, confirm or register"""
    signed_in: bool = False
    privacy: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class SetupPage:
    email: str = ""
    start: str = "samples"
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class RegisterPage:
    email: str = ""
    invite: str = ""
    invite_only: bool = False
    privacy: str = ""
    sent: bool = False
    notice: str = ""
    providers: tuple[Provider, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class ForgotPage:
    email: str = ""
    sent: bool = False
    can_mail: bool = True
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class ResetPage:
    token: str
    valid: bool = True
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class VerifyPage:
    token: str
    valid: bool = True


@record
class ErrorPage:
    icon: str
    heading: str
    text: str
    action_url: str = "/"
    action: str = ""
    reference: str = ""

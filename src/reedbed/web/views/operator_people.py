"""The operator's page about people."""

from reedbed.domain.records import record


@record
class PersonLine:
    id: int
    email: str
    role: str
    facts: str
    disabled: bool = False
    may_change: bool = False
    """Not oneself, and not somebody only an owner looks after."""
    other_role: str = ""
    """The role a button gives them; empty where the caller may give none."""


@record
class InviteLine:
    id: int
    email: str
    ends: str


@record
class MadeLink:
    """Shown this once."""

    says: str
    url: str


@record
class PeoplePage:
    people: tuple[PersonLine, ...]
    invites: tuple[InviteLine, ...]
    made: MadeLink | None = None
    email: str = ""
    error: str = ""
    more_url: str = ""

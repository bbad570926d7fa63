"""View models of the player and of the list of audio and video."""

from reedbed.domain.records import record
from reedbed.web.views.layout import SelectOption, TimeView


@record
class PlayerBar:
    speed: int
    """The user's own speed, in percent."""


@record
class RecordingRow:
    name: str
    """The ids that forms carry."""
    url: str
    title: str
    source: str
    picture: str
    when: TimeView
    length: str
    played: bool


@record
class RecordingsPage:
    title: str
    show: str
    shows: tuple[SelectOption, ...]
    rows: tuple[RecordingRow, ...]
    next_url: str = ""


@record
class ConnectPage:
    title: str
    url: str
    name: str
    """What the app calls itself."""
    email: str
    granted: bool

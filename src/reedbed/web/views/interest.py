"""View models of the order by interest: why an entry stands where it does, and what Reedbed believes."""

from reedbed.domain.records import record
from reedbed.web.views.layout import HiddenField, SelectOption


@record
class InterestReason:
    """A reason that the user can correct: an author, a word of the title, a source."""

    kind: str
    name: str
    fact: str
    """What it does to the place of an entry: "2.2 times as likely"."""
    fields: tuple[HiddenField, ...]
    """With which forms name it."""
    pins: tuple[SelectOption, ...]
    """More, less and never; the chosen one is in force."""


@record
class WhyView:
    line: str
    reasons: tuple[InterestReason, ...]
    open: bool = False
    done: str = ""
    """What a press has just changed."""
    undo: tuple[HiddenField, ...] = ()


@record
class WhyAnswer:
    """What `interest/why.html` needs when rendered alone; passed as `article`."""

    id: int
    why: WhyView


@record
class OrderNote:
    """What a list says about its order."""

    text: str


@record
class InterestPage:
    on: bool
    marks: bool
    digests: bool
    state: str
    figures: tuple[str, ...]
    likes: tuple[InterestReason, ...]
    dislikes: tuple[InterestReason, ...]
    pinned: tuple[InterestReason, ...]

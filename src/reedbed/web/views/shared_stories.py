"""View models of the public page of a shared story."""

from reedbed.domain.records import record
from reedbed.domain.shared_stories import CopiedSentence
from reedbed.web.views.layout import TimeView


@record
class SharedReport:
    feed: str
    title: str
    url: str
    language: str
    when: TimeView
    quote: str


@record
class SharedStoryPage:
    """Without reports, nothing is there, and the title says why."""

    title: str
    language: str = ""
    facts: str = ""
    reports: tuple[SharedReport, ...] = ()
    shared: tuple[CopiedSentence, ...] = ()
    copied: str = ""
    """When the copy was made."""

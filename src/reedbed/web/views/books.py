"""View models of books: EPUB files of lists and digests, the plans that make them, and the e-reader."""

from reedbed.domain.records import record
from reedbed.web.views.layout import SelectOption, TimeView


@record
class BookView:
    id: int
    title: str
    when: TimeView
    status: str
    progress: int
    facts: str
    """Entries, pictures and size as text."""
    left_out: tuple[str, ...] = ()
    mailed: str = ""
    error: str = ""


@record
class BookPlanView:
    id: int
    name: str
    when: str
    """How often and at what time, as text."""
    next: str
    error: str = ""


@record
class BooksPage:
    books: tuple[BookView, ...]
    plans: tuple[BookPlanView, ...]
    sources: tuple[SelectOption, ...]
    weekdays: tuple[SelectOption, ...]
    catalogue_url: str
    pending: bool = False
    can_mail: bool = False
    """This server sends mail."""
    address: str = ""
    confirmed: bool = False
    sender: str = ""
    error: str = ""


@record
class BookAddressPage:
    """The target of the link that confirms an address; it needs no login."""

    token: str
    address: str
    done: bool = False

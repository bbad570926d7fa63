"""Changing many feeds at once: what a form offers, and what was chosen."""

from collections.abc import Sequence

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow
from reedbed.http.params import path_id
from reedbed.services.subscriptions.bulk import DEFAULTS, BulkChange
from reedbed.services.subscriptions.manage import SubscriptionChange
from reedbed.web.forms import folder_options, parse_optional_number
from reedbed.web.i18n import ngettext, translate
from reedbed.web.views.layout import SelectOption

UNREAD_LIMITS = (5, 10, 20, 50, 100)


def bulk_choices(rows: Sequence[FolderRow]) -> tuple[SelectOption, ...]:
    """What can be set for many feeds; `parse_bulk` is the inverse."""
    folders = (
        SelectOption(f"folder:{option.value}", translate("Also put into %(folder)s", folder=option.name))
        for option in folder_options(list(rows), None)[1:]
    )
    limits = (SelectOption(f"unread_limit:{number}", _limit_label(number)) for number in UNREAD_LIMITS)
    return (
        SelectOption("paused:true", translate("Pause")),
        SelectOption("paused:false", translate("Go on looking")),
        SelectOption("full_text:always", translate("Always show the full article")),
        SelectOption("full_text:auto", translate("Full article only where the feed is short")),
        SelectOption("notify:true", translate("Tell me about new entries")),
        SelectOption("notify:false", translate("Do not tell me about new entries")),
        SelectOption("in_unread:false", translate("Keep out of Unread")),
        SelectOption("in_unread:true", translate("Show in Unread again")),
        *limits,
        SelectOption("unread_limit:", translate("All stay unread")),
        *folders,
        SelectOption("defaults:", translate("All settings as for a new feed")),
    )


def _limit_label(number: int) -> str:
    return ngettext("Only the newest %(num)s stays unread", "Only the newest %(num)s stay unread", number)


def parse_bulk(choice: str) -> BulkChange:
    name, _, value = choice.partition(":")
    match name:
        case "paused" if value in _FLAGS:
            return BulkChange(SubscriptionChange(paused=_FLAGS[value]))
        case "notify" if value in _FLAGS:
            return BulkChange(SubscriptionChange(notify=_FLAGS[value]))
        case "in_unread" if value in _FLAGS:
            return BulkChange(SubscriptionChange(in_unread=_FLAGS[value]))
        case "full_text":
            return BulkChange(SubscriptionChange(full_text=value))
        case "unread_limit":
            return BulkChange(SubscriptionChange(unread_limit=parse_optional_number(value, name)))
        case "folder":
            return BulkChange(SubscriptionChange(), add_folder=path_id(value))
        case "defaults":
            return BulkChange(DEFAULTS)
        case _:
            raise Invalid("Choose what to change.", field="change")


_FLAGS = {"true": True, "false": False}

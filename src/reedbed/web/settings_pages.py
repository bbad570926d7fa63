"""Around every section of the settings: which sections there are, and which is shown."""

from typing import Any

from fastapi import Request, Response

from reedbed.domain.accounts import Caller
from reedbed.services.runtime import Runtime
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.frame import Choice, Toast
from reedbed.web.views.settings import SettingsPage


async def settings_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    name: str,
    section: Any,
    *,
    status: int = 200,
    toast: Toast | None = None,
) -> Response:
    titles = _titles()
    sections = tuple(
        Choice(value, title, value == name, f"/settings/{value}") for value, title in titles.items()
    )
    shown = SettingsPage(titles[name], sections, section, _elsewhere(caller))
    return await app_page(
        request, runtime, caller, f"settings/{name}.html", shown, status=status, toast=toast
    )


def _titles() -> dict[str, str]:
    return {
        "look": translate("Look"),
        "reading": translate("Reading"),
        "framing": translate("Framing"),
        "account": translate("Account"),
        "devices": translate("Devices and apps"),
        "notifications": translate("Notifications"),
        "newsletters": translate("Newsletters"),
        "tokens": translate("API tokens"),
        "published": translate("Published feeds"),
        "webhooks": translate("Webhooks"),
        "sharing": translate("Sharing"),
        "data": translate("Your data"),
        "keyboard": translate("Keyboard"),
    }


def _elsewhere(caller: Caller) -> tuple[Choice, ...]:
    pages = [
        ("/feeds", translate("Feeds")),
        ("/folders", translate("Folders")),
        ("/rules", translate("Rules")),
        ("/searches", translate("Searches and tags")),
        ("/bookmarks", translate("Bookmarks")),
        ("/highlights", translate("Highlights")),
        ("/history", translate("Recently read")),
    ]
    if caller.user.operates:
        pages.append(("/admin", translate("Operator")))
    return tuple(Choice(url, name, url=url) for url, name in pages)

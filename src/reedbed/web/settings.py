"""Settings pages: the common layout, and the sections look, reading, data and keyboard."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from zoneinfo import available_timezones

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.articles import check_video_site
from reedbed.domain.errors import Invalid
from reedbed.domain.highlights import check_marked_words
from reedbed.domain.languages import LANGUAGES, match_language
from reedbed.domain.published_feeds import PublishedFeed
from reedbed.domain.times import Instant
from reedbed.domain.translations import SERVICES
from reedbed.domain.users import Caller, Preferences
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.auth import check_confirmed
from reedbed.services.listening.manage import podcast_of
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of, set_preferences
from reedbed.web.formats import ago
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import OWN_NAMES, explain, languages, translate
from reedbed.web.pages import own_themes, see_other, set_theme_cookie, theme_of
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, Theme, Toast
from reedbed.web.views.settings import (
    NoSettings,
    PodcastSettings,
    ReadingSettings,
    SettingsPage,
    ThemeSettings,
    TranslationSettings,
)


async def settings_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    name: str,
    section: Any,
    *,
    status: int = 200,
    toast: Toast | None = None,
    index: bool = False,
) -> Response:
    titles = _titles()
    sections = tuple(SelectOption(value, title, value == name, f"/settings/{value}") for value, title in titles.items())
    view = SettingsPage(titles[name], sections, section, _other_pages(caller), index)
    return await app_page(request, runtime, caller, f"settings/{name}.html", view, status=status, toast=toast)


def _titles() -> dict[str, str]:
    return {
        "look": translate("Look"),
        "reading": translate("Reading"),
        "framing": translate("Framing"),
        "account": translate("Account"),
        "security": translate("Security"),
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


def _other_pages(caller: Caller) -> tuple[SelectOption, ...]:
    pages = [
        ("/feeds", translate("Feeds")),
        ("/folders", translate("Folders")),
        ("/rules", translate("Rules")),
        ("/searches", translate("Searches and tags")),
        ("/bookmarks", translate("Bookmarks")),
        ("/highlights", translate("Highlights")),
        ("/recordings", translate("Audio and video")),
        ("/history", translate("Recently read")),
    ]
    if caller.user.operates:
        pages.append(("/admin", translate("Operator")))
    return tuple(SelectOption(url, name, url=url) for url, name in pages)


router = APIRouter(include_in_schema=False)

ZONE_AREAS = (
    "Africa/",
    "America/",
    "Antarctica/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Europe/",
    "Indian/",
    "Pacific/",
)


@router.get("/settings")
async def show_settings(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """The list of sections, beside the first one where there is room."""
    section = _theme_settings(theme_of(request), preferences_of(caller.user).language, own_themes(request))
    return await settings_page(request, runtime, caller, "look", section, index=True)


@router.get("/settings/look")
async def show_look(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    theme, language = theme_of(request), preferences_of(caller.user).language
    return await settings_page(request, runtime, caller, "look", _theme_settings(theme, language, own_themes(request)))


@router.post("/settings/look")
async def save_look(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """Also receives the small menus, which send only some of the fields."""
    form = await request.form()
    language = form.get("language")
    if isinstance(language, str):
        await set_preferences(runtime, caller, {"language": language})
    response = see_other(request, str(form.get("next", "/settings/look")))
    set_theme_cookie(request, response, _apply_form(theme_of(request), form))
    return response


@router.get("/settings/reading")
async def show_reading_settings(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await show_reading(request, runtime, caller)


async def show_reading(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    typed: Mapping[str, str] = MappingProxyType({}),
    error: Invalid | None = None,
    podcast_url: str = "",
) -> Response:
    """With `error`, what was typed and refused stays in its fields."""
    preferences = preferences_of(caller.user)
    errors = {error.field: explain(error)} if error else {}
    view = ReadingSettings(
        orders=(
            SelectOption("newest", translate("Newest first"), preferences.order == "newest"),
            SelectOption("oldest", translate("Oldest first"), preferences.order == "oldest"),
        ),
        time_zones=_zone_options(preferences.time_zone),
        scroll_marks=theme_of(request).scroll_marks,
        open_marks=preferences.open_marks,
        group_stories=preferences.group_stories,
        same_address_once=preferences.same_address_once,
        marked_words=typed.get("marked_words", preferences.marked_words),
        marked_words_error=errors.get("marked_words", ""),
        video_site=typed.get("video_site", preferences.video_site),
        video_site_error=errors.get("video_site", ""),
        can_listen=runtime.speech.speaker is not None,
        voice=preferences.voice,
        spoken_digests=preferences.spoken_digests,
        podcast=await _podcast_settings(runtime, caller, podcast_url) if runtime.speech.speaker else None,
        translation=_translation_settings(runtime, preferences),
    )
    return await settings_page(request, runtime, caller, "reading", view, status=400 if error else 200)


async def _podcast_settings(runtime: Runtime, caller: Caller, url: str) -> PodcastSettings:
    found = await podcast_of(runtime, caller.user_id)
    return PodcastSettings(usage_text(found, runtime.now()) if found else "", url)


def usage_text(feed: PublishedFeed, now: Instant) -> str:
    if feed.last_used_at is None:
        return translate("Published %(when)s, not read yet", when=ago(feed.created_at, now))
    return translate("Last read %(when)s", when=ago(feed.last_used_at, now))


def _translation_settings(runtime: Runtime, preferences: Preferences) -> TranslationSettings | None:
    translator = runtime.ai.translator
    if translator is None:
        return None
    chosen = preferences.translation_language
    names = {chosen: chosen} | OWN_NAMES if chosen and chosen not in OWN_NAMES else OWN_NAMES
    into_own = ("", translate("As the pages"))
    return TranslationSettings(
        languages=_options(chosen, into_own, *names.items()),
        read=preferences.languages_read,
        automatic=preferences.auto_translate,
        in_apps=preferences.translations_in_apps,
        service=SERVICES.get(translator.name, translator.name) if translator.is_remote else "",
        allowed=preferences.remote_ai,
    )


@router.post("/settings/reading")
async def save_reading(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    order: Text = "newest",
    time_zone: Text = "",
    marked_words: Text = "",
    video_site: Text = "",
    open_marks: FormFlag = False,
    scroll_marks: FormFlag = False,
    group_stories: FormFlag = False,
    same_address_once: FormFlag = False,
) -> Response:
    changes: dict[str, Any] = {"order": order, "time_zone": time_zone, "open_marks": open_marks}
    changes |= {"scroll_marks": scroll_marks, "group_stories": group_stories}
    changes |= {"same_address_once": same_address_once}
    typed = {"marked_words": marked_words, "video_site": video_site}
    try:
        changes |= {"marked_words": check_marked_words(marked_words), "video_site": check_video_site(video_site)}
        await set_preferences(runtime, caller, changes)
    except Invalid as error:
        if error.field not in typed:
            raise
        return await show_reading(request, runtime, caller, typed=typed, error=error)
    response = see_other(request, "/settings/reading", toast=Toast(translate("Saved.")))
    set_theme_cookie(request, response, replace(theme_of(request), scroll_marks=scroll_marks))
    return response


@router.get("/settings/data")
async def show_data(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await settings_page(request, runtime, caller, "data", NoSettings())


@router.get("/settings/data/export")
async def export_data(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """Where the confirmation leads back to: the archive itself is an address of the API."""
    await check_confirmed(runtime, caller)
    return see_other(request, "/api/v1/export")


@router.get("/settings/keyboard")
async def show_keyboard(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await settings_page(request, runtime, caller, "keyboard", NoSettings())


def _apply_form(theme: Theme, form: FormData) -> Theme:
    """Apply the submitted fields; invalid values fall back to the default."""
    submitted = {name: value for name, value in form.items() if isinstance(value, str)}
    changed = Theme.from_choices({**theme.choices(), **submitted})
    # Only the list menu has this checkbox, and an unticked checkbox sends nothing.
    is_list_menu = "list_menu" in submitted or ("density" in submitted and "theme" not in submitted)
    return replace(changed, scroll_marks=submitted.get("scroll") == "marks") if is_list_menu else changed


def _theme_settings(theme: Theme, language: str, own: Sequence[tuple[str, str]]) -> ThemeSettings:
    return ThemeSettings(
        themes=_options(
            theme.theme,
            ("", translate("System")),
            ("light", translate("Light")),
            ("dark", translate("Dark")),
            ("sepia", translate("Sepia")),
            *own,
        ),
        sizes=_options(
            theme.size,
            ("xs", translate("Smallest")),
            ("s", translate("Small")),
            ("", translate("Medium")),
            ("l", translate("Large")),
            ("xl", translate("Largest")),
        ),
        widths=_options(
            theme.width, ("narrow", translate("Narrow")), ("", translate("Normal")), ("wide", translate("Wide"))
        ),
        fonts=_options(
            theme.font,
            ("", translate("Serif")),
            ("sans", translate("Sans")),
            ("literata", "Literata"),
            ("atkinson", "Atkinson Hyperlegible"),
        ),
        languages=_options(
            match_language(language, languages()),
            ("", translate("As the browser asks")),
            *((code, LANGUAGES[code].name) for code in languages()),
        ),
    )


def _options(chosen: str, *options: tuple[str, str]) -> tuple[SelectOption, ...]:
    return tuple(SelectOption(value, name, value == chosen) for value, name in options)


def _zone_options(chosen: str) -> tuple[SelectOption, ...]:
    names = sorted(name for name in available_timezones() if name.startswith(ZONE_AREAS))
    options = (("UTC", "UTC"), *((name, name.replace("_", " ")) for name in names))
    return _options(chosen, ("", translate("As this device has it")), *options)

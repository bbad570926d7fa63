"""Render templates into responses: the layout, cookies and toasts, whole pages and single blocks for htmx."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from reedbed.domain.instance import Problem
from reedbed.domain.languages import direction_of, match_language, negotiate_language
from reedbed.domain.recipes.values import ThemeRecipe
from reedbed.domain.users import Caller
from reedbed.http.auth import bound_to, form_token, get_runtime, maybe_caller, set_visitor_cookie, visitor_of
from reedbed.services.users import preferences_of
from reedbed.web.assets import asset
from reedbed.web.i18n import (
    catalogue,
    current_conventions,
    current_language,
    enumerated,
    languages,
    plain_text,
    plural_text,
    separator,
    set_language,
    translate,
)
from reedbed.web.views.layout import OWN_THEME_PREFIX, THEME_COOKIE, Banner, Layout, SidebarFeed, Theme, Toast

FOLDER = Path(__file__).parent
WEB_FONTS = ("literata", "atkinson")


def render_page(template: str, values: dict[str, Any], block: str | None = None) -> str:
    """Render the whole template, or only one block of it."""
    page = environment().get_template(template)
    if block is None:
        return page.render(values)
    context = page.new_context(values)
    return "".join(page.blocks[block](context))


class TemplateLoader(FileSystemLoader):
    """Keeps the layout of the templates out of the page: drops indentation, joins the attributes of a tag."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, file, is_current = super().get_source(environment, template)
        source = re.sub(r'\n[ \t]+(?=[\w-]+=")', " ", source)
        return re.sub(r"\n[ \t]+", "\n", source), file, is_current


@cache
def environment() -> Environment:
    environment = Environment(
        loader=TemplateLoader(FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    untyped: Any = environment  # the extension adds its methods at run time
    untyped.globals["asset"] = asset
    untyped.globals["feed_lines"] = _feed_lines
    untyped.globals["standing"] = _static_partial
    untyped.globals["counted"] = _counted
    untyped.globals["conventions"] = current_conventions
    untyped.globals["separator"] = separator
    untyped.filters["enumerated"] = enumerated
    untyped.install_gettext_callables(plain_text, plural_text, newstyle=True)
    untyped.globals["_"] = _translate_markup
    return environment


def _static_partial(template: str) -> Markup:
    """A partial that only depends on the language, rendered once per language."""
    return _render_static(template, current_language())


@cache
def _render_static(template: str, language: str) -> Markup:
    return Markup(environment().get_template(template).render())  # noqa: S704  a template of ours


def _counted(key: str, singular: str, plural: str) -> Markup:
    """The forms of a text with a number, as attributes that `translateCount` in scripts reads."""
    forms = {name: plural_text(singular, plural, number) for name, number in current_conventions().plurals.items()}
    return Markup(" ").join(Markup('data-{}-{}="{}"').format(key, name, text) for name, text in forms.items())


def _feed_lines(feeds: Sequence[SidebarFeed]) -> Markup:
    language = current_language()
    return Markup("".join(_feed_line(feed, language) for feed in feeds))  # noqa: S704  each is escaped already


@lru_cache(maxsize=5_000)
def _feed_line(feed: SidebarFeed, language: str) -> Markup:
    """Cached: with hundreds of feeds, most rows are the same on every page. Numbers depend on the language."""
    module: Any = environment().get_template("partials/feed_row.html").module
    return module.line(feed)


def _translate_markup(message: str, **values: object) -> Markup:
    """The same as jinja2's `_`, but with fewer calls; a page has about a hundred of these."""
    translated = _translated(message, current_language())
    return translated % values if values else translated


@lru_cache(maxsize=5_000)
def _translated(message: str, language: str) -> Markup:
    text = catalogue(language).gettext(message) if message else ""
    return Markup(text)  # noqa: S704  a text of ours


# --- Language


async def choose_language(request: Request) -> None:
    """Set the language before the route runs: views hold translated texts before they are rendered."""
    set_language(language_of(request, await maybe_caller(request)))


def language_of(request: Request, caller: Caller | None) -> str:
    offered, chosen = languages(), _preferred_language(caller)
    found = match_language(chosen, offered) if chosen else ""
    return found or negotiate_language(request.headers.get("accept-language", ""), offered)


def _preferred_language(caller: Caller | None) -> str:
    if caller is None:
        return ""
    preferences = orjson.loads(caller.user.preferences or "{}")
    return str(preferences.get("language", ""))


# --- Responses and cookies

TOAST_COOKIE = "reedbed_toast"
MAX_TOAST_LENGTH = 500
A_YEAR = 31_536_000


def is_htmx(request: Request) -> bool:
    return request.headers.get("hx-request") == "true" and request.headers.get("hx-history-restore-request") != "true"


async def page(
    request: Request,
    template: str,
    view: Any,
    *,
    sidebar: Any = None,
    block: str | None = None,
    status: int = 200,
    toast: Toast | None = None,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """Render the page, or only `block` of it."""
    caller = await maybe_caller(request)
    set_language(language_of(request, caller))
    frame = _layout(request, caller, toast or read_toast(request))
    html = render_page(template, {"frame": frame, "view": view, "sidebar": sidebar, **values}, block)
    vary = "HX-Request" if caller else "HX-Request, Accept-Language"
    response = HTMLResponse(html, status, {"Cache-Control": "no-store", "Vary": vary, **(headers or {})})
    if caller is None:
        set_visitor_cookie(request, response, get_runtime(request))
    if TOAST_COOKIE in request.cookies:
        response.delete_cookie(TOAST_COOKIE)
    return response


def see_other(request: Request, url: str, *, toast: Toast | None = None) -> Response:
    """Redirect after a plain form, with an optional message."""
    response = RedirectResponse(local_path(url), 303)
    if toast is not None:
        value = orjson.dumps([toast.message[:MAX_TOAST_LENGTH], toast.undo]).hex()
        response.set_cookie(TOAST_COOKIE, value, max_age=60, httponly=True, samesite="lax", secure=_is_https(request))
    return response


def local_path(path: str, default: str = "/") -> str:
    """Accept only local paths, so that forms cannot be used as open redirects."""
    is_path = path.startswith("/") and not path.startswith("//")
    # Browsers treat a backslash as a slash and ignore tabs and line breaks.
    return path if is_path and path.isprintable() and "\\" not in path else default


def theme_of(request: Request) -> Theme:
    return Theme.from_cookie(request.cookies.get(THEME_COOKIE, ""))


def own_themes(request: Request) -> tuple[tuple[str, str], ...]:
    """The themes that the operator has added: value and name."""
    return tuple((value, theme.name) for value, theme in get_runtime(request).recipes.current.themes.items())


def _font_of(theme: ThemeRecipe | None) -> str:
    return "" if theme is None else theme.letters.get("font", "")


def set_theme_cookie(request: Request, response: Response, theme: Theme) -> None:
    """Not HttpOnly: the script changes this cookie, too."""
    response.set_cookie(THEME_COOKIE, theme.to_cookie(), max_age=A_YEAR, samesite="lax", secure=_is_https(request))


def read_toast(request: Request) -> Toast | None:
    value = request.cookies.get(TOAST_COOKIE)
    if not value:
        return None
    try:
        message, undo = orjson.loads(bytes.fromhex(value))
    except (ValueError, TypeError):
        return None
    return Toast(str(message)[:MAX_TOAST_LENGTH], str(undo)[:200])


def _layout(request: Request, caller: Caller | None, toast: Toast | None) -> Layout:
    owner = bound_to(request) if caller is not None else visitor_of(request)
    recipes, look = get_runtime(request).recipes.current, theme_of(request)
    if look.theme not in recipes.themes and look.theme.startswith(OWN_THEME_PREFIX):
        look = replace(look, theme="")  # its file is gone
    preferences = None if caller is None else preferences_of(caller.user)
    return Layout(
        csrf_token=form_token(get_runtime(request).secret, owner),
        here=_current_path(request),
        look=look,
        themes=own_themes(request),
        theme_sheet=f"/themes.css?v={recipes.style_version}" if recipes.themes else "",
        web_fonts=(look.font or _font_of(recipes.themes.get(look.theme))) in WEB_FONTS,
        language=current_language(),
        direction=direction_of(current_language()),
        signed_in=caller is not None,
        toast=toast,
        banner=_banner(get_runtime(request).health.problems) if caller and caller.user.operates else None,
        newest=request.state.newest if caller else "",
        rendered_at=get_runtime(request).now(),
        open_marks=preferences is None or preferences.open_marks,
        learns=preferences is not None and preferences.interest,
    )


def _banner(problems: Sequence[Problem]) -> Banner | None:
    if not problems:
        return None
    heading = translate("Something is wrong.")
    return Banner(
        heading, " ".join(translate(problem.text) for problem in problems), "/admin", translate("How it runs")
    )


def _current_path(request: Request) -> str:
    """The path in the address bar; htmx sends it when it requests only a part of the page."""
    current = request.headers.get("hx-current-url") if is_htmx(request) else None
    try:
        parts = urlsplit(current) if current else request.url
    except ValueError:
        parts = request.url
    return local_path(f"{parts.path}?{parts.query}" if parts.query else parts.path)


def _is_https(request: Request) -> bool:
    return get_runtime(request).accounts.base_url.startswith("https://")

"""Check one file of recipes: its kind, and every key. A file adds a site, a service to send entries to, or a theme."""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from reedbed.domain.articles import MAX_SELECTOR_LENGTH, MAX_SELECTORS, ArticleSelectors
from reedbed.domain.errors import Invalid
from reedbed.domain.page_feeds import MAX_SELECTOR, PageSelectors
from reedbed.domain.recipes.tables import FileTable
from reedbed.domain.recipes.values import (
    ConnectorRecipe,
    Recipe,
    RecipeFile,
    Recipes,
    SiteList,
    SiteRecipe,
    ThemeRecipe,
)
from reedbed.domain.sharing.services import Call, Purpose, Service, ServiceField, ServiceStep
from reedbed.domain.sharing.targets import HEADER, METHODS, TEMPLATE_VALUES
from reedbed.domain.urls import normalize_url
from reedbed.domain.users import Allowance

# --- Connectors


VALUES = TEMPLATE_VALUES | {
    "address", "basic", "bearer", "html", "markdown", "mrkdwn", "unique",
    "tags_as_words", "tags_by_comma", "tags_by_space", "tags_with_names", "tags_with_tag_names",
}  # fmt: skip
"""What every template can name, besides the fields and what an earlier step has read."""
MAX_FIELDS = 10
MAX_STEPS = 5
MAX_TEMPLATE = 4_000
_NAME = r"[a-z][a-z0-9_]{0,39}"
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_FORMS = (None, "int", "address")
_SERVER = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/|$)")


def read_connector(table: FileTable) -> ConnectorRecipe | None:
    name = table.text("name", limit=100, required=True)
    purpose = table.choice("purpose", tuple(Purpose), required=True)
    address, default_address = (_read_address(table, key) for key in ("address", "default_address"))
    fields = read_fields(table)
    origin_of = table.text("address_field")
    if origin_of and origin_of not in [one.name for one in fields]:
        table.wrong("address_field", Invalid("This must be the name of one of the fields."))
    limits = table.table("limits")
    burst = limits.number("burst", 1, 1_000, otherwise=30)
    per_second = limits.number("per_second", 0.001, 100, otherwise=0.5)
    limits.end()
    max_text = int(table.number("max_text", 10, 100_000, otherwise=2_000))
    known = VALUES | {one.name for one in fields}
    steps: list[ServiceStep] = []
    for one in table.tables("steps", most=MAX_STEPS, required=True):
        step = _read_step(one, known, origin_of)
        known |= set(step.reads)
        steps.append(step)
    table.end()
    if table.problems:
        return None
    return ConnectorRecipe(
        Service(
            name,
            Purpose(purpose),
            fields,
            tuple(steps),
            address=address,
            origin_of=origin_of,
            defaults={"address": default_address} if default_address else {},
            allowance=Allowance(int(burst), per_second),
            max_text=max_text,
        )
    )


def read_fields(table: FileTable) -> tuple[ServiceField, ...]:
    """What the user is asked for."""
    fields: list[ServiceField] = []
    for one in table.tables("fields", most=MAX_FIELDS):
        name = one.text("name", required=True, pattern=_NAME, example="api_key")
        if name in VALUES or name in ("name", "kind") or name in [other.name for other in fields]:
            one.wrong("name", Invalid("This name is taken."))
        label = one.text("label", limit=60, required=True)
        secret, required = one.flag("secret", otherwise=True), one.flag("required", otherwise=True)
        one.end()
        fields.append(ServiceField(name, secret, required, label))
    return tuple(fields)


def _read_address(table: FileTable, key: str) -> str:
    address = table.text(key, limit=500).rstrip("/")
    if address and (normalize_url(address) is None or not _SERVER.match(f"{address}/") or "{" in address):
        return table.wrong(key, Invalid("The address of the service starts with http:// or https://"))
    return address


def _read_step(table: FileTable, known: frozenset[str] | set[str], origin_of: str) -> ServiceStep:
    method = table.choice("method", METHODS) or "POST"
    address = table.text("address", limit=MAX_TEMPLATE, required=True)
    _check_server(table, address, origin_of)
    _check_template(table, "address", address, known)
    headers, json, form = (table.mapping(key) for key in ("headers", "json", "form"))
    for key, template in (("headers", headers), ("json", json), ("form", form)):
        _check_template(table, key, template, known)
    if not all(isinstance(value, str) for value in (form or {}).values()):
        table.wrong("form", Invalid("Every value must be a text."))
    for name, value in (headers or {}).items():
        if not HEADER.match(name) or not isinstance(value, str) or not value.isprintable() or not value.isascii():
            table.wrong("headers", Invalid("Write each header as a name and a text in ASCII."))
    if json is not None and form is not None:
        table.wrong("form", Invalid("A step sends json or a form, not both."))
    accepted = table.numbers("accepted", 100, 599, most=20)
    reads = _read_paths(table)
    step = ServiceStep(
        Call(method, address, dict(headers or {}), json, form),
        reads=reads,
        accepted=accepted,
        is_login=table.flag("is_login", otherwise=False),
        optional=table.flag("optional", otherwise=False),
        only_with=table.text("only_with"),
        ends_with=table.text("ends_with"),
    )
    for key, name in (("only_with", step.only_with), ("ends_with", step.ends_with)):
        if name and name not in known | set(reads):
            _no_such_value(table, key, name, known)
    table.end()
    return step


def _check_server(table: FileTable, address: str, origin_of: str) -> None:
    """Nothing that is filled in can choose the server, but the address that the user gave."""
    own = ["{address}", *([f"{{{origin_of}:address}}"] if origin_of else [])]
    starts = any(address == one or address.startswith((f"{one}/", f"{one}?")) for one in own)
    if address and not starts and not _SERVER.match(address):
        table.wrong(
            "address", Invalid("This must begin with one of: %(choices)s.", choices=", ".join([*own, "https://…/"]))
        )


def _check_template(table: FileTable, key: str, template: Any, known: frozenset[str] | set[str]) -> None:
    for text in _texts_in(template):
        for name, form in _PLACEHOLDER.findall(text):
            if name not in known:
                _no_such_value(table, key, name, known)
            elif (form or None) not in _FORMS:
                table.wrong(key, Invalid("After the colon, write int or address."))


def _texts_in(template: Any) -> list[str]:
    if isinstance(template, str):
        return [template]
    if isinstance(template, Mapping):
        return [text for part in cast("Mapping[str, Any]", template).values() for text in _texts_in(part)]
    if isinstance(template, list):
        return [text for part in cast("list[Any]", template) for text in _texts_in(part)]
    return []


def _no_such_value(table: FileTable, key: str, name: str, known: frozenset[str] | set[str]) -> None:
    choices = ", ".join(f"{{{value}}}" for value in sorted(known))
    table.wrong(key, Invalid("There is no {%(name)s}. There are: %(choices)s.", name=name, choices=choices))


def _read_paths(table: FileTable) -> dict[str, tuple[str, ...]]:
    paths: dict[str, tuple[str, ...]] = {}
    for name, path in (table.mapping("reads") or {}).items():
        keys = cast("list[Any]", path) if isinstance(path, list) else []
        if not keys or not all(isinstance(part, str) for part in keys) or not re.fullmatch(_NAME, name):
            table.wrong("reads", Invalid("This must be a list of keys in the answer, such as ['data', 'token']."))
        paths[name] = tuple(map(str, keys))
    return paths


# --- Themes


Colour = tuple[int, int, int]

FONTS = ("serif", "sans", "literata", "atkinson")
SIZES = {"xs": "0.9375rem", "s": "1.0625rem", "m": "1.1875rem", "l": "1.375rem", "xl": "1.625rem"}
WIDTHS = {"narrow": "50ch", "medium": "60ch", "wide": "74ch"}
TEXT_CONTRAST = 4.5
EDGE_CONTRAST = 3.0
_REQUIRED = ("paper", "ink", "accent")
_OPTIONAL = (
    "bed",
    "sunk",
    "raised",
    "ink_2",
    "ink_3",
    "line",
    "edge",
    "on_accent",
    "tint",
    "warn",
    "warn_tint",
    "mark",
)
_HEX = r"#[0-9a-fA-F]{6}"
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)
_PAIRS = (
    *(("ink", paper, TEXT_CONTRAST) for paper in ("paper", "bed", "sunk", "raised", "tint", "mark", "warn_tint")),
    *((text, paper, TEXT_CONTRAST) for text in ("ink_2", "accent", "warn") for paper in ("paper", "bed")),
    ("on_accent", "accent", TEXT_CONTRAST),
    ("edge", "paper", EDGE_CONTRAST),
)


def read_theme(table: FileTable) -> ThemeRecipe | None:
    name = table.text("name", limit=60, required=True)
    light, dark = (_read_colours(table, shade) for shade in ("light", "dark"))
    if "light" not in table and "dark" not in table:
        table.wrong("light", Invalid("A theme needs the colours of [light], [dark] or both."))
    letters = table.table("letters")
    chosen = {
        "font": letters.choice("font", FONTS),
        "size": letters.choice("size", tuple(SIZES)),
        "width": letters.choice("width", tuple(WIDTHS)),
    }
    letters.end()
    table.end()
    return ThemeRecipe(name, light, dark, {key: value for key, value in chosen.items() if value})


def _read_colours(table: FileTable, shade: str) -> dict[str, str] | None:
    before, colours = len(table.problems), table.table(shade)
    if shade not in table:
        return None
    given = {
        key: _colour(text)
        for key in (*_REQUIRED, *_OPTIONAL)
        if (text := colours.text(key, required=key in _REQUIRED, pattern=_HEX, example="#1d4f3c"))
    }
    colours.end()
    if len(table.problems) > before:
        return None
    if (_luminance(given["paper"]) >= 0.5) != (shade == "light"):
        too_dark, too_light = Invalid("The paper must be light."), Invalid("The paper must be dark.")
        colours.wrong("paper", too_dark if shade == "light" else too_light)
        return None
    full = _complete(given, dark=shade == "dark")
    for front, back, least in _PAIRS:
        found = contrast(full[front], full[back])
        if found < least:
            colours.wrong(
                front if front in given else back,
                Invalid(
                    "The contrast of %(front)s on %(back)s is %(found)s; it must be %(least)s at least.",
                    front=front,
                    back=back,
                    found=f"{found:.1f}",
                    least=f"{least:.1f}",
                ),
            )
    return {key.replace("_", "-"): _hex(colour) for key, colour in full.items()}


def _complete(given: Mapping[str, Colour], *, dark: bool) -> dict[str, Colour]:
    paper, ink, accent = (given[key] for key in _REQUIRED)
    warn, mark = ((224, 168, 120), (87, 72, 15)) if dark else ((138, 59, 18), (246, 231, 161))
    full = dict(given)

    def add(key: str, make: Callable[[], Colour]) -> None:
        if key not in full:
            full[key] = make()

    add("bed", lambda: _mix(paper, _BLACK if dark else ink, 0.15 if dark else 0.03))
    add("sunk", lambda: _mix(paper, ink, 0.04))
    add("raised", lambda: _mix(paper, _WHITE, 0.05 if dark else 0.6))
    add("ink_2", lambda: _first(lambda share: _mix(paper, ink, share), 0.7, _readable(paper, full["bed"])))
    add("ink_3", lambda: _mix(paper, ink, 0.5))
    add("line", lambda: _mix(paper, ink, 0.12))
    add("edge", lambda: _first(lambda share: _mix(paper, ink, share), 0.4, _visible(paper)))
    add("on_accent", lambda: max((paper, _WHITE, _BLACK), key=lambda colour: contrast(colour, accent)))
    add("tint", lambda: _first(lambda share: _mix(accent, paper, share), 0.86, _under(ink)))
    add("warn", lambda: _first(lambda share: _mix(warn, ink, share), 0.0, _readable(paper, full["bed"])))
    add("warn_tint", lambda: _first(lambda share: _mix(full["warn"], paper, share), 0.88, _under(ink)))
    add("mark", lambda: _first(lambda share: _mix(mark, paper, share), 0.0, _under(ink)))
    return full


def _first(make: Callable[[float], Colour], share: float, is_enough: Callable[[Colour], bool]) -> Colour:
    """The first mixture that is enough, from this share on."""
    while share < 1 and not is_enough(make(share)):
        share += 0.05
    return make(min(share, 1.0))


def _readable(*papers: Colour) -> Callable[[Colour], bool]:
    return lambda colour: all(contrast(colour, paper) >= TEXT_CONTRAST for paper in papers)


def _visible(paper: Colour) -> Callable[[Colour], bool]:
    return lambda colour: contrast(colour, paper) >= EDGE_CONTRAST


def _under(ink: Colour) -> Callable[[Colour], bool]:
    return lambda colour: contrast(ink, colour) >= TEXT_CONTRAST


def contrast(one: Colour, other: Colour) -> float:
    """As WCAG 2 defines it: from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mix(one: Colour, other: Colour, share: float) -> Colour:
    """`share` is how much of the other is in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _colour(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


# --- Style sheet


def style_sheet(themes: Mapping[str, ThemeRecipe]) -> str:
    """All themes as one sheet; empty without any. It joins the layer of the built-in themes."""
    rules = "".join(_rules(f'[data-theme="{name}"]', theme) for name, theme in themes.items())
    return f"@layer tokens{{{rules}}}" if rules else ""


def _rules(selector: str, theme: ThemeRecipe) -> str:
    light, dark = theme.light, theme.dark
    if light is not None and dark is not None:
        colours = {key: f"light-dark({light[key]},{dark[key]})" for key in light}
        scheme, lamp = "light dark", f"@media (prefers-color-scheme:dark){{{selector}{{--lamp:brightness(0.86)}}}}"
    elif light is not None:
        colours, scheme, lamp = light, "light", ""
    else:
        colours, scheme, lamp = dark or {}, "dark", f"{selector}{{--lamp:brightness(0.86)}}"
    tokens = "".join(f"--{key}:{value};" for key, value in colours.items())
    return f"{selector}{{color-scheme:{scheme};{tokens}}}{lamp}{_letter_rules(selector, theme.letters)}"


def _letter_rules(selector: str, letters: Mapping[str, str]) -> str:
    """What the reader has chosen for this device counts more."""
    fonts = {"literata": '"Literata",var(--serif)', "atkinson": '"Atkinson Hyperlegible",var(--sans)'}
    rules = ""
    if font := letters.get("font"):
        rules += f"{selector}:not([data-font]){{--read-font:{fonts.get(font, f'var(--{font})')}}}"
    if size := letters.get("size"):
        rules += f"{selector}:not([data-size]){{--read-size:{SIZES[size]}}}"
    if width := letters.get("width"):
        rules += f"{selector}:not([data-width]){{--measure:{WIDTHS[width]}}}"
    return rules


# --- Files


MAX_BYTES = 64 * 1024
MAX_FILES = 200
CONNECTOR_KIND = "file:"
"""Begins the kind of a share target whose service a file describes."""
THEME_PREFIX = "own-"
MAX_HOSTS = 50
MAX_LISTS = 20
_HOST = r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*"
_PARTS = ("title", "link", "date", "image", "teaser")
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\.toml")


def read_file(file: str, content: bytes) -> RecipeFile:
    """The recipe, or all that is wrong with the file."""
    problems: list[Invalid] = []
    if not _ID.fullmatch(file):
        problems.append(Invalid("The name of the file may have small letters, digits and hyphens: dunes.toml."))
    if len(content) > MAX_BYTES:
        problems.append(Invalid("The file has more than %(limit)s bytes.", limit=MAX_BYTES))
        return RecipeFile(file, None, tuple(problems))
    try:
        fields = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        problems.append(Invalid("The file is not written in UTF-8."))
        return RecipeFile(file, None, tuple(problems))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        problems.append(Invalid("This is not TOML: %(reason)s.", reason=str(error)[:200]))
        return RecipeFile(file, None, tuple(problems))
    table = FileTable(fields, problems)
    kind = table.choice("kind", tuple(_READERS), required=True)
    recipe = _READERS[kind](table) if kind else None
    return RecipeFile(file, None if problems else recipe, tuple(problems))


def gather(files: Iterable[RecipeFile]) -> Recipes:
    """All that the right files hold, in the order of their names."""
    files = tuple(files)
    right = {file.id: file.recipe for file in files if file.recipe is not None}
    themes = {f"{THEME_PREFIX}{id_}": one for id_, one in right.items() if isinstance(one, ThemeRecipe)}
    sheet = style_sheet(themes)
    return Recipes(
        files,
        tuple(one for one in right.values() if isinstance(one, SiteRecipe)),
        {f"{CONNECTOR_KIND}{id_}": one.service for id_, one in right.items() if isinstance(one, ConnectorRecipe)},
        themes,
        sheet,
        hashlib.sha256(sheet.encode()).hexdigest()[:12] if sheet else "",
    )


def read_site(table: FileTable) -> SiteRecipe | None:
    name = table.text("name", limit=100, required=True)
    hosts = table.texts("hosts", most=MAX_HOSTS, required=True)
    for host in hosts:
        FileTable({"hosts": host}, table.problems).text("hosts", pattern=_HOST, example="example.org, *.example.org")
    article = table.table("article")
    keep, drop = (article.texts(key, most=MAX_SELECTORS, limit=MAX_SELECTOR_LENGTH) for key in ("keep", "drop"))
    article.end()
    lists = [_read_list(one) for one in table.tables("lists", most=MAX_LISTS)]
    if "article" not in table and "lists" not in table:
        table.wrong("article", Invalid("A site needs an [article], [[lists]] or both."))
    table.end()
    return SiteRecipe(name, hosts, ArticleSelectors(keep, drop), tuple(lists))


def _read_list(table: FileTable) -> SiteList:
    path = table.text("path", pattern=r"/.*", example="/news/*") or "/*"
    item = table.text("item", limit=MAX_SELECTOR, required=True)
    parts: dict[str, Any] = {part: table.text(part, limit=MAX_SELECTOR) for part in _PARTS}
    table.end()
    return SiteList(path, PageSelectors(item, **parts))


_READERS: Mapping[str, Callable[[FileTable], Recipe | None]] = {
    "site": read_site,
    "connector": read_connector,
    "theme": read_theme,
}
"""Below the functions that it names."""

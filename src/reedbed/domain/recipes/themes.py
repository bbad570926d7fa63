"""Recipes of themes: a few colours and the letters. What a file leaves out is made from what it has.

Colours are `#rrggbb` and nothing else, so no address and no rule of a style sheet can come in. Each pair that
is read together must have the contrast that WCAG 2 asks for.
"""

from collections.abc import Callable, Mapping

from reedbed.domain.errors import Invalid
from reedbed.domain.recipes.tables import FileTable
from reedbed.domain.recipes.values import ThemeRecipe

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

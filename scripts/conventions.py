"""How each language writes numbers, dates and lists, from CLDR as Babel has it.

    python -m scripts.conventions            write the files that are not as CLDR has it
    python -m scripts.conventions --check    change nothing; exit code 1 when a file is stale

The files lie beside the catalogues: `src/reedbed/web/locale/<language>/conventions.json`. English needs none: its
values are the defaults of `Conventions`. Babel itself is not used at run time: its data takes 10 MB and half a second.
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from babel import Locale

from reedbed.domain.languages import LANGUAGES, SOURCE

LOCALE = Path(__file__).parents[1] / "src" / "reedbed" / "web" / "locale"
GROUPED_FROM_FIVE_DIGITS = frozenset(("es", "it", "pl"))
"""`minimumGroupingDigits` is 2 there; Babel does not read it."""
OUR_WAY: dict[str, dict[str, Any]] = {
    "de": {
        "group": "\u202f",
        "date": "{d}\u00a0{month}",
        "date_with_year": "{d}\u00a0{month}\u00a0{y}",
        "weekday": "{day} {date}",
    }
}
"""Where the German pages have always had another form that is as good."""
FIELDS = {
    "d": "{d}", "M": "{M}", "MMM": "{month}", "MMMM": "{month}", "y": "{y}", "E": "{day}", "EEE": "{day}",
    "EEEE": "{day}", "ccc": "{day}", "H": "{H}", "HH": "{HH}", "mm": "{mm}",
}  # fmt: skip
PART = re.compile(r"'([^']*)'|([A-Za-z]+)")


def main() -> int:
    stale = list(stale_files())
    for file in stale:
        print(f"{file.parent.name}: {'stale' if '--check' in sys.argv else 'written'}")
        if "--check" not in sys.argv:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(written(file.parent.name))
    return 1 if stale and "--check" in sys.argv else 0


def stale_files() -> list[Path]:
    files = [folder_of(code) / "conventions.json" for code in LANGUAGES if code != SOURCE]
    return [file for file in files if not file.exists() or file.read_text() != written(file.parent.name)]


def folder_of(code: str) -> Path:
    return LOCALE / code.replace("-", "_")


def written(folder: str) -> str:
    return json.dumps(conventions_of(folder), ensure_ascii=False, indent=1) + "\n"


def conventions_of(name: str) -> dict[str, Any]:
    locale = Locale.parse(name)
    untyped = cast(Any, locale)
    skeletons: dict[str, Any] = untyped.datetime_skeletons
    day, day_with_year = str(skeletons["MMMd"]), str(skeletons["yMMMd"])
    weekday = str(skeletons["MMMEd"]).replace(day, "{date}")
    whole = str(untyped.date_formats["full"])
    is_year_first = whole.startswith("y年")
    long_day = whole.removeprefix("y年") if is_year_first else weekday.replace("{date}", str(skeletons["MMMMd"]))
    lists: dict[str, str] = untyped.list_patterns["standard"]
    symbols: dict[str, str] = untyped.number_symbols["latn"]
    found = {
        "group": symbols["group"],
        "grouped_from": 5 if name in GROUPED_FROM_FIVE_DIGITS else 4,
        "decimal": symbols["decimal"],
        "percent": re.sub(r"[#,0]+", "{number}", untyped.percent_formats[None].pattern),
        "months": list(untyped.months["format"]["abbreviated"].values()),
        "long_months": list(untyped.months["format"]["wide"].values()),
        "days": _from_monday(untyped.days["format"]["abbreviated"]),
        "long_days": _from_monday(untyped.days["format"]["wide"]),
        "date": _template(day).replace(" ", "\u00a0"),
        "date_with_year": _template(day_with_year).replace(" ", "\u00a0"),
        "weekday": "{date}".join(map(_template, weekday.split("{date}"))),
        "long_date": _template(long_day),
        "time": _template(str(skeletons["Hm"])),
        "date_time": str(untyped.datetime_formats["medium"]).replace("{1}", "{date}").replace("{0}", "{time}"),
        "pair": lists["2"],
        "list_start": lists["start"],
        "list_middle": lists["middle"],
        "list_end": lists["end"],
        "plurals": _plurals(untyped.plural_form),
    }
    return found | OUR_WAY.get(name, {})


def _plurals(category_of: Callable[[int], str]) -> dict[str, int]:
    """A number of each category; those that only fractions and millions have are left out."""
    found: dict[str, int] = {}
    for number in (*range(1, 200), 0):
        found.setdefault(category_of(number), number)
    return found


def _from_monday(names: dict[int, str]) -> list[str]:
    """Babel counts the days from Monday, but its table begins with Sunday."""
    return [names[number] for number in range(7)]


def _template(pattern: str) -> str:
    """`d 'de' MMM` as `{d} de {month}`."""
    return PART.sub(lambda part: part[1] if part[1] is not None else FIELDS[part[2]], pattern)


if __name__ == "__main__":
    sys.exit(main())

"""The texts of the page in other languages.

    python scripts/texts.py            update every catalogue from the sources, and list what is missing or wrong
    python scripts/texts.py --check    change nothing; exit code 1 when something is missing or wrong
    python scripts/texts.py --new fr   begin a catalogue

`docs/languages.md` has the glossary, CONTRIBUTING.md says how to add a language.

A catalogue is `src/reedbed/web/locale/<language>/LC_MESSAGES/reedbed.po`; any editor for PO files will do.
The build compiles it. Texts come from templates, from `translate`, `ngettext` and `marked` in `web`, from
`texts.translate` and `texts.ngettext` of mails and books, from
the table of failures in `domain/failures.py`, and from the errors that the layers below raise.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import cast

from babel import Locale
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from reedbed.domain.failures import FailureCode

SOURCES = Path(__file__).parents[1] / "src" / "reedbed"
WEB = SOURCES / "web"
LOCALE = WEB / "locale"
TEMPLATES = [("templates/**.html", "jinja2")]
OPTIONS = {"templates/**.html": {"extensions": "jinja2.ext.i18n", "trim_blocks": "true", "silent": "false"}}
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "counted": (2, 3)}
TRANSLATED = {"translate": 1, "marked": 1, "ngettext": 2}
"""The functions that translate texts in `web`, and how many forms of the text each is given."""
ERRORS = {
    **dict.fromkeys(("ReedbedError", "Refused", "Invalid", "NotFound", "Conflict", "Unauthorized", "Forbidden"), 0),
    **dict.fromkeys(("AppPasswordRequired", "CodeRequired", "ConfirmationRequired"), 0),
    **dict.fromkeys(("TooMany", "TooLarge", "Unavailable", "TooSlow", "Problem", "NothingStarred"), 0),
    "spend": 3,
}
"""The errors of the layers below, and which argument of each is the text."""
WITHOUT_TEXT = {FailureCode.UNTRANSLATED, FailureCode.REFUSED}
NOISE = (
    *(b'"Project-Id', b'"Report-', b'"POT-Creation', b'"PO-Revision', b'"Last-', b'"Language-Team'),
    b'"Generated-By',
)
PLACE = re.compile(r"%\(\w+\)[a-z]|%%|%(?!\()|\{\w*\}")
TAG = re.compile(r"</?\w+[^>]*>")
LAYERS_WITH_ERRORS = ("domain", "store", "ingest", "services", "http", "web")


def main() -> int:
    extracted, is_check = extract(), "--check" in sys.argv
    faulty = 0
    for file in [*catalogues(), *map(_begin, sys.argv[2:] if "--new" in sys.argv else ())]:
        known = read(file)
        if not is_check:
            known.update(extracted, no_fuzzy_matching=True)
            known.obsolete.clear()
            write(file, known)
        missing, wrong = list(missing_in(known, extracted)), list(faults_in(known, extracted))
        faulty += len(missing) + len(wrong)
        print(f"{known.locale}: {len(extracted)} texts, {len(missing)} missing, {len(wrong)} wrong")
        for message in missing:
            print(f"  missing: {_shown(message)}")
        for fault in wrong:
            print(f"  wrong: {fault}")
    return 1 if faulty and is_check else 0


def _begin(code: str) -> Path:
    """An empty catalogue, with the plural forms that CLDR has for the language."""
    file = LOCALE / code.replace("-", "_") / "LC_MESSAGES" / "reedbed.po"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        header = f"# {Locale.parse(file.parts[-3]).english_name} texts of Reedbed."
        write(file, Catalog(locale=file.parts[-3], charset="utf-8", header_comment=header, fuzzy=False))
    return file


def _shown(message: Message) -> str:
    """The text with where it stands, which often says what it is: the label of a button, an error, a heading."""
    forms = message.id if isinstance(message.id, tuple) else (message.id,)
    places = ", ".join(sorted({file for file, _ in message.locations}))
    return f"{' | '.join(map(repr, forms))}  ({places})"


def extract() -> Catalog:
    catalogue = Catalog(domain="reedbed", project="Reedbed", charset="utf-8")
    found = extract_from_dir(WEB, TEMPLATES, OPTIONS, keywords=KEYWORDS, strip_comment_tags=True)
    for file, _, message, _, context in found:
        catalogue.add(message, locations=[(f"web/{file}", 0)], context=context)
    for file, message in _in_modules():
        catalogue.add(message, locations=[(file, 0)])
    return catalogue


def catalogues() -> list[Path]:
    return sorted(LOCALE.glob("*/LC_MESSAGES/reedbed.po"))


def read(file: Path) -> Catalog:
    with file.open("rb") as opened:
        return read_po(opened, locale=file.parts[-3], domain="reedbed")


def write(file: Path, catalogue: Catalog) -> None:
    """Leave out what would change with every run or names people."""
    written = BytesIO()
    for message in catalogue:  # else the order is that of the files on this disk
        message.locations.sort()
    write_po(written, catalogue, width=110, include_lineno=False, sort_by_file=True)
    head, _, texts = written.getvalue().partition(b"\n\n")
    kept = [line for line in head.split(b"\n") if not line.startswith(NOISE)]
    file.write_bytes(b"\n".join(kept) + b"\n\n" + texts)


def missing_in(known: Catalog, extracted: Catalog) -> Iterator[Message]:
    for message in extracted:
        if message.id:
            found = known.get(message.id)
            if found is None or found.fuzzy or not all(_forms(found)):
                yield message


def faults_in(known: Catalog, extracted: Catalog) -> Iterator[str]:
    """What is wrong with a catalogue, besides what is missing."""
    proper = Catalog(locale=str(known.locale))
    if known.plural_forms != proper.plural_forms:
        yield f"the header says {known.plural_forms!r}, not {proper.plural_forms!r}"
    for message in known:
        if not message.id:
            continue
        if extracted.get(message.id) is None:
            yield f"stale: {_shown(message)}"
        elif all(_forms(message)):
            yield from (f"{fault}: {_shown(message)}: {_forms(message)}" for fault in _faults_of(message, proper))
    yield from (f"obsolete: {_shown(message)}" for message in known.obsolete.values())


def _faults_of(message: Message, proper: Catalog) -> Iterator[str]:
    source = message.id if isinstance(message.id, str) else message.id[-1]
    forms = _forms(message)
    if len(forms) != (1 if isinstance(message.id, str) else proper.num_plurals):
        yield f"{len(forms)} plural forms"
    for form in forms:
        lacking = _places(source) ^ _places(form)
        if lacking and not (
            isinstance(message.id, tuple) and lacking <= {"%(num)s", "{n}"} and not _extra(source, form)
        ):
            yield "placeholders differ"
        if sorted(TAG.findall(source)) != sorted(TAG.findall(form)):
            yield "tags differ"
        if _ends(source) != _ends(form):
            yield "spaces at an end differ"
        if source.count("\n") != form.count("\n"):
            yield "line breaks differ"


def _forms(message: Message) -> Sequence[str]:
    string = cast(str | Sequence[str] | None, message.string) or ""
    return (string,) if isinstance(string, str) else tuple(string)


def _places(text: str) -> set[str]:
    """Placeholders; `%%` counts as one, and so does a lone percent sign."""
    return set(PLACE.findall(text))


def _extra(source: str, form: str) -> set[str]:
    return _places(form) - _places(source)


def _ends(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _in_modules() -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Read as Python reads them: Babel does not look into the braces of an f-string."""
    for layer in (*LAYERS_WITH_ERRORS, "api"):
        for file in sorted((SOURCES / layer).rglob("*.py")):
            module, name = ast.parse(file.read_text()), str(file.relative_to(SOURCES))
            if layer != "api":  # programs read its errors
                yield from ((name, message) for message in _raised(module))
            yield from ((name, message) for message in _translated(module, of_web=layer == "web"))
    yield from (("domain/failures.py", code.text) for code in FailureCode if code not in WITHOUT_TEXT)


def _translated(module: ast.Module, *, of_web: bool) -> Iterator[str | tuple[str, ...]]:
    for node in ast.walk(module):
        name = _translator(node, of_web=of_web)
        if isinstance(node, ast.Call) and name:
            given = node.args[: TRANSLATED[name]]
            texts = tuple(str(arg.value) for arg in given if isinstance(arg, ast.Constant) and arg.value)
            if len(texts) == TRANSLATED[name]:
                yield texts if len(texts) > 1 else "".join(texts)


def _translator(node: ast.AST, *, of_web: bool) -> str:
    """`translate(…)` in `web`, `texts.translate(…)` in every layer; empty for any other call."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if of_web and name in TRANSLATED:
            return name
        case ast.Call(func=ast.Attribute(attr=name)) if name in ("translate", "ngettext"):
            return name
        case _:
            return ""


def _raised(module: ast.Module) -> Iterator[str]:
    constants = _constants(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
            for text in node.args[ERRORS[node.func.id] :][:1]:
                yield from _texts(text, constants)


def _texts(node: ast.expr, constants: dict[str, str]) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name) if name in constants:
            yield constants[name]
        case ast.IfExp(body=body, orelse=orelse):
            yield from _texts(body, constants)
            yield from _texts(orelse, constants)
        case _:
            pass


def _constants(module: ast.Module) -> dict[str, str]:
    """The texts that the module defines by name, and those that it imports."""
    found: dict[str, str] = {}
    for node in module.body:
        match node:
            case ast.ImportFrom(module=str(path)) if path.startswith("reedbed."):
                defined = _defined(SOURCES.parent.joinpath(*path.split(".")).with_suffix(".py"))
                found |= {
                    alias.asname or alias.name: defined[alias.name] for alias in node.names if alias.name in defined
                }
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                found[name] = text
            case _:
                pass
    return found


@cache
def _defined(file: Path) -> dict[str, str]:
    return _constants(ast.parse(file.read_text())) if file.exists() else {}


if __name__ == "__main__":
    sys.exit(main())

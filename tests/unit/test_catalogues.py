"""Every text of the page is translated in every language there is, and nothing in a catalogue can break a page."""

import ast
import gettext
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from structlog.testing import capture_logs

from reedbed.domain.languages import LANGUAGES, SOURCE
from reedbed.web.i18n import CheckedTranslations, languages
from scripts.conventions import stale_files
from scripts.texts import LOCALE, WEB, catalogues, extract, faults_in, missing_in, read

EXTRACTED = extract()


@pytest.mark.parametrize("file", catalogues(), ids=lambda file: file.parts[-3])
def test_no_text_is_missing(file: Path) -> None:
    assert [message.id for message in missing_in(read(file), EXTRACTED)] == []


@pytest.mark.parametrize("file", catalogues(), ids=lambda file: file.parts[-3])
def test_nothing_in_a_catalogue_is_stale_or_wrong(file: Path) -> None:
    assert list(faults_in(read(file), EXTRACTED)) == []


def test_every_plural_text_stands_where_it_is_found() -> None:
    """A text in a variable would be in no catalogue."""
    for file in sorted(WEB.rglob("*.py")):
        calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Name) and call.func.id == "ngettext":
                assert all(isinstance(text, ast.Constant) for text in call.args[:2]), (file.name, call.lineno)


def test_a_language_is_offered_when_it_has_a_catalogue() -> None:
    written = {file.parts[-3].replace("_", "-") for file in catalogues()}
    assert set(languages()) == {SOURCE, *written}
    assert written <= set(LANGUAGES)


def test_numbers_and_dates_are_as_cldr_has_them() -> None:
    assert stale_files() == [], "run: python -m scripts.conventions"
    assert all((LOCALE / code.replace("-", "_") / "conventions.json").exists() for code in LANGUAGES if code != SOURCE)


def test_the_plural_of_a_text_needs_nothing_that_its_singular_lacks_but_the_number() -> None:
    """Loading a catalogue compares translations with the singular, the only form that a compiled catalogue keeps."""
    for message in EXTRACTED:
        if isinstance(message.id, tuple):
            assert _names(message.id[1]) - _names(message.id[0]) <= {"num"}, message.id


@pytest.mark.parametrize(
    ("message", "translation"),
    [
        ("%(num)s of %(total)s", "%(num)s von %(gesamt)s"),
        ("%(num)s of %(total)s", "%(num)d von %(total)s"),
        ("%(num)s of %(total)s", "%(num von %(total)s"),
        ("%(num)s of %(total)s", "%(num)s von %(total)s zu 100 %"),
        ("Plain", "100 %"),
        (("%(num)s feed", "%(num)s feeds"), ("%(zahl)s Feed", "%(num)s Feeds")),
    ],
)
def test_a_translation_with_wrong_placeholders_is_left_in_english(message, translation) -> None:
    with capture_logs() as logs:
        loaded = _loaded(message, translation)
    singular = message if isinstance(message, str) else message[0]
    assert loaded.gettext(singular) == singular
    if isinstance(message, tuple):
        assert [loaded.ngettext(message[0], message[1], number) for number in (1, 2)] == list(message)
    assert loaded.gettext("Fine %(a)s") == "Gut %(a)s"
    assert [entry["event"] for entry in logs] == ["a translation has wrong placeholders"]


def test_a_translation_may_leave_a_placeholder_out() -> None:
    loaded = _loaded(("%(num)s feed in %(name)s", "%(num)s feeds in %(name)s"), ("Ein Feed", "%(num)s Feeds"))
    assert loaded.ngettext("%(num)s feed in %(name)s", "", 1) == "Ein Feed"


def _loaded(message, translation) -> gettext.NullTranslations:
    written = Catalog(locale="de")
    written.add("Fine %(a)s", "Gut %(a)s")
    written.add(message, translation)
    compiled = BytesIO()
    write_mo(compiled, written)
    compiled.seek(0)
    return CheckedTranslations(compiled)


def _names(text: str) -> set[str]:
    return {part.partition(")")[0] for part in text.split("%(")[1:]}

"""Every failure has a text, in every language, and is given the values that its text needs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reedbed.domain.errors import Conflict
from reedbed.domain.failures import Failure, FailureCode, refused, untranslated
from reedbed.web.i18n import decimal, explain, ngettext, sentence, set_language
from reedbed.web.pages import environment
from reedbed.web.views.layout import Count

SOURCES = Path(__file__).parents[2] / "src" / "reedbed"
PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@pytest.fixture(autouse=True)
def speak_german() -> Iterator[None]:
    set_language("de")
    yield
    set_language("en")


def test_every_code_has_a_text() -> None:
    assert [code for code in FailureCode if not code.text or code != code.name.lower()] == []


def test_every_failure_is_given_what_its_text_needs() -> None:
    calls = list(_failures_made())
    assert len(calls) > 90
    assert [(place, code) for place, code, given in calls if given != _placeholders(code)] == []


def test_every_code_is_used() -> None:
    sources = "\n".join(file.read_text() for file in SOURCES.rglob("*.py") if file != SOURCES / "domain/failures.py")
    made_there = {FailureCode.REFUSED, FailureCode.UNTRANSLATED}
    assert [code for code in FailureCode if f"FailureCode.{code.name}" not in sources and code not in made_there] == []


@pytest.mark.parametrize(
    ("failure", "english", "german"),
    [
        (
            Failure(
                FailureCode.STOPPED_AFTER_FAILURES,
                {"count": 20},
                Failure(FailureCode.CERTIFICATE_INVALID, {"host": "a.test"}, Failure(FailureCode.CERTIFICATE_EXPIRED)),
            ),
            "Stopped after 20 failures in a row. The last one: The certificate of a.test is not valid: expired.",
            "Nach 20 Fehlschlägen in Folge angehalten. "
            "Der letzte: Das Zertifikat von a.test ist nicht gültig: abgelaufen.",
        ),
        (Conflict("There can be at most %(limit)s feeds.", limit=10_000).failure, None, "10\u202f000"),
        (untranslated("Feed no longer available"), "Feed no longer available", "Den Feed gibt es nicht mehr"),
        (untranslated("The server answered 500."), "The server answered 500.", "The server answered 500."),
        (refused("100% of it", {}), "100% of it", "100% of it"),
    ],
)
def test_a_failure_is_explained_in_the_readers_language(failure: Failure, english: str | None, german: str) -> None:
    stored = Failure.load(failure.dump())
    assert stored == failure and hash(stored) == hash(failure)
    assert german in explain(stored)
    assert english is None or stored.message == english


@pytest.mark.parametrize("stored", ["A sentence of version 0.1.", "{}", '{"code":"no_such","params":{}}', "[" * 9999])
def test_what_earlier_versions_stored_is_shown_as_it_is(stored: str) -> None:
    assert Failure.load(stored) == untranslated(stored)


def test_a_fraction_is_written_as_the_language_does() -> None:
    assert decimal(1234.56, 1) == "1\u202f234,6"
    set_language("en")
    assert decimal(83.333, 1) == "83.3"


def test_numbers_are_written_alike_in_plural_texts_and_on_their_own() -> None:
    set_language("en")
    assert ngettext("%(num)s feed", "%(num)s feeds", 5_000) == "5\u202f000 feeds" == f"{Count(5_000)} feeds"
    assert ngettext("%(num)s feed", "%(num)s feeds", 1) == "1 feed"
    template = environment().from_string("{{ ngettext('%(num)s feed', '%(num)s feeds', 5000) }}")
    assert template.render() == "5\u202f000 feeds"


def _placeholders(code: FailureCode) -> set[str]:
    return set(PLACEHOLDER.findall(code.text))


def _failures_made() -> Iterator[tuple[str, FailureCode, set[str]]]:
    """Each `Failure(FailureCode.X, {…}, cause)` in the sources, with the names of its values."""
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Name("Failure"), args=[ast.Attribute(ast.Name("FailureCode"), name), *rest]):
                    params = [arg for arg in rest[:1] if isinstance(arg, ast.Dict)]
                    given = {str(key.value) for arg in params for key in arg.keys if isinstance(key, ast.Constant)}
                    cause = rest[1:] or [keyword for keyword in node.keywords if keyword.arg == "cause"]
                    if rest and not params:
                        given = _placeholders(FailureCode[name]) - {"cause"}  # a variable
                    place = f"{file.relative_to(SOURCES)}:{node.lineno}"
                    yield place, FailureCode[name], given | ({"cause"} if cause else set())
                case _:
                    pass


@pytest.mark.parametrize("language, stop", [("ja", "。"), ("zh-Hans", "。"), ("de", ".")])
def test_a_sentence_ends_with_one_full_stop_of_its_language(language: str, stop: str) -> None:
    set_language(language)
    inner = Failure(FailureCode.CERTIFICATE_INVALID, {"host": "a.test"}, Failure(FailureCode.CERTIFICATE_EXPIRED))
    text = explain(Failure(FailureCode.STOPPED_AFTER_FAILURES, {"count": 20}, inner))
    assert text.endswith(stop) and not text.endswith(2 * stop)
    assert sentence(text) == text and sentence(text.removesuffix(stop)) == text

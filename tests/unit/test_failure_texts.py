"""Messages that the lower layers write about failures have a German text."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from reedbed.web.i18n import decimal, ngettext, set_language, translate_failure
from reedbed.web.pages import environment
from reedbed.web.views.layout import Count

SOURCES = Path(__file__).parents[2] / "src" / "reedbed"
WRITERS = (
    *("http/errors", "http/client", "http/requests", "http/guard", "http/body", "http/headers", "discovery"),
    *("article/extract", "parse/document", "parse/jsonfeed", "parse/prolog", "parse/sandbox"),
)

# For the log, the API or a hub; pages never show them.
NEVER_SHOWN = {
    "The document is not read, because 7.",
    "There can be at most 7 addresses. Revoke one first.",
    "The feed names no hub, so it is checked in its own rhythm.",
    "The hub will be asked within a minute.",
    "The hub sends news as they happen; one check a day makes sure that none is lost.",
    "The hub missed news, so the feed is checked in its own rhythm until it sends some again.",
    "The hub was asked and has not confirmed yet.",
    "Too much is waiting to be read. Send it again a little later.",
}


@pytest.fixture(autouse=True)
def german() -> Iterator[None]:
    set_language("de")
    yield
    set_language("en")


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


@pytest.mark.parametrize("name", WRITERS)
def test_every_sentence_about_a_fetch_can_be_told(name: str) -> None:
    written = list(_sentences(SOURCES / "ingest" / f"{name}.py"))
    assert written
    assert [one for one in written if translate_failure(one) == one and one not in NEVER_SHOWN] == []


@pytest.mark.parametrize(
    "name",
    [
        "ai/openai",
        "services/ai_worker",
        "services/newsletters/senders",
        "services/sign_in",
        "services/summaries",
        "services/websub",
    ],
)
def test_what_a_model_a_list_a_hub_or_a_provider_did_can_be_told(name: str) -> None:
    written = [one.replace("{name}", "Reed ID") for one in _sentences(SOURCES / f"{name}.py")]
    assert written
    assert [one for one in written if translate_failure(one) == one and one not in NEVER_SHOWN] == []


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("example.org refuses connections.", "example.org weist Verbindungen ab."),
        (
            "Stopped after 20 failures in a row. The last one: The server answered 500.",
            "Nach 20 Fehlschlägen in Folge angehalten. Der letzte: Der Server antwortete mit 500.",
        ),
        (
            "Stopped after the first failure. The last one: Authentication required.",
            "Nach dem ersten Fehlschlag angehalten. Der letzte: Anmeldung erforderlich.",
        ),
        (
            "The certificate of example.org is not valid: expired.",
            "Das Zertifikat von example.org ist nicht gültig: abgelaufen.",
        ),
        (
            "The answer could not be unpacked. The compressed data broke off.",
            "Die Antwort ließ sich nicht entpacken. Die gepackten Daten brachen ab.",
        ),
        (
            "The model refuses the key (HTTP 401).",
            "Das Modell nimmt den Schlüssel nicht an (HTTP 401).",
        ),
        (
            "The budget is used up (your daily cost).",
            "Das Budget ist aufgebraucht (deine Kosten am Tag).",
        ),
        ("The hub answered 404.", "Der Hub antwortete mit 404."),
        (
            "Logging in with Reed ID did not work. Try again.",
            "Die Anmeldung mit Reed ID hat nicht geklappt. Versuch es noch einmal.",
        ),
        ("Chrome on Linux", "Chrome unter Linux"),
        ("Unknown device", "Unbekanntes Gerät"),
        ("What depends on what", "What depends on what"),
        ("What nobody has foreseen.", "What nobody has foreseen."),
    ],
)
def test_places_are_filled_and_what_is_within_is_told_as_well(written: str, told: str) -> None:
    assert translate_failure(written) == told


def test_limits_are_grouped_like_other_numbers() -> None:
    assert translate_failure("There can be at most 10000 feeds.").count("10\u202f000") == 1
    set_language("en")
    assert translate_failure("There can be at most 10000 feeds.") == "There can be at most 10\u202f000 feeds."
    assert translate_failure("There can be at most 200 rules.") == "There can be at most 200 rules."


def test_in_english_a_sentence_stays_as_it_was_written() -> None:
    set_language("en")
    assert translate_failure("example.org refuses connections.") == "example.org refuses connections."


def _sentences(file: Path) -> Iterator[str]:
    """Whole sentences in the code, with something in the place of what is filled in."""
    module = ast.parse(file.read_text())
    within = {
        id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    explained = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in within | explained:
            text = str(node.value).replace("{host}", "example.org")
        else:
            continue
        if " " in text.strip() and text[0].isupper() | text[0].isdigit() and text.endswith("."):
            yield text.replace("than 7.", "than 7 MB.")

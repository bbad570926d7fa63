import re
import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.errors import Invalid
from reedbed.domain.patterns import Pattern, compile_pattern, parse_pattern, required_literals

ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\w", r"\s", r"\W", "-", r"\.", "^", "$", r"\b", r"\B", "1"]
)
REPEATS = st.sampled_from(["", "", "*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}", "{2,}"])


def _repeated(atom: str, repeat: str) -> str:
    return atom if atom in ("^", "$", r"\b", r"\B") else atom + repeat


def _patterns(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.builds(_repeated, atoms, REPEATS),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map("|".join).map(lambda parts: f"({parts})"),
            st.builds(lambda part, repeat: f"(?:{part}){repeat}", inner, REPEATS),
        ),
        max_leaves=6,
    )


@given(_patterns(ATOMS), st.text(alphabet="abAC1 -.", min_size=1, max_size=8))
def test_it_agrees_with_the_standard_library(pattern: str, text: str) -> None:
    expected = re.search(pattern, text, re.IGNORECASE) is not None
    assert compile_pattern(pattern).occurs_in(text) is expected


@given(
    _patterns(ATOMS | st.sampled_from(["ä", "ß", "é", "[aÄ]", "[a-ж]", "漢"])),
    st.text(alphabet="aÄß é1Ж漢 -", min_size=1, max_size=8),
)
def test_it_agrees_with_the_standard_library_beyond_ascii(pattern: str, text: str) -> None:
    expected = re.search(pattern, text, re.IGNORECASE) is not None
    assert compile_pattern(pattern).occurs_in(text) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "occurs"),
    [
        ("heron", "The HERON stands", True),
        (r"\bheron\b", "herons", False),
        (r"\bÜbung\b", "Eine übung hier", True),
        (r"\bÜbung\b", "Übungen", False),
        (r"^\[ad\]", "[Ad] buy", True),
        ("(?i)Reed(bed|s)?$", "a reedbed", True),
        ("müll", "MÜLLABFUHR", True),
        (r"v\d+\.\d+", "release V12.3", True),
        ("", "anything", True),
        ("[]x]", "]", True),
        ("[a-]", "-", True),
        ("a{,2}b", "b", True),
        ("a{x", "a{x", True),
    ],
)
def test_what_people_write_works(pattern: str, text: str, occurs: bool) -> None:
    assert compile_pattern(pattern).occurs_in(text) is occurs


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "no end"),
        ("a)", "no beginning"),
        ("*a", "nothing before"),
        ("a**", "follows another"),
        ("a++", "follows another"),
        ("[a", "breaks off"),
        ("[b-a]", "must go up"),
        ("a\\", "breaks off"),
        (r"(a)\1", "back-references"),
        ("(?=a)", "not supported"),
        ("(?P<x>a)", "not supported"),
        ("^*", "edge"),
        ("a{5,2}", "repetitions"),
        ("a{500}", "repetitions"),
        ("((a{100}){100}){100}", "repeats too much"),
        ("(" * 40 + ")" * 40, "nested too deeply"),
        (r"\q", "not known"),
        ("a" * 501, "at most 500"),
    ],
)
def test_what_cannot_work_says_why(pattern: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as refused:
        compile_pattern(pattern)
    assert refused.value.field == "value"


@given(st.text(max_size=40) | st.text(alphabet=r"ab()[]{}|*+?^$\-,12", max_size=30))
def test_anything_compiles_or_is_refused(pattern: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except Invalid:
        return
    compiled.occurs_in("ab()[]{}12")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(a*)*(a*)*(a*)*b", ".*.*.*.*.*x", "(a|b)*a(a|b){60}c", "(.{0,60}a){3}c"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    text = "".join(Random(1).choices("ab", k=20_000)) + "!"
    begun = time.process_time()
    compile_pattern(pattern).occurs_in(text)
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"\bHeron\s+\d+", ("heron",)),
        ("a+(bcd)?xyz.", ("xyz",)),
        ("(?:red|blue) fox", (" fox",)),
        ("reed|sedge", ("reed", "sedge")),
        ("reed|.", ()),
        ("(?:lake){2,}", ("lake",)),
        ("[ab]c?", ()),
        ("", ()),
    ],
)
def test_what_every_match_holds_is_known(pattern: str, texts: tuple[str, ...]) -> None:
    assert required_literals(parse_pattern(pattern)) == texts


@given(st.text(alphabet=r"abC()[]|*+?^$.\\bd1", max_size=12), st.text(alphabet="abcC1 ", max_size=12))
def test_looking_for_it_first_changes_no_answer(pattern: str, text: str) -> None:
    try:
        quick = compile_pattern(pattern)
    except Invalid:
        return
    assert quick.occurs_in(text) == Pattern(quick._states).occurs_in(text)

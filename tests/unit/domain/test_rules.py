import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.rules import (
    Action,
    ActionKind,
    Channel,
    Condition,
    Effects,
    Field,
    Join,
    Operator,
    PlannedNotice,
    Rule,
    Subject,
    apply,
    check_rule,
    matches,
    operator_name,
    read_action,
    read_condition,
    reordered,
)

ENTRY = Subject(
    feed_id=7,
    feed_title="The Pond",
    folders=((3, "Birds"), (2, "Nature")),
    title="A heron in November",
    authors=("Ann Reed", "Bo Marsh"),
    content="It stands in cold water.",
    url="https://pond.example/heron",
    language="de-AT",
)


def rule(*conditions: Condition, do: str = "star", join: Join = Join.ALL, id: int = 1, enabled: bool = True) -> Rule:
    value = {"tag": "bird", "notify": "mail"}.get(do, "")
    return Rule(id, "Rule", conditions, (Action(ActionKind(do), value),), join, enabled)


HERON = read_condition("title", "contains", "HERON")
DUCK = read_condition("title", "contains", "duck")


@pytest.mark.parametrize(
    ("field", "operator", "value", "holds"),
    [
        ("feed", "is", "7", True),
        ("feed", "is", "8", False),
        ("feed", "contains", "pond", True),
        ("folder", "is", "2", True),
        ("folder", "is_not", "2", False),
        ("folder", "contains", "bird", True),
        ("title", "contains", "heron", True),
        ("title", "not_contains", "heron", False),
        ("title", "is", "a heron in november", True),
        ("title", "regex", r"\bNov(ember)?\b", True),
        ("title", "not_regex", "^heron", True),
        ("author", "is", "bo marsh", True),
        ("author", "contains", "reed", True),
        ("content", "contains", "cold water", True),
        ("url", "regex", r"^https://pond\.", True),
        ("language", "is", "de", True),
        ("language", "is", "d", False),
        ("language", "is_not", "en", True),
    ],
)
def test_conditions_look_at_the_entry(field: str, operator: str, value: str, holds: bool) -> None:
    assert matches(rule(read_condition(field, operator, value)), ENTRY) is holds


def test_all_or_any() -> None:
    assert not matches(rule(HERON, DUCK), ENTRY)
    assert matches(rule(HERON, DUCK, join=Join.ANY), ENTRY)
    assert not matches(rule(), ENTRY)
    assert not matches(rule(join=Join.ANY), ENTRY)


def test_effects_add_up_in_order() -> None:
    rules = [
        rule(HERON, do="star", id=1),
        rule(DUCK, do="mark_read", id=2),
        rule(HERON, do="tag", id=3),
        rule(HERON, do="tag", id=4),
        rule(HERON, do="notify", id=5),
        rule(HERON, do="later", id=6, enabled=False),
    ]
    assert apply(rules, ENTRY) == Effects(
        starred=True, tags=("bird",), notify=(PlannedNotice(5, Channel.MAIL),), matched=(1, 3, 4, 5)
    )


def test_nothing_is_asked_after_a_mute() -> None:
    effects = apply([rule(HERON, do="mute", id=1), rule(HERON, do="notify", id=2)], ENTRY)
    assert (effects.muted, effects.notify, effects.matched) == (True, (), (1,))


@pytest.mark.parametrize(
    ("field", "operator", "value", "wrong"),
    [
        ("colour", "is", "red", "field"),
        ("title", "likes", "red", "operator"),
        ("title", "contains", "  ", "value"),
        ("title", "contains", "x" * 501, "value"),
        ("title", "regex", "(a", "value"),
        ("feed", "is", "The Pond", "value"),
    ],
)
def test_wrong_conditions_name_their_field(field: str, operator: str, value: str, wrong: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_condition(field, operator, value)
    assert refused.value.field == wrong


@pytest.mark.parametrize(
    ("kind", "value", "wrong"),
    [("explode", "", "action"), ("tag", " ", "value"), ("notify", "pigeon", "value"), ("notify", "webhook", "url")],
)
def test_wrong_actions_name_their_field(kind: str, value: str, wrong: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_action(kind, value)
    assert refused.value.field == wrong


def test_a_rule_is_tidied_as_a_whole() -> None:
    condition = Condition(Field.TITLE, Operator.CONTAINS, " heron ")
    name, join, conditions, actions = check_rule(" Birds ", "any", [condition], [Action(ActionKind.STAR, "x")])
    assert (name, join, conditions[0].value, actions) == ("Birds", Join.ANY, "heron", (Action(ActionKind.STAR),))


@pytest.mark.parametrize(
    ("name", "join", "conditions", "actions", "wrong"),
    [
        ("", "all", 1, 1, "name"),
        ("x" * 101, "all", 1, 1, "name"),
        ("x", "some", 1, 1, "match"),
        ("x", "all", 0, 1, "conditions"),
        ("x", "all", 21, 1, "conditions"),
        ("x", "all", 1, 0, "actions"),
        ("x", "all", 1, 11, "actions"),
    ],
)
def test_a_rule_has_a_name_conditions_and_actions(
    name: str, join: str, conditions: int, actions: int, wrong: str
) -> None:
    with pytest.raises(Invalid) as refused:
        check_rule(name, join, [HERON] * conditions, [Action(ActionKind.STAR)] * actions)
    assert refused.value.field == wrong


@pytest.mark.parametrize("word", ["contains", "not_contains", "regex", "not_regex", "is", "is_not"])
def test_the_words_of_an_operator_survive_the_way_there_and_back(word: str) -> None:
    assert operator_name(read_condition("title", word, "x")) == word


@pytest.mark.parametrize("url", ["", "ftp://example.org", "javascript:alert(1)", "https://", "x" * 3_000])
def test_a_webhook_needs_a_web_address(url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_action("notify", "webhook", url)
    assert refusal.value.field == "url"


def test_only_a_webhook_keeps_an_address() -> None:
    assert read_action("notify", "webhook", " https://hook.example/x ").url == "https://hook.example/x"
    assert read_action("notify", "mail", "https://hook.example/x").url == ""


def test_an_order_names_every_rule_once() -> None:
    assert reordered([1, 2, 3], [3, 1, 2]) == {3: 0, 1: 1, 2: 2}
    for wrong in ([3, 1], [3, 1, 2, 2], [3, 1, 4]):
        with pytest.raises(Invalid):
            reordered([1, 2, 3], wrong)

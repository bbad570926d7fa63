"""`reedbed admin user`, as an operator types it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reedbed.cli.main import admin
from reedbed.domain.errors import Conflict, Invalid, NotFound


@pytest.fixture
def type_in(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("REEDBED_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("REEDBED_BASE_URL", "https://reader.example")
    monkeypatch.setenv("REEDBED_REGISTRATION", "invite")
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(admin, ["user", *words], input=stdin)

    return run


def test_a_user_is_added_listed_and_deleted(type_in) -> None:
    made = type_in("add", "Owner@example.org", "--role", "owner", "--password-stdin", stdin="seven herons here\n")
    assert made.exit_code == 0, made.output
    assert "owner@example.org" in made.output and "link" not in made.output
    invited = json.loads(type_in("add", "reader@example.org", "--json").stdout)
    assert invited[0]["link"].startswith("https://reader.example/reset/")

    listed = json.loads(type_in("list", "--json").stdout)
    assert [(user["email"], user["role"], user["feeds"]) for user in listed] == [
        ("owner@example.org", "owner", 0),
        ("reader@example.org", "user", 0),
    ]
    table = type_in("list").stdout.splitlines()
    assert table[0].split()[:3] == ["id", "email", "role"] and len(table) == 3

    assert type_in("delete", "reader@example.org", stdin="n\n").exit_code == 1
    assert type_in("delete", "reader@example.org", "--yes").exit_code == 0
    assert len(json.loads(type_in("list", "--json").stdout)) == 1


def test_nobody_is_asked_about_deleting_an_account_that_is_not_there(type_in) -> None:
    nobody = type_in("delete", "nobody@example.org", stdin="y\n")
    assert nobody.exit_code != 0 and "Delete" not in nobody.output


def test_a_user_is_disabled_enabled_and_given_a_role(type_in) -> None:
    type_in("add", "reader@example.org")

    assert json.loads(type_in("disable", "reader@example.org", "--json").stdout)[0]["disabled"] is True
    assert json.loads(type_in("enable", "reader@example.org", "--json").stdout)[0]["disabled"] is False
    changed = json.loads(type_in("set-role", "reader@example.org", "admin", "--json").stdout)
    assert changed[0]["role"] == "admin"


def test_links_are_printed_for_the_operator_to_hand_over(type_in) -> None:
    type_in("add", "reader@example.org")

    assert type_in("reset-link", "reader@example.org").stdout.startswith("https://reader.example/reset/")
    invite = type_in("invite", "friend@example.org").stdout
    assert invite.startswith("https://reader.example/register?invite=")


def test_trouble_is_an_error_of_ours_which_the_root_command_says_in_a_sentence(type_in) -> None:
    assert isinstance(type_in("reset-link", "nobody@example.org").exception, NotFound)
    assert isinstance(type_in("add", "nobody").exception, Invalid)
    type_in("add", "reader@example.org")
    assert isinstance(type_in("add", "reader@example.org").exception, Conflict)

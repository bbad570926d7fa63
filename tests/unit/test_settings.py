"""A wrong setting stops the start with a sentence that says what to write instead."""

from pathlib import Path

import pytest

from reedbed.domain.errors import CannotStart
from reedbed.settings import Settings, load, unknown_settings

PRICES = {"ai_price_input": 0.5, "ai_price_output": 1.5}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no .env


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mail_domain": "https://in.example.org"}, "the name of a domain alone, such as in.example.org"),
        ({"mail_ses_topics": "mails"}, "such as arn:aws:sns:eu-west-1:123456789012:mail"),
        ({"summary_language": "German"}, "the code of a language, such as en or pt-BR"),
        ({"ai_daily_cost": 5}, "REEDBED_AI_DAILY_COST needs REEDBED_AI_PRICE_INPUT"),
        ({"ai_monthly_cost": 5}, "REEDBED_AI_MONTHLY_COST needs REEDBED_AI_PRICE_INPUT"),
        ({"ai_user_daily_cost": 0}, "REEDBED_AI_USER_DAILY_COST needs REEDBED_AI_PRICE_INPUT"),
        ({"ai_provider": "openai"}, "needs REEDBED_AI_BASE_URL and REEDBED_AI_MODEL"),
        ({"mail_webhook_token": "short"}, "at least 20 characters"),
        (
            {"summary_lock_timeout_seconds": 60, "ai_timeout": 90},
            "REEDBED_SUMMARY_LOCK_TIMEOUT_SECONDS must be longer than REEDBED_AI_TIMEOUT",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_explained(given: dict[str, object], said: str) -> None:
    with pytest.raises(CannotStart) as stopped:
        load(given)
    assert said in str(stopped.value)
    assert "pattern" not in str(stopped.value)


@pytest.mark.parametrize(
    "given",
    [
        {"ai_daily_cost": 5, **PRICES},
        {"mail_domain": "in.example.org", "summary_language": "pt-BR"},
        {"mail_ses_topics": "arn:aws:sns:eu-west-1:123456789012:mail, arn:aws-cn:sns:cn-north-1:1:news.fifo"},
    ],
    ids=["cost", "mail", "topics"],
)
def test_a_right_one_is_taken(given: dict[str, object]) -> None:
    assert load(given)


def test_an_unknown_setting_is_named_with_the_nearest_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REEDBED_PROT", "9")
    monkeypatch.setenv("reedbed_port", "9")  # case does not matter
    monkeypatch.setenv("OTHER_PROT", "9")
    (tmp_path / ".env").write_text("REEDBED_FETCH_TIMOUT=9\nREEDBED_HOST=127.0.0.1\nREEDBED_WORKERS=1\n")
    assert unknown_settings() == [
        "REEDBED_FETCH_TIMOUT is not a setting and is ignored. Did you mean REEDBED_FETCH_TIMEOUT?",
        "REEDBED_PROT is not a setting and is ignored. Did you mean REEDBED_PORT?",
        "REEDBED_WORKERS is not a setting and is ignored. See docs/settings.md for the names.",
    ]


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_no_setting_is_unknown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"REEDBED_{name.upper()}", "x")
    assert unknown_settings() == []

"""Redis has time to answer: who waits a second in vain counts and tells for itself, as other tests show."""

import pytest

from reedbed.events import redis


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "ANSWER_SECONDS", 30.0)

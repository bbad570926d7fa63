"""The nightly copy is made once a day, and its failure is told."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from reedbed.domain.instance import BackupPolicy
from reedbed.domain.times import DAY
from reedbed.services.instance import BACKUP_WARNING as WARNING
from reedbed.services.instance import back_up_when_due
from reedbed.store import instance
from tests.harness import RuntimeHarness, open_harness


@pytest.fixture
async def harness(sqlite_url: str, tmp_path: Path) -> AsyncIterator[RuntimeHarness]:
    async with open_harness(sqlite_url) as harness:
        policy = BackupPolicy(sqlite_url.removeprefix("sqlite:///"), str(tmp_path / "copies"), kept=2)
        harness.runtime = replace(harness.runtime, backups=policy)
        yield harness


async def warning(harness: RuntimeHarness) -> str | None:
    async with harness.runtime.db.read() as tx:
        return await instance.get_setting(tx, WARNING)


async def test_a_copy_is_made_once_a_day(harness: RuntimeHarness, tmp_path: Path) -> None:
    made = [await _a_day_later(harness) for _ in range(3)]
    made = [copy for copy in made if copy]
    assert len(made) >= 2
    assert await back_up_when_due(harness.runtime) is None
    assert made[-1].exists() and made[-2].exists()
    assert await warning(harness) == ""


async def test_a_clock_that_was_wrong_for_a_night_does_not_end_the_copies(harness: RuntimeHarness) -> None:
    assert await _a_day_later(harness)
    harness.clock.ahead += 3650 * DAY
    assert await _a_day_later(harness)
    harness.clock.ahead -= 3650 * DAY
    made = [await _a_day_later(harness) for _ in range(2)]
    assert all(made)
    assert made[-1] is not None and made[-1].exists()


async def test_a_server_that_is_never_on_at_night_makes_copies_too(harness: RuntimeHarness) -> None:
    """On from ten to eleven each day, long after the hour of the copies."""
    now = datetime.fromtimestamp(harness.runtime.now() / 1000).astimezone()
    keeping = replace(harness.runtime.keeping, hour=(now.hour - 7) % 24)
    runtime = replace(harness.runtime, keeping=keeping)
    made: list[bool] = []
    for _ in range(3):
        made += [await back_up_when_due(runtime) is not None for _ in range(2)]
        harness.clock.ahead += DAY
    assert made == [False, False, True, False, True, False]


async def test_a_copy_that_fails_is_told(harness: RuntimeHarness, tmp_path: Path) -> None:
    (tmp_path / "copies").write_text("a file where the folder should be")
    harness.runtime = replace(
        harness.runtime,
        backups=BackupPolicy(harness.runtime.backups.file, str(tmp_path / "copies" / "inner")),
        keeping=replace(harness.runtime.keeping, hour=_hour(harness)),
    )
    assert await back_up_when_due(harness.runtime) is None
    assert "cannot be written" in (await warning(harness) or "")


async def _a_day_later(harness: RuntimeHarness) -> Path | None:
    harness.clock.ahead += DAY
    keeping = replace(harness.runtime.keeping, hour=_hour(harness))
    return await back_up_when_due(replace(harness.runtime, keeping=keeping))


def _hour(harness: RuntimeHarness) -> int:
    return datetime.fromtimestamp(harness.runtime.now() / 1000).astimezone().hour

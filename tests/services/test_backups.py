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
from tests.crawling import Crawl, crawl_on


@pytest.fixture
async def crawl(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Crawl]:
    async with crawl_on(sqlite_url) as crawl:
        policy = BackupPolicy(sqlite_url.removeprefix("sqlite:///"), str(tmp_path / "copies"), kept=2)
        crawl.runtime = replace(crawl.runtime, backups=policy)
        yield crawl


async def warning(crawl: Crawl) -> str | None:
    async with crawl.runtime.db.read() as tx:
        return await instance.get_setting(tx, WARNING)


async def test_a_copy_is_made_once_a_day(crawl: Crawl, tmp_path: Path) -> None:
    made = [await _a_day_later(crawl) for _ in range(3)]
    made = [copy for copy in made if copy]
    assert len(made) >= 2
    assert await back_up_when_due(crawl.runtime) is None
    assert made[-1].exists() and made[-2].exists()
    assert await warning(crawl) == ""


async def test_a_clock_that_was_wrong_for_a_night_does_not_end_the_copies(crawl: Crawl) -> None:
    assert await _a_day_later(crawl)
    crawl.clock.ahead += 3650 * DAY
    assert await _a_day_later(crawl)
    crawl.clock.ahead -= 3650 * DAY
    made = [await _a_day_later(crawl) for _ in range(2)]
    assert all(made)
    assert made[-1] is not None and made[-1].exists()


async def test_a_server_that_is_never_on_at_night_makes_copies_too(crawl: Crawl) -> None:
    """On from ten to eleven each day, long after the hour of the copies."""
    now = datetime.fromtimestamp(crawl.runtime.now() / 1000).astimezone()
    keeping = replace(crawl.runtime.keeping, hour=(now.hour - 7) % 24)
    runtime = replace(crawl.runtime, keeping=keeping)
    made: list[bool] = []
    for _ in range(3):
        made += [await back_up_when_due(runtime) is not None for _ in range(2)]
        crawl.clock.ahead += DAY
    assert made == [False, False, True, False, True, False]


async def test_a_copy_that_fails_is_told(crawl: Crawl, tmp_path: Path) -> None:
    (tmp_path / "copies").write_text("a file where the folder should be")
    crawl.runtime = replace(
        crawl.runtime,
        backups=BackupPolicy(crawl.runtime.backups.file, str(tmp_path / "copies" / "inner")),
        keeping=replace(crawl.runtime.keeping, hour=_hour(crawl)),
    )
    assert await back_up_when_due(crawl.runtime) is None
    assert "cannot be written" in (await warning(crawl) or "")


async def _a_day_later(crawl: Crawl) -> Path | None:
    crawl.clock.ahead += DAY
    keeping = replace(crawl.runtime.keeping, hour=_hour(crawl))
    return await back_up_when_due(replace(crawl.runtime, keeping=keeping))


def _hour(crawl: Crawl) -> int:
    return datetime.fromtimestamp(crawl.runtime.now() / 1000).astimezone().hour

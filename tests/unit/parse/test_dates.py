from datetime import UTC, datetime

import pytest

from reedbed.ingest.parse.dates import instant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024-05-01T08:00:00Z", (2024, 5, 1, 8)),
        ("2024-05-01T08:00:00+02:00", (2024, 5, 1, 6)),
        ("2024-05-01T08:00:00-0800", (2024, 5, 1, 16)),
        ("2024-05-01 08:00:00", (2024, 5, 1, 8)),
        ("2024-05-01 08:00:00 +0000", (2024, 5, 1, 8)),
        ("2024-05-01T08:00:00.1234567+00:0", (2024, 5, 1, 8)),
        ("2024/5/1 8:00", (2024, 5, 1, 8)),
        ("2024-05-01", (2024, 5, 1)),
        ("2024-05", (2024, 5, 1)),
        ("2024", (2024, 1, 1)),
        ("20240501", (2024, 5, 1)),
        ("Wed, 01 May 2024 08:00:00 GMT", (2024, 5, 1, 8)),
        ("Wed, 01 May 2024 08:00:00 +0200", (2024, 5, 1, 6)),
        ("Wed, 1 May 2024 08:00 EDT", (2024, 5, 1, 12)),
        ("Wednesday, 01 May 2024 08:00:00 Z", (2024, 5, 1, 8)),
        ("1 May 24 08:00:00 PST", (2024, 5, 1, 16)),
        ("01-May-2024 08:00:00", (2024, 5, 1, 8)),
        ("Wed, 01 May 2024", (2024, 5, 1)),
        ("Wed, 01 May 2024 24:00:00 GMT", (2024, 5, 2)),
        ("mer, 01 mag 2024 08:00:00 +0100", (2024, 5, 1, 7)),
        ("Mi, 01 Mai 2024 08:00:00 MESZ", (2024, 5, 1, 6)),
        ("Wed, May 1 2024 02:02:33 PM", (2024, 5, 1, 14, 2, 33)),
        ("Wed May  1 08:00:00 2024", (2024, 5, 1, 8)),
        ("May 1, 2024", (2024, 5, 1)),
        ("01 May 2024 11:30 PM", (2024, 5, 1, 23, 30)),
        ("Wed, 01 May 2024 08:00:00 GMT+02:00", (2024, 5, 1, 6)),
    ],
)
def test_a_date_is_understood_however_it_is_written(written: str, meant: tuple[int, ...]) -> None:
    moment = datetime(*meant, tzinfo=UTC)  # pyright: ignore[reportArgumentType] - year, month, day and so on
    found = instant(written)
    assert found is not None
    assert found // 1000 == moment.timestamp()


@pytest.mark.parametrize(
    "written",
    ["", "   ", "yesterday", "0001-01-01T00:00:00Z", "99999-01-01", "2024-13-40", "32 May 2024 00:00:00 GMT",
     "9999-12-31T23:59:59-23:59", "1" * 5000, "12:30", "Mon, 00 xxx 0000 00:00:00"],
)  # fmt: skip
def test_what_is_no_moment_is_none(written: str) -> None:
    assert instant(written) is None

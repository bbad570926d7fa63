"""Names of Google Reader: ids, streams, moments, continuations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow
from reedbed.domain.reader_apps import (
    MAX_ID,
    FeedStream,
    LabelStream,
    StateStream,
    decode_continuation,
    encode_continuation,
    labels_of,
    long_id,
    parse_item_id,
    parse_mark_until,
    parse_newest,
    parse_oldest,
    parse_stream,
    stream_name,
)

NOW = 1_800_000_000_123


@given(st.integers(1, MAX_ID))
def test_every_id_comes_back_from_every_form(number: int) -> None:
    assert parse_item_id(long_id(number)) == number
    assert parse_item_id(long_id(number).replace("/" + "0" * (16 - len(f"{number:x}")), "/")) == number
    assert parse_item_id(f"{number:016x}") == number
    assert parse_item_id(f"-/{number:x}") == number
    if len(str(number)) != 16:
        assert parse_item_id(str(number)) == number


@given(st.text())
def test_no_text_breaks_the_reading_of_ids_and_streams(text: str) -> None:
    found = parse_item_id(text)
    assert found is None or 0 < found <= MAX_ID
    stream = parse_stream(text)
    assert stream is None or parse_stream(stream_name(stream)) == stream


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("user/-/state/com.google/read", StateStream("read")),
        ("user/12345/state/com.google/starred", StateStream("starred")),
        ("user/-/label/A/B & C", LabelStream("A/B & C")),
        ("feed/12", FeedStream(12, "")),
        ("feed/feed/12", FeedStream(12, "")),
        ("feed/http://x.example/a?b=c", FeedStream(None, "http://x.example/a?b=c")),
        ("feed/https:/x.example/a", FeedStream(None, "https://x.example/a")),
        ("user/-/state/com.google/everything", None),
        ("user/-/label/", None),
        ("label/x", None),
        ("feed/0", None),
    ],
)
def test_streams_are_told_apart(text: str, stream: object) -> None:
    assert parse_stream(text) == stream


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("", NOW),
        ("0", NOW),
        ("1700000000", 1_700_000_000_999),
        ("1700000000123", 1_700_000_000_123),
        ("1700000000123456", 1_700_000_000_123),
        ("1700000000123456789", 1_700_000_000_123),
    ],
)
def test_a_moment_to_mark_by_is_read_in_every_unit(text: str, until: int) -> None:
    assert parse_mark_until(text, NOW) == until


def test_seconds_may_have_a_fraction_and_must_be_numbers() -> None:
    assert parse_oldest("1700000000.123") == parse_newest("1700000000.123") == 1_700_000_000_123
    assert parse_oldest(" ") is None and parse_newest("") is None
    for wrong in ("x", "nan", "inf", "1e999"):
        for read in (parse_oldest, parse_newest):
            with pytest.raises(Invalid):
                read(wrong)


def test_a_whole_second_begins_with_its_first_moment_and_ends_with_its_last() -> None:
    assert parse_oldest("1700000000") == 1_700_000_000_000
    assert parse_newest("1700000000") == 1_700_000_000_999


def test_a_continuation_says_where_and_which_way() -> None:
    assert decode_continuation(encode_continuation(5, "oldest")) == (5, "oldest")
    assert decode_continuation(encode_continuation(5, "newest")) == (5, "newest")
    assert decode_continuation("5") == (5, None)


def test_labels_are_paths_and_a_circle_of_folders_ends() -> None:
    labels = labels_of([FolderRow(1, None, "A"), FolderRow(2, 1, "B"), FolderRow(3, 4, "C"), FolderRow(4, 3, "D")])
    assert labels.folders == {1: "A", 2: "A/B", 3: "D/C", 4: "C/D"}
    assert (labels.folder_ids("A/B"), labels.folder_ids("B"), labels.folder_ids("X")) == ([2], [2], [])

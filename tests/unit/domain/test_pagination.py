import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.errors import Invalid
from reedbed.domain.pagination import Cursor, Order, decode_cursor, encode_cursor, page_limit
from reedbed.domain.times import EARLIEST, LATEST

ORDERS = st.sampled_from(["newest", "oldest"])


@given(st.integers(EARLIEST, LATEST), st.integers(0, 2**53), ORDERS, st.text())
def test_a_cursor_comes_back_as_it_was(sort_at: int, id: int, order: Order, view: str) -> None:
    assert decode_cursor(encode_cursor(sort_at, id, order, view), order, view) == Cursor(sort_at, id)


@given(st.text())
def test_nonsense_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        decode_cursor(text, "newest", "unread")
    assert refused.value.message == "This cursor is not valid any more. Start again from the first page."
    assert refused.value.field == "cursor"


@given(st.integers(2**63, 2**64 - 1))
def test_a_cursor_at_a_row_no_database_can_have_is_refused(id: int) -> None:
    with pytest.raises(Invalid):
        decode_cursor(encode_cursor(1, id, "newest", "unread"), "newest", "unread")


def test_a_cursor_of_another_list_or_order_is_refused() -> None:
    cursor = encode_cursor(1, 2, "newest", "unread")
    for order, view in (("newest", "starred"), ("oldest", "unread")):
        with pytest.raises(Invalid):
            decode_cursor(cursor, order, view)


def test_a_cursor_fits_in_an_address() -> None:
    assert encode_cursor(LATEST, 2**53, "oldest", "unread").replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(("wanted", "limit"), [(None, 50), ("1", 1), ("200", 200), (" 7 ", 7)])
def test_limits_are_read(wanted: str | None, limit: int) -> None:
    assert page_limit(wanted) == limit


@pytest.mark.parametrize("wanted", ["0", "-1", "201", "many", "1.5", "", "٣", "9" * 5000])
def test_limits_have_limits(wanted: str) -> None:
    with pytest.raises(Invalid) as refused:
        page_limit(wanted)
    assert refused.value.field == "limit"

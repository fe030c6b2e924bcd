import base64
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.api.http.paging import Cursor, decode, page
from siftline.api.http.problems import ProblemError

_TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))])).filter(
    lambda time: 1900 < time.year < 9000
)


@given(_TIMES, st.uuids())
def test_a_cursor_comes_back_as_it_was_and_needs_no_escaping(at: datetime, row_id: UUID) -> None:
    word = Cursor(at, row_id).encode()
    assert decode(word) == Cursor(at.astimezone(UTC), row_id)
    assert word.replace("-", "").replace("_", "").isalnum()
    assert len(word) <= 256


def test_no_cursor_is_the_beginning() -> None:
    assert decode(None) is None


@given(st.text())
def test_anything_else_is_refused(word: str) -> None:
    with pytest.raises(ProblemError) as caught:
        decode(word)
    assert (caught.value.status, caught.value.code) == (422, "invalid_cursor")


@pytest.mark.parametrize(
    "text", ['["2026-01-01T00:00:00","00000000000000000000000000000000"]', "[]", "{}", "null", "[1,2]", '["x","y"]']
)
def test_a_made_up_cursor_is_refused(text: str) -> None:
    with pytest.raises(ProblemError):
        decode(base64.urlsafe_b64encode(text.encode()).decode().rstrip("="))


def test_the_last_page_has_no_next() -> None:
    rows = [Cursor(datetime(2026, 1, day, tzinfo=UTC), UUID(int=day)) for day in (3, 2, 1)]
    assert page(rows, 3, Cursor.encode) == (rows, None)
    shown, following = page(rows, 2, Cursor.encode)
    assert shown == rows[:2]
    assert decode(following) == rows[1]

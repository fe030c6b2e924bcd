"""One bad row keeps no other from being worked on, and what is no row's fault is raised."""

import math
import struct
from collections.abc import Sequence
from uuid import UUID

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.jobs.set_aside import UnusableRowError, checked, sifted
from siftline.kit.db import DatabaseUnavailableError
from siftline.kit.errors import PermanentError, TransientError
from siftline.models.unit_vector import UnusableVectorError, stored_vector, usual_dimensions
from siftline.text.stored_scores import topic_scores


def row_id(row: int) -> UUID:
    return UUID(int=row)


@given(st.lists(st.integers(0, 10_000), unique=True, max_size=120), st.data())
def test_the_rows_that_fail_alone_are_set_aside_and_the_work_is_done_on_the_others(rows, data):
    bad = set(data.draw(st.lists(st.sampled_from(rows), unique=True)) if rows else [])

    def work(given: Sequence[int]) -> int:
        if bad.intersection(given):
            raise ZeroDivisionError
        return sum(given)

    found = sifted(rows, work, row_id=row_id, kind="content")

    good = [row for row in rows if row not in bad]
    assert (found.result, list(found.used)) == (sum(good), good)
    assert {one.row_id for one in found.aside} == {row_id(row) for row in bad}
    assert {(one.kind, one.code) for one in found.aside} <= {("content", "unusable_row")}


def test_a_few_bad_rows_among_many_are_found_in_a_few_tries():
    tries = []

    def work(given: Sequence[int]) -> None:
        tries.append(len(given))
        if 777 in given:
            raise OverflowError

    found = sifted(range(1_024), work, row_id=row_id, kind="content")
    assert [one.row_id for one in found.aside] == [row_id(777)]
    assert len(tries) <= 2 * 11 + 2


def test_a_fault_that_no_row_shows_alone_is_raised():
    def work(given: Sequence[int]) -> None:
        if len(given) > 1:
            raise KeyError("together")

    with pytest.raises(KeyError, match="together"):
        sifted([1, 2], work, row_id=row_id, kind="content")


@pytest.mark.parametrize(
    "error",
    [
        DatabaseUnavailableError("away"),
        TransientError("later"),
        PermanentError("never"),
        psycopg.OperationalError("gone"),
    ],
)
def test_what_is_no_rows_fault_is_raised_at_once(error):
    def work(_: object) -> None:
        raise error

    with pytest.raises(type(error)):
        sifted([1, 2], work, row_id=row_id, kind="content")
    with pytest.raises(type(error)):
        checked([1, 2], work, row_id=row_id, kind="content")


def test_the_reason_of_a_row_is_told_and_nothing_that_a_person_wrote():
    def check(row: int) -> None:
        if row == 1:
            raise UnusableRowError("Its topics are none.")
        if row == 2:
            raise ValueError("the secret in the row")

    good, aside = checked([1, 2, 3], check, row_id=row_id, kind="content", mark=str)
    assert good == [3]
    assert [(one.code, one.detail, one.mark) for one in aside] == [
        ("unusable_row", "Its topics are none.", "1"),
        ("unusable_row", "Processing it failed: ValueError.", "2"),
    ]


@given(st.lists(st.floats(width=32), min_size=1, max_size=6))
def test_a_stored_vector_is_one_to_compute_with_or_none(numbers):
    raw = struct.pack(f"<{len(numbers)}f", *numbers)
    try:
        vector = stored_vector(raw, len(numbers))
    except UnusableVectorError:
        return
    assert 0 < float((vector.astype("f8") ** 2).sum()) < 1e13


def test_vectors_of_another_size_are_told_from_the_many():
    assert usual_dimensions([bytes(16), bytes(16), bytes(4)]) == 4
    assert usual_dimensions([]) == 1
    with pytest.raises(UnusableVectorError, match="1 dimensions instead of 4"):
        stored_vector(bytes(4), 4)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["topic", "score", "x"]), inner),
        max_leaves=12,
    )
)
def test_whatever_is_stored_as_topics_what_is_read_of_it_is_topics(stored):
    for one in topic_scores(stored):
        assert isinstance(one["topic"], str)
        assert math.isfinite(one["score"])

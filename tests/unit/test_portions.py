"""What a worker holds of the documents to be written, and when it reads the next."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.opensearch import portions
from shared.opensearch.portions import Sized
from shared.uuid7 import uuid7

SIZES = st.integers(0, 2 * portions.MOST_BYTES)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b"]), SIZES), max_size=40)


@given(ROWS, st.integers(1, 9))
def test_a_portion_is_of_one_facility_and_never_more_than_may_be_held(found, most):
    rows = [Sized(uuid7(), tenant, size) for tenant, size in found]
    of = {row.id: row for row in rows}

    cut = list(portions.cut(rows, most=most))

    assert sorted(one for _, ids in cut for one in ids) == sorted(of)
    for tenant, ids in cut:
        assert {of[one].tenant for one in ids} == {tenant}
        assert 1 <= len(ids) <= most
        whole = sum(of[one].size for one in ids)
        assert whole <= portions.MOST_BYTES or len(ids) == 1


def test_the_next_portion_is_read_while_the_one_before_is_written():
    is_read = threading.Event()

    def read() -> Iterator[int]:
        yield 1
        is_read.set()
        yield 2

    taken = []
    with closing(portions.ahead(read())) as coming:
        for one in coming:
            assert is_read.wait(10)
            taken.append(one)
    assert taken == [1, 2]


def test_a_portion_that_cannot_be_read_is_the_readers_failure():
    def read() -> Iterator[int]:
        yield 1
        raise ValueError("not this one")

    taken: list[int] = []
    with (
        pytest.raises(ValueError, match="not this one"),
        closing(portions.ahead(read())) as coming,
    ):
        taken.extend(coming)
    assert taken == [1]

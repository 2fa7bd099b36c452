"""What a source remembers is saved with a page, or not at all."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.sources.adapter_memory import AT_A_LOOK, StoredMemory


class Shelf:
    """What is stored, as a table gives it: some rows from a key on."""

    def __init__(self, values: Mapping[str, Any], order=sorted) -> None:
        self.values = dict(values)
        self.order = order
        self.looks = 0

    def look(self, key: str) -> dict[str, Any]:
        self.looks += 1
        keys = self.order(self.values)
        first = next((n for n, one in enumerate(keys) if one >= key), len(keys))
        return {one: self.values[one] for one in keys[first : first + AT_A_LOOK]}


def test_what_was_put_is_seen_at_once_and_handed_over_once():
    memory = StoredMemory(Shelf({"a": {"etag": "1"}, "b": 2}).look)
    memory.put("a", {"etag": "2"})
    memory.put("b", None)
    assert memory.get("a") == {"etag": "2"}
    assert memory.get("b") is None
    assert memory.take_changes() == {"a": {"etag": "2"}, "b": None}
    assert memory.take_changes() == {}
    assert memory.get("a") == {"etag": "2"}


def test_what_a_failed_page_put_is_forgotten():
    memory = StoredMemory(Shelf({"a": 1}).look)
    memory.put("a", 2)
    memory.discard_changes()
    assert memory.get("a") == 1
    assert memory.take_changes() == {}


def test_a_value_is_the_one_that_was_put_whatever_becomes_of_it_later():
    memory = StoredMemory()
    value = {"offset": 1}
    memory.put("file", value)
    value["offset"] = 2
    assert memory.get("file") == {"offset": 1}


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", float("nan")])
def test_what_is_no_json_fails_where_it_is_put(value):
    with pytest.raises((TypeError, ValueError)):
        StoredMemory().put("a", value)


def test_neighbours_are_found_at_one_look_and_what_is_not_there_at_none():
    shelf = Shelf({f"file:{n:04}": n for n in range(0, 4 * AT_A_LOOK, 2)})
    memory = StoredMemory(shelf.look)

    found = [memory.get(f"file:{n:04}") for n in range(4 * AT_A_LOOK)]

    assert found == [None if n % 2 else n for n in range(4 * AT_A_LOOK)]
    assert shelf.looks == 3
    assert [memory.get(f"new:{n}") for n in range(9)] == [None] * 9
    assert shelf.looks == 3


KEYS = st.sampled_from(["a", "b", "ba", "c:1", "c:10", "c:2", "\0", "\ud800", "\u00e4"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["get", "put", "forget", "keep", "fail"]), KEYS)
)


@given(
    stored=st.dictionaries(KEYS, st.integers()),
    steps=STEPS,
    order=st.sampled_from([sorted, lambda keys: sorted(keys, reverse=True)]),
)
def test_it_is_what_a_table_read_whole_would_be(stored, steps, order):
    stored = {key: one for key, one in stored.items() if key not in {"\0", "\ud800"}}
    memory = StoredMemory(Shelf(stored, order).look)
    kept: dict[str, int | None] = dict(stored)
    put: dict[str, int | None] = {}
    for number, (step, key) in enumerate(steps):
        if step == "get":
            assert memory.get(key) == {**kept, **put}.get(key)
        elif step == "fail":
            memory.discard_changes()
            put = {}
        elif step == "keep":
            assert memory.take_changes() == put
            kept, put = {**kept, **put}, {}
        else:
            put[key] = number if step == "put" else None
            memory.put(key, put[key])

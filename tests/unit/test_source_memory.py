"""What a source remembers is saved with a page, or not at all."""

from __future__ import annotations

import pytest

from shared.sources.memory import StoredMemory


def test_what_was_put_is_seen_at_once_and_handed_over_once():
    memory = StoredMemory({"a": {"etag": "1"}, "b": 2})
    memory.put("a", {"etag": "2"})
    memory.put("b", None)
    assert memory.get("a") == {"etag": "2"}
    assert memory.get("b") is None
    assert memory.take_changes() == {"a": {"etag": "2"}, "b": None}
    assert memory.take_changes() == {}
    assert memory.get("a") == {"etag": "2"}


def test_what_a_failed_page_put_is_forgotten():
    memory = StoredMemory({"a": 1})
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

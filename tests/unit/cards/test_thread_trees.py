"""The tree of a thread: every entry once, behind what it answers."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shared.cards.thread_tree import tree


def entries(*parents: int | None) -> Any:
    """Return entries 0, 1, ... that answer the entries named."""
    return [
        SimpleNamespace(
            entry_id=UUID(int=number),
            source="api",
            external_id=str(number),
            reply_to=None if parent is None else str(parent),
        )
        for number, parent in enumerate(parents)
    ]


def told(*parents: int | None) -> list[tuple[int, int]]:
    return [(node.entry_id.int, node.depth) for node in tree(entries(*parents))]


def test_replies_stand_behind_what_they_answer_in_the_order_given():
    assert told(None, 0, 1, 0) == [(0, 0), (1, 1), (2, 2), (3, 1)]


def test_an_answer_to_what_is_not_there_begins_a_branch():
    assert told(None, 99) == [(0, 0), (1, 0)]


def test_a_circle_and_an_answer_to_itself_are_cut():
    assert told(1, 0) == [(1, 0), (0, 1)]
    assert told(0) == [(0, 0)]


def test_a_chain_of_thousands_needs_no_recursion():
    chain = told(None, *range(1999))
    assert chain == [(number, number) for number in range(2000)]


def test_in_the_place_of_a_parent_stands_what_has_superseded_it_or_that_again():
    replaced = {("api", "77"): "78", ("api", "78"): "0", ("api", "8"): "8"}
    found = tree(entries(None, 77, 8), replaced)
    assert [(node.entry_id.int, node.depth) for node in found] == [
        (0, 0),
        (1, 1),
        (2, 0),
    ]


@given(st.lists(st.none() | st.integers(0, 20), max_size=20))
def test_every_entry_stands_there_once_whatever_answers_what(parents):
    found = tree(entries(*parents))
    assert sorted(node.entry_id.int for node in found) == list(range(len(parents)))
    depths = {node.entry_id: node.depth for node in found}
    for node in found:
        above = -1 if node.parent_id is None else depths[node.parent_id]
        assert node.depth == above + 1

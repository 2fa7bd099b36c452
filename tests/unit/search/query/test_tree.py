"""The tree of a question: it comes back from JSON as it went."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query.filters import filters
from shared.search.query.language import tree
from shared.search.query.language.tree import (
    And,
    Field,
    Node,
    Not,
    Or,
    Parsed,
    Pattern,
    Phrase,
    Words,
)

_PLACES = st.integers(0, 1000)
_FILTERS = st.sampled_from(
    [
        filters.parse({"author": "smith"}, max_values=1),
        filters.parse({"system": {"not": ["rf"]}}, max_values=1),
        filters.parse({"quantity": {"unit": "mA", "gte": 3}}, max_values=1),
    ]
)
_LEAVES = st.one_of(
    st.builds(Words, st.text(), _PLACES),
    st.builds(Phrase, st.text(), _PLACES),
    st.builds(Pattern, st.text(), _PLACES),
    st.builds(Field, _FILTERS, _PLACES, st.text(), st.text()),
)


def _grown(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Not, parts),
        st.builds(And, several, st.booleans()),
        st.builds(Or, several),
    )


TREES: st.SearchStrategy[Node] = st.recursive(_LEAVES, _grown, max_leaves=12)


@given(TREES)
def test_a_tree_comes_back_from_json_as_it_went(asked: Node) -> None:
    sent = json.dumps(tree.to_values(asked))
    assert tree.from_values(json.loads(sent)) == asked


def test_what_is_no_part_of_a_question_is_refused() -> None:
    with pytest.raises(ValueError, match="no part of a question"):
        tree.from_values({"near": []})


def test_a_question_that_asks_for_nothing_has_no_tree_and_no_diagnostics() -> None:
    assert Parsed(None).diagnostics == ()

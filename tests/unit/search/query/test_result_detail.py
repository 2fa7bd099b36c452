"""How much an answer tells of its results: a bound, and what was left off."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.search.schemas.hits import SearchHit
from api.search.schemas.search import SearchRequest
from shared.errors import InvalidRequestError
from shared.search.jobs.compatibility import read_fields
from shared.search.query.result_detail import (
    BRIEF_CHARACTERS,
    WHOLE,
    Amount,
    trim_results,
)

RESULT = st.fixed_dictionaries(
    {
        "entry_id": st.text(max_size=8),
        "title": st.text(max_size=30),
        "content": st.text(max_size=1200),
        "highlights": st.lists(st.text(max_size=300), max_size=4),
    }
)
AMOUNT = st.builds(
    Amount,
    detail=st.sampled_from(["brief", "full"]),
    fields=st.none() | st.lists(st.sampled_from(["entry_id", "content"])).map(tuple),
    max_chars=st.none() | st.integers(0, 2000),
)


def text_of(results: list[dict[str, Any]]) -> list[int]:
    return [
        len(one.get("title", ""))
        + len(one.get("content", ""))
        + sum(map(len, one.get("highlights", [])))
        for one in results
    ]


@given(st.lists(RESULT, max_size=5), AMOUNT)
def test_an_answer_has_no_more_text_than_was_asked_for_and_says_what_was_left_off(
    results: list[dict[str, Any]], amount: Amount
) -> None:
    found, cut = trim_results(results, amount)

    asked, _ = trim_results(results, Amount(fields=amount.fields))
    whole, left = text_of(asked), text_of(found)
    assert len(found) == len(results)
    assert amount.max_chars is None or sum(left) <= amount.max_chars
    assert cut["chars"] == sum(whole) - sum(left)
    assert cut["entries"] == sum(a > b for a, b in zip(whole, left, strict=True))
    for one, before in zip(found, asked, strict=True):
        assert one.keys() == before.keys()
        assert before.get("content", "").startswith(one.get("content", ""))
        # A piece of markup is whole or not there.
        pieces = one.get("highlights", [])
        assert pieces == before.get("highlights", [])[: len(pieces)]
        if amount.detail == "brief":
            assert len(one.get("content", "")) <= BRIEF_CHARACTERS
            assert sum(map(len, pieces)) <= BRIEF_CHARACTERS
    assert read_fields(Amount, {}) == WHOLE


def test_what_is_whole_is_told_as_it_is() -> None:
    one = {"title": "RF", "content": "x" * 900, "rank": 1, "highlights": ["<b>x</b>"]}
    assert trim_results([one], WHOLE) == ([one], {"entries": 0, "chars": 0})


def test_a_field_that_no_result_has_is_refused_with_the_nearest() -> None:
    asked = SearchRequest(query="x", fields=["entry_id", "titel"])
    with pytest.raises(InvalidRequestError, match="Did you mean title"):
        asked.question(None)
    every = SearchRequest(query="x", fields=sorted(SearchHit.model_fields))
    assert every.question(None).amount.fields == tuple(sorted(SearchHit.model_fields))

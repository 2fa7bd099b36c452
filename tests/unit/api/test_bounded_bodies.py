"""A body within its limit of bytes takes memory in proportion, however it is made."""

import json
import tracemalloc
from typing import Any

import pytest
from pydantic import ValidationError

from api.entries.schemas.entries import MAX_FIELDS, EntriesIn, EntryIn
from shared.errors import InvalidRequestError
from shared.text import door

FEW_BYTES = 100_000


@pytest.mark.requirement("B4", "P11")
def test_a_request_holds_so_many_values_and_no_more() -> None:
    whole = json.dumps([[]] * 100).encode()
    assert door.parse_json(whole, max_values=200) == [[]] * 100
    with pytest.raises(InvalidRequestError, match="more than 150 values") as caught:
        door.parse_json(whole, max_values=150)
    assert caught.value.error_code == "invalid_json"


@pytest.mark.requirement("B4", "P11")
def test_commas_within_texts_are_no_values() -> None:
    assert door.parse_json(b'["1,2,3,4", 5]', max_values=3) == ["1,2,3,4", 5]


@pytest.mark.requirement("P11")
def test_looking_through_a_document_takes_no_memory_for_its_values() -> None:
    document: dict[str, Any] = {"metadata": {"a": ["x", []] * 50_000}}
    tracemalloc.start()
    door.check_tree(document)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < FEW_BYTES


@pytest.mark.requirement("P11")
@pytest.mark.parametrize(
    ("model", "body"),
    [
        (EntryIn, {"text": "x"} | {f"k{i}": 1 for i in range(MAX_FIELDS)}),
        (EntriesIn, {"entries": [1]} | {f"k{i}": 1 for i in range(MAX_FIELDS)}),
        (EntryIn, {"text": "x", "tags": [1] * 1000}),
        (EntryIn, {"text": "x", "links": [1] * 1000}),
    ],
)
def test_what_is_wrong_a_thousand_times_is_told_once(model, body) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    assert caught.value.error_count() == 1


@pytest.mark.requirement("SEC3")
def test_a_few_unknown_fields_are_each_named() -> None:
    with pytest.raises(ValidationError) as caught:
        EntryIn.model_validate({"text": "x", "tenant": "b", "revision": 3})
    assert {one["loc"] for one in caught.value.errors()} == {("tenant",), ("revision",)}

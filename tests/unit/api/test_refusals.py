"""A refusal names the field as its sender wrote it, and says what it takes."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from api.entries.schemas.entries import PushBody
from api.search.schemas.search import SearchRequest
from api.server.errors import invalid
from shared import suggest
from shared.errors import InvalidRequestError
from shared.search.query.filters import filters


def refused(model: Any, body: object) -> dict[str, Any]:
    """Return the fields that are wrong, by path, as the API tells them."""
    try:
        TypeAdapter(model).validate_python(body)
    except ValidationError as exc:
        located = [{**one, "loc": ("body", *one["loc"])} for one in exc.errors()]
        error = invalid(located, model)
    except InvalidRequestError as exc:
        error = exc
    else:
        pytest.fail(f"{body} was taken")
    assert "Value error" not in error.message
    return {one["path"]: one["message"] for one in error.details["fields"]}


@pytest.mark.parametrize(
    ("model", "body", "paths"),
    [
        (PushBody, {"external_id": "n"}, {"text"}),
        (PushBody, {"entries": []}, {"entries"}),
        (PushBody, {"text": "x", "colour": 1}, {"colour"}),
        (PushBody, {"text": "x", "tags": ["a", 1]}, {"tags.1"}),
        (SearchRequest, {}, {"query"}),
        (SearchRequest, {"limit": 5, "filters": {}}, {"query"}),
        (SearchRequest, {"rerank": "x"}, {"rerank"}),
        (SearchRequest, {"q": "x", "scope": {"kinds": ["log"]}}, {"scope.kinds.0"}),
        (SearchRequest, {"scope": {"kinds": [1]}}, {"scope.kinds.0"}),
        (SearchRequest, {"facets": ["a", 1]}, {"facets.1"}),
        (SearchRequest, {"q": "a", "query": "b"}, {"query"}),
        (SearchRequest, [], {"body"}),
    ],
)
def test_a_field_is_named_as_it_was_sent(model, body, paths) -> None:
    assert set(refused(model, body)) == paths


def test_filters_ask_for_what_passes_them_without_a_word() -> None:
    assert SearchRequest.model_validate({"filters": {"kind": "incident"}}).query == ""


@pytest.mark.parametrize("value", ["0.5", True])
def test_a_share_is_a_number_and_a_limit_is_a_whole_one(value: object) -> None:
    said = refused(SearchRequest, {"min_relevance_score": value, "limit": value})
    assert said == {
        "min_relevance_score": "A number is needed.",
        "limit": "A whole number is needed.",
    }


@pytest.mark.requirement("O01")
@pytest.mark.parametrize("name", ["limit", "max_results"])
def test_a_hundred_results_may_be_asked_for_by_either_name(name: str) -> None:
    for most in (1, 100):
        asked = SearchRequest.model_validate({"query": "x", name: most})
        assert asked.question(None).limit == most
    for wrong in (0, 101):
        assert set(refused(SearchRequest, {"query": "x", name: wrong})) == {"limit"}


@pytest.mark.parametrize("name", ["tenant", "readers", "metadata", "colour"])
def test_what_is_no_near_spelling_is_not_guessed(name: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        filters.parse({name: "x"}, max_values=1)
    assert "Did you mean" not in caught.value.message
    assert f"'metadata.{name}'" in caught.value.message


def test_a_mode_that_is_not_there_is_not_taken_for_another() -> None:
    assert suggest.hint("agentic", ("auto", "hybrid", "keyword", "semantic")) == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metadata.hv": {"gte": "a"}}, "It is neither a number nor a date."),
        (
            {"metadata.hv": {"gte": "2024", "lte": "a"}},
            "Both ends are numbers, or both are dates.",
        ),
        ({"exclude_entry_ids": ["x"] * 101}, "It takes 1 to 100 values."),
    ],
)
def test_a_filter_says_what_it_takes(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        filters.parse(given, max_values=100)
    assert caught.value.details["fields"][0]["message"] == message

"""Unknown names are refused with the nearest one; known ones are described."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, ValidationError

from api.search.schemas.filters import SCHEMA
from api.search.schemas.search import SearchRequest
from api.server.errors import invalid
from api.strict_route import _check_names
from shared import suggest
from shared.errors import InvalidRequestError
from shared.search.query import facet_request
from shared.search.query.filters import filters
from tests.integration.search.retrieval.test_filters import ASKED

DESCRIBED = Draft202012Validator({"type": "object", **SCHEMA})


@pytest.mark.parametrize(
    ("name", "meant"),
    [("autor", "author"), ("date_form", "date_from"), ("logbok", "logbook")],
)
def test_an_unknown_filter_is_refused_with_the_nearest_name(name, meant) -> None:
    with pytest.raises(InvalidRequestError, match=f"Did you mean {meant}\\?"):
        filters.parse({name: "x"}, max_values=1)


def test_an_attribute_of_the_logbook_is_told_how_it_is_asked_for() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        filters.parse({"Severity": "Alarm"}, max_values=1)
    # And no name is guessed that has nothing to do with it.
    assert caught.value.message == (
        "There is no filter 'Severity'. An attribute of the logbook is asked for as"
        " 'metadata.Severity'."
    )
    assert filters.is_known("metadata.Severity")
    filters.parse({"metadata.Severity": "Alarm"}, max_values=1)


def test_an_unknown_facet_and_parameter_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidRequestError, match=r"Did you mean system\?"):
        facet_request.check(["sytem"])
    with pytest.raises(InvalidRequestError, match=r"Did you mean limit\?"):
        _check_names({"limt"}, {"limit", "cursor"})


def test_what_is_like_nothing_is_refused_without_a_guess_however_long() -> None:
    assert suggest.hint("OPENED", ["Opened on", "Asset"]) == " Did you mean Opened on?"
    assert suggest.hint("qqqq", filters.BUILT) == ""
    assert suggest.hint("x" * 1_000_000, filters.BUILT) == ""


class Inner(BaseModel):
    """A part of a body."""

    model_config = ConfigDict(extra="forbid")
    device: str = ""


class Outer(BaseModel):
    """A body with parts."""

    model_config = ConfigDict(extra="forbid")
    inner: Inner | None = None
    many: list[Inner] = []


@pytest.mark.parametrize(
    ("model", "body", "path", "meant"),
    [
        (SearchRequest, {"query": "x", "limti": 3}, "limti", "limit"),
        (SearchRequest, {"scope": {"sorces": []}}, "scope.sorces", "sources"),
        (Outer, {"iner": {}}, "iner", "inner"),
        (Outer, {"inner": {"devise": ""}}, "inner.devise", "device"),
        (Outer, {"many": [{"devise": ""}]}, "many.0.devise", "device"),
    ],
    ids=["top", "scope", "outer", "inner", "listed"],
)
def test_an_unknown_field_of_a_body_is_refused_with_the_nearest_name(
    model: type[BaseModel], body: dict[str, Any], path: str, meant: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    located = [{**one, "loc": ("body", *one["loc"])} for one in caught.value.errors()]
    told = invalid(located, model)
    said = f"There is no such field. Did you mean {meant}?"
    assert told.details["fields"] == [
        {"path": path, "code": "extra_forbidden", "message": said}
    ]
    assert str(told.message) == f"{path}: {said}"


def test_the_description_names_every_filter_and_takes_whatever_is_taken() -> None:
    described = set(SCHEMA["properties"])  # type: ignore[arg-type]
    assert described == {*filters.BUILT, *filters.ALIASES, "time_range"}
    wrong = [given for given, _ in ASKED if not DESCRIBED.is_valid(given)]
    assert wrong == []


@pytest.mark.parametrize(
    "given",
    [
        {"autor": "x"},
        {"source": 1},
        {"source": {}},
        {"source": {"in": []}},
        {"kind": {"in": ["x"], "else": ["y"]}},
        {"has_attachment": 1},
        {"quantity": {"unit": "mA"}},
        {"quantity": {"gte": 1}},
        {"metadata.run": None},
        {"metadata.run": {"gte": True}},
        {"time_range": ["2024"]},
        {"exclude_entry_ids": "x"},
    ],
    ids=str,
)
def test_what_the_description_refuses_is_refused(given: dict[str, Any]) -> None:
    assert not DESCRIBED.is_valid(given)
    with pytest.raises(InvalidRequestError):
        filters.parse(given, max_values=100)

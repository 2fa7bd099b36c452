"""What a module is given is what it says that it takes."""

import pytest

from shared.errors import InvalidRequestError
from shared.search.retrieval.search_parameters import (
    ParameterDescriptor,
    check_parameters,
)

TAKEN = (
    ParameterDescriptor("days", "Days", "int", default=7, min=1, max=30),
    ParameterDescriptor("share", "Share", "float", default=0.5, min=0),
    ParameterDescriptor("loud", "Loud", "bool", default=False),
    ParameterDescriptor("kind", "Kind", "select", default="a", options=("a", "b")),
    ParameterDescriptor("on", "On", "date"),
    ParameterDescriptor("word", "Word", "text", default="", max=3),
)
DEFAULTS = {"days": 7, "share": 0.5, "loud": False, "kind": "a", "on": None, "word": ""}


def test_what_is_not_given_has_its_default() -> None:
    assert check_parameters({}, TAKEN) == DEFAULTS
    given = {"days": 30, "share": 3, "loud": True, "kind": "b", "on": "2024-02-29"}
    assert check_parameters({**given, "word": "abc"}, TAKEN) == {**given, "word": "abc"}


@pytest.mark.requirement("S0-44")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("days", 0),
        ("days", 31),
        ("days", 1.5),
        ("days", True),
        ("days", "7"),
        # More than any floating-point number holds.
        pytest.param("days", 10**400, id="days-endless"),
        ("share", -0.1),
        ("share", float("nan")),
        ("loud", 1),
        ("kind", "c"),
        ("on", "2024-02-30"),
        ("word", "abcd"),
        ("word", None),
        ("dayz", 7),
    ],
    ids=str,
)
def test_what_is_beyond_its_bounds_is_refused_by_its_name(name, value) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_parameters({name: value}, TAKEN)
    (field,) = caught.value.details["fields"]
    assert field["path"] == f"parameters.{name}"

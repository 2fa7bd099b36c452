"""What a merge makes of an entry: the cases of RFC 7396, and fields of two names."""

import pytest

from api.entries.entry_edit import patched


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": "foo"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_an_object_is_merged_as_the_standard_has_it(target, patch, result):
    before = {"text": "x", "metadata": target}

    assert patched(before, {"metadata": patch}) == {"text": "x", "metadata": result}
    assert before == {"text": "x", "metadata": target}


def test_one_name_takes_the_place_of_several():
    before = {"authors": ["a", "b"], "logbooks": ["c"]}

    assert patched(before, {"author": "d"}) == {"author": "d", "logbooks": ["c"]}
    assert patched(before, {"author": None}) == before
    assert patched(before, {"logbooks": None}) == {"authors": ["a", "b"]}


def test_a_name_that_no_entry_has_stays_to_be_refused():
    assert patched({"text": "x"}, {"tenant": None}) == {"text": "x", "tenant": None}

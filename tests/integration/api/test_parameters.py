"""What an address says beside its path is read once, or refused by its own code."""

import pytest

LISTS = ["/v1/entries", "/v1/search/jobs", "/v1/runs", "/v1/glossary"]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("cursor", ["x", "x" * 513, "x" * 3000])
def test_a_cursor_of_any_length_that_is_none_is_a_bad_cursor(caller, path, cursor):
    answer = caller.get(path, params={"cursor": cursor})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_cursor"


@pytest.mark.parametrize("path", LISTS)
def test_a_parameter_that_is_given_twice_is_refused(caller, path) -> None:
    answer = caller.get(f"{path}?limit=1&limit=2")
    assert answer.status_code == 422
    (field,) = answer.json()["error"]["details"]["fields"]
    assert (field["path"], field["code"]) == ("limit", "duplicate")
    # What takes several values takes them so.
    assert caller.get("/v1/entries?source=api&source=ops").status_code == 200

"""What the log keeps of a query: a keyed hash unless somebody chose otherwise."""

import pytest

from shared.search.query.query_log import make_log_keys, query_key
from shared.settings.settings import Settings

SECRET = b"s" * 32
QUERY = "RF Trip  last night"


@pytest.mark.requirement("S1-79", "S1-120", "U30")
@pytest.mark.parametrize(
    ("setting", "keys"),
    [("true", {"query"}), ("false", set()), ("hash", {"query_key"})],
)
def test_each_value_keeps_what_it_says(setting, keys):
    kept = make_log_keys(QUERY, setting, SECRET, "default")

    assert set(kept) == keys
    assert ("Trip" in str(kept)) == (setting == "true")


@pytest.mark.requirement("S1-79", "S1-120", "U30")
def test_who_sets_nothing_has_no_text_kept():
    kept = make_log_keys(QUERY, Settings().log_queries, SECRET, "default")
    assert kept == {"query_key": query_key(QUERY, SECRET, "default")}


def test_the_same_question_has_the_same_key_however_it_is_spaced():
    assert query_key(QUERY, SECRET, "a") == query_key("rf trip last night", SECRET, "a")


def test_two_facilities_and_two_installations_have_different_keys():
    keys = {
        query_key(QUERY, secret, tenant)
        for secret in (SECRET, b"t" * 32)
        for tenant in ("a", "b")
    }
    assert len(keys) == 4

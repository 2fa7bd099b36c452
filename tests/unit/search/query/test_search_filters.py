"""What `logchord search --filter` sends; and who is meant by a mark."""

import pytest

from api.cli.search.search import filters_of
from shared.access.scope import Scope
from shared.search.query.filters import filters

ONE, OTHER = (
    "019d0000-0000-7000-8000-000000000001",
    "019d0000-0000-7000-8000-000000000002",
)


@pytest.mark.parametrize("given", [(ONE,), (ONE, OTHER)], ids=["one", "two"])
def test_entries_are_excluded_however_many_are_named(given: tuple[str, ...]) -> None:
    sent = filters_of(tuple(f"exclude_entry_ids={one}" for one in given))
    assert filters.parse(sent, max_values=10).not_ids == given


def test_a_filter_named_twice_means_either() -> None:
    assert filters_of(("source=a", "tag=x", "source=b")) == {
        "source": {"in": ["a", "b"]},
        "tag": "x",
    }


def test_a_quantity_is_written_with_its_signs() -> None:
    sent = filters_of(("quantity=vacuum >= 1e-7 Torr",))
    bounds = filters.parse(sent, max_values=10).quantity
    assert bounds is not None
    assert (bounds.dimension, bounds.name, bounds.most) == ("pressure", "vacuum", None)


def test_nobody_is_a_reader_by_being_called_like_a_mark() -> None:
    """`*` is everybody and `-` nobody where readers are kept."""
    named = Scope("default", "-", groups=("*", "ops"))
    assert named.params["principals"] == ["ops"]

"""No two files know each other, not even for their types alone."""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

# A plan that lists by time is made from a plan that ranks, while the plan is made.
KNOWN = ("shared.search.query.list_by_time", "shared.search.query.plan")


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """Every module of ours, and what it imports, for its types too."""
    graph = grimp.build_graph("shared", "workers", "api", "local", cache_dir=None)
    return {
        name: graph.find_modules_directly_imported_by(name) for name in graph.modules
    }


def test_no_files_import_each_other_in_a_circle(imported):
    others = imported | {KNOWN[0]: imported[KNOWN[0]] - {KNOWN[1]}}
    assert list(TopologicalSorter(others).static_order())


def test_the_one_circle_that_is_known_is_still_there(imported):
    with pytest.raises(CycleError) as raised:
        TopologicalSorter(imported).prepare()
    assert set(raised.value.args[1]) == set(KNOWN)

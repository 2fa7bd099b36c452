"""In which order lanes take files of tests, wherever these lie."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lanes import TESTS, pytest_collection_modifyitems


def item(path: str, *marks: pytest.MarkDecorator) -> Any:
    """Return what is left of a collected test: where it lies, and how it is marked."""
    by_name = {one.name: one.mark for one in marks}
    return SimpleNamespace(path=TESTS / path, get_closest_marker=by_name.get)


def patient(name: str, seconds: int) -> Any:
    """Return an experiment that others may run beside, and that may take so long."""
    return item(f"faults/{name}.py", pytest.mark.patient, pytest.mark.timeout(seconds))


@pytest.mark.parametrize("others", [[], ["unit/a.py", "integration/b.py"]])
def test_experiments_that_wait_begin_by_the_longest_and_those_alone_end_the_run(others):
    # Else whoever goes alone keeps all lanes waiting for the end of the longest.
    experiments = [
        item("faults/alone.py"),
        patient("quick", 60),
        patient("longest", 3000),
        patient("long", 900),
    ]
    items = [*map(item, others), *experiments]

    pytest_collection_modifyitems(items)

    ordered = [one.path.stem for one in items if one in experiments]
    assert ordered == ["longest", "long", "quick", "alone"]

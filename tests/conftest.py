"""What every layer of tests shares: their order."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = (
    "tests.support.lanes",
    "tests.support.open_sockets",
    "tests.support.fixtures.servers",
    "tests.support.fixtures.process_parents",
    "tests.support.fixtures.system",
    "tests.support.fixtures.api",
    "tests.support.fixtures.workers",
    "tests.support.fixtures.fault_ledger",
    "tests.support.fixtures.own_servers",
    "tests.support.fixtures.watched",
    "tests.support.fixtures.fault_proxy",
    "tests.support.fixtures.asking",
    "tests.support.fixtures.celery",
    "tests.support.fixtures.engines",
    "tests.support.fixtures.jobs_redis",
    "tests.support.fixtures.sources",
    "tests.support.fixtures.vectors",
    "tests.support.fixtures.browser",
)

# How long a generated case takes says only how busy the machine is.
settings.register_profile("untimed", settings.default, deadline=None)
settings.load_profile("untimed")

TESTS = Path(__file__).parent
# Few long files before many short ones: no lane works on one when the others are done.
# But those of browsers leave a loop running, beside which `asyncio.run` makes none.
LAYERS = ("unit", "contract", "acceptance", "integration", "web", "faults")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among what is collected, neither now nor during the tests.

    It is some 600,000 objects, and nearly all of them live as long as the run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the layers one after the other, each in its random order.

    Unit tests block sockets, which would cut what a server's fixture has opened.
    Patient experiments are spread over what comes behind them: seldom more than one
    works at a time. Those that go alone are last.
    """

    def layer(item: pytest.Item) -> str:
        return item.path.relative_to(TESTS).parts[0]

    items.sort(key=lambda item: LAYERS.index(layer(item)))
    patient = dict.fromkeys(
        item.path for item in items if item.get_closest_marker("patient")
    )
    others = dict.fromkeys(
        item.path for item in items if layer(item) not in {"unit", "faults"}
    )
    places: dict[Path, float] = {path: place for place, path in enumerate(others)}
    apart = len(others) / (len(patient) + 1)
    places |= {path: place * apart for place, path in enumerate(patient)}
    ends = {"unit": -1, "faults": len(others)}
    items.sort(key=lambda item: places.get(item.path, ends.get(layer(item), 0.0)))

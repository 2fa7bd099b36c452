"""What every layer of tests shares: their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = (
    "tests.lanes",
    "tests.open_sockets",
    "tests.fix_servers",
    "tests.fix_system",
    "tests.fix_api",
    "tests.fix_workers",
    "tests.faults.fix_ledger",
    "tests.faults.fix_own_servers",
    "tests.faults.fix_watched",
    "tests.faults.fix_proxy",
    "tests.integration.fix_asking",
    "tests.integration.fix_celery",
    "tests.integration.fix_engines",
    "tests.integration.fix_jobs_redis",
    "tests.integration.fix_sources",
    "tests.integration.fix_vectors",
)

# How long a generated case takes says only how busy the machine is.
settings.register_profile("untimed", settings.default, deadline=None)
settings.load_profile("untimed")

TESTS = Path(__file__).parent
LAYERS = ("unit", "contract", "integration", "acceptance", "faults", "web")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the layers one after the other, each in its random order.

    Unit tests block sockets, which would cut what a server's fixture has opened.
    What is patient begins its layer, so that it meets its like in the other lane.
    """
    patient = {item.path for item in items if item.get_closest_marker("patient")}

    def turn(item: pytest.Item) -> tuple[int, bool]:
        layer = item.path.relative_to(TESTS).parts[0]
        return LAYERS.index(layer), item.path not in patient

    items.sort(key=turn)

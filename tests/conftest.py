"""What every layer of tests shares: its fixtures, and how it is collected."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

pytest_plugins = (
    "tests.support.open_sockets",
    "tests.support.fixtures.servers",
    "tests.support.lanes",
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

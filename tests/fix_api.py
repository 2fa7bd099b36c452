"""The API alone, on real servers, for everything that needs no worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.fix_system import System


@pytest.fixture(scope="session")
def api(make_lasting_system: Callable[..., System]) -> System:
    """One API process without workers; what is due stays due."""
    system = make_lasting_system()
    system.start("api")
    system.wait_ready()
    return system


@pytest.fixture
def caller(api: System, tenant: str) -> Iterator[httpx.Client]:
    """A caller of this test's facility who may read, search and write."""
    with api.client(api.key(tenant=tenant)) as client:
        yield client


@pytest.fixture
def operator(api: System, tenant: str) -> Iterator[httpx.Client]:
    """The admin of this test's facility."""
    with api.client(api.key(tenant=tenant, scopes=("admin",))) as client:
        yield client

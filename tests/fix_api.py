"""The API alone, on real servers, for everything that needs no worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.fix_system import System


@pytest.fixture(scope="session")
def make_api(make_lasting_system: Callable[..., System]) -> Callable[..., System]:
    """Start an API of some settings, without workers; it lasts to the run's end."""

    def make(**settings: str) -> System:
        system = make_lasting_system(**settings)
        system.start("api")
        system.wait_ready()
        return system

    return make


@pytest.fixture(scope="session")
def api(make_api: Callable[..., System]) -> System:
    """One API process without workers; what is due stays due."""
    return make_api()


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

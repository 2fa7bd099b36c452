"""Clients without a server."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from api.client import Client

Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture
def client_of() -> Iterator[Callable[..., Client]]:
    """Make clients of a server that answers as it is told to."""
    made = []

    def make(answer: Answer, **options: Any) -> Client:
        transport = httpx2.MockTransport(answer)
        made.append(Client("http://there", "key", transport=transport, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()

"""What a probe found is told again to whoever takes it, and to nobody else."""

import asyncio

import pytest

from api.operations.probes import Probes
from shared.errors import DatabaseConnectionError

A_MINUTE = 60.0


@pytest.mark.parametrize("trouble", [None, DatabaseConnectionError()])
def test_a_finding_is_told_again_for_as_long_as_the_asker_takes_it(trouble) -> None:
    asked: list[str] = []

    def ask() -> None:
        asked.append("backend")
        if trouble:
            raise trouble

    async def story() -> list[int]:
        probes = Probes({"backend": ask}, seconds=A_MINUTE)
        times = []
        for kept_seconds in (A_MINUTE, A_MINUTE, 0.0, A_MINUTE):
            found = await probes.all(kept_seconds=kept_seconds)
            assert found["backend"].ok == (trouble is None)
            times.append(len(asked))
        return times

    assert asyncio.run(story()) == [1, 1, 2, 2]

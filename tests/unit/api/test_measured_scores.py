"""What scores of words are worth, as an API process knows it."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from api.search.measured_scores import KEPT_SECONDS, MeasuredScores
from shared.errors import DatabaseConnectionError
from shared.search.pipelines.plan_settings import config_hash
from shared.settings.settings import Settings
from shared.text.facility.facility import PLAIN


class Measured(MeasuredScores):
    """Reads what the test says, at the time that it says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stored: Mapping[str, float] | Exception = {}
        self.reads = 0
        super().__init__(None, lambda scale: str(dict(scale)), lambda: self.now)  # type: ignore[arg-type]

    def _read(self) -> Any:
        self.reads += 1
        if isinstance(self.stored, Exception):
            raise self.stored
        return self.stored

    def after(self, seconds: float) -> tuple[Mapping[str, float], str]:
        self.now += seconds
        asyncio.run(self.refresh())
        return self.scale, self.config_hash


@pytest.mark.requirement("S1-35")
def test_another_scale_is_another_configuration() -> None:
    scores = Measured()
    assert scores.after(0) == ({}, "{}")
    scores.stored = {"bm25": 0.4}
    assert scores.after(KEPT_SECONDS - 1) == ({}, "{}")
    assert scores.after(2) == ({"bm25": 0.4}, "{'bm25': 0.4}")
    assert scores.reads == 2


def test_the_hash_that_a_response_tells_is_another_by_another_scale() -> None:
    settings = Settings()
    known = [config_hash(settings, PLAIN, scale) for scale in ({}, {"bm25": 0.4})]
    assert known[0] == config_hash(settings, PLAIN)
    assert known[1] not in {known[0], config_hash(settings, PLAIN, {"bm25": 0.5})}


def test_while_it_cannot_be_read_what_was_known_last_holds() -> None:
    scores = Measured()
    scores.stored = {"bm25": 0.4}
    scores.after(0)
    scores.stored = DatabaseConnectionError()
    assert scores.after(KEPT_SECONDS + 1)[0] == {"bm25": 0.4}

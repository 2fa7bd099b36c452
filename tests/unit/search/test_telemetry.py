"""The thread that writes how people fare: no answer ends it, none waits for it."""

import json
import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from api.search import telemetry
from api.search.telemetry import MOST_WAITING, AskedQuestion, Telemetry
from shared.settings.settings import Settings
from tests.support.waiting import until


class UnforeseenError(ValueError):
    """What nobody has thought of."""


class Secret:
    """The first thing that is asked for to write an answer: it fails when let go."""

    def __init__(self) -> None:
        self.is_let_go = threading.Event()
        self.asked = 0

    def __call__(self) -> bytes:
        self.asked += 1
        assert self.is_let_go.wait(30)
        raise UnforeseenError


@pytest.fixture
def secret() -> Secret:
    return Secret()


@pytest.fixture
def noted(secret: Secret) -> Telemetry:
    pool: Any = None
    return Telemetry(Settings(), pool, secret)


def note(noted: Telemetry) -> None:
    answer: dict[str, Any] = {"job_id": None, "results": [], "context_answer": None}
    noted.note(AskedQuestion("t", "rf trips", None, json.dumps(answer)))


def test_what_nobody_foresaw_costs_one_answer_and_is_told(noted, secret):
    secret.is_let_go.set()
    with capture_logs() as logs:
        for number in (1, 2):
            note(noted)
            until(lambda n=number: secret.asked == n, within_seconds=10)
        noted.stop()
    assert [one["failure"] for one in logs] == ["UnforeseenError"] * 2


def test_a_hundred_wait_at_most_and_stopping_waits_for_none(noted, secret, monkeypatch):
    monkeypatch.setattr(telemetry, "_STOP_SECONDS", 0.1)
    note(noted)
    until(lambda: secret.asked, within_seconds=10)
    with capture_logs() as logs:
        for _ in range(1100):
            note(noted)
    assert MOST_WAITING == 100
    assert len(logs) == 1000
    stopping = threading.Thread(target=noted.stop, daemon=True)
    stopping.start()
    stopping.join(10)
    is_stuck = stopping.is_alive()
    secret.is_let_go.set()
    assert not is_stuck
    until(lambda: secret.asked == 1 + MOST_WAITING, within_seconds=10)

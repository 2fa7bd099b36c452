"""What holds for every test here that runs tasks in its own process."""

from __future__ import annotations

import pytest

from shared.due import turn


@pytest.fixture(autouse=True)
def _bulk_work_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bulk work run beside live work of a moment ago, of this test or the last.

    The turn belongs to the process; `tests/unit/test_turn.py` proves how it rests.
    """
    monkeypatch.setattr(turn, "RESTS", 0.0)

"""What holds for every test here that runs tasks in its own process."""

import pytest

from shared.work import bulk_turn


@pytest.fixture
def bulk_rests() -> float:
    """How long bulk work rests; a module whose test is about that says it anew."""
    return 0.0


@pytest.fixture(autouse=True)
def _bulk_work_rests_so_long(
    monkeypatch: pytest.MonkeyPatch, bulk_rests: float
) -> None:
    """Let bulk work run beside live work of a moment ago, of this test or the last.

    The turn belongs to the process; `tests/unit/work/test_bulk_turn.py` proves how it
    rests.
    """
    monkeypatch.setattr(bulk_turn, "RESTS", bulk_rests)

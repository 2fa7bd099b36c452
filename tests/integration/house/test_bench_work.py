"""The bench of the work table runs, small; its numbers are judged by people."""

import pytest

from bench import work
from bench.work import Size

SMALL = Size(
    entries=64,
    backlogs=(300, 600),
    drain_seconds=20,
    idle_backlogs=(0, 100),
    idle_seconds=1,
    bloat=400,
)


@pytest.mark.slow
def test_rates_and_bloat_are_measured():
    found = work.measure(SMALL, ("rates", "bloat"))

    assert [one.entries for one in found.rates] == [64] * 12
    assert all(one.per_second > 0 for one in found.rates)
    alone, beside_a_snapshot = found.bloats
    assert not alone.is_held
    assert beside_a_snapshot.is_held


@pytest.mark.slow
def test_a_backlog_is_drained_by_real_workers_with_few_messages():
    found = work.measure(SMALL, ("drain", "sweeper"))

    assert [one.backlog for one in found.drains] == [300, 600]
    for one in found.drains:
        assert one.done > 0
        assert one.worked_twice == 0
        assert one.most_messages <= 4
    assert [one.backlog for one in found.idle] == [0, 100]

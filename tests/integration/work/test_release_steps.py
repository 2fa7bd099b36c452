"""A release of many in its steps, where one of them fails."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from api.operations import quarantine_release
from api.operations.quarantine_release import ReleaseProgress, ReleaseStep
from shared.errors import SourceUnreachableError
from shared.work.quarantine import Released, Which


def test_a_release_that_fails_half_way_tells_what_is_done_and_where_the_rest_begins(
    runtime, monkeypatch
):
    reached = ReleaseProgress("work", UUID(int=7))
    steps = [ReleaseStep(Released(3, [], ["index"]), reached)]

    def step(*_: object) -> ReleaseStep:
        if not steps:
            raise SourceUnreachableError
        return steps.pop()

    monkeypatch.setattr(quarantine_release, "_step", step)
    ctx: Any = SimpleNamespace(pool=runtime.pool)
    which = Which("default")
    begin = ReleaseProgress.begin(which)

    done = quarantine_release.release(ctx, ctx, which, begin, None)

    assert (done.released.released, done.released.stages) == (3, ["index"])
    assert done.rest == reached
    # Nothing is done yet: whoever asked is told of the failure itself.
    with pytest.raises(SourceUnreachableError):
        quarantine_release.release(ctx, ctx, which, begin, None)


def test_a_release_that_has_no_time_ends_where_it_began(runtime, monkeypatch):
    monkeypatch.setattr(quarantine_release, "_SECONDS", 0.0)
    ctx: Any = SimpleNamespace(pool=runtime.pool)
    which = Which("default")
    begin = ReleaseProgress.begin(which)

    done = quarantine_release.release(ctx, ctx, which, begin, None)

    assert (done.released.released, done.rest) == (0, begin)

"""What `doctor` says of the work: the sentences that /v1/lag and `status` say, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from api.cli.commands.status import look
from api.cli.doctor.checks import Check
from shared.errors import LogchordError

if TYPE_CHECKING:
    from shared.settings.settings import Settings


def of_work(settings: Settings) -> Iterator[Check]:
    """Look at the work; where Postgres does not answer, its own check says so."""
    try:
        seen = look(settings)
    except LogchordError:
        return
    for sentence in seen.problems:
        yield Check("work", "failed", sentence)
    if not seen.problems:
        waiting = sum(one.due + one.bulk for one in seen.stages)
        yield Check("work", "ok", f"{waiting} rows are due, nothing is in the way")

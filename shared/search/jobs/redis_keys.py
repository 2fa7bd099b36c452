"""Names of what a search in flight keeps in Redis, and how long it lives there."""

from __future__ import annotations

import secrets
from math import ceil
from uuid import UUID

# Long enough for whoever comes late to find out that it is late.
AFTER_DEADLINE_SECONDS = 120


def job(job_id: UUID) -> str:
    """Return the hash of one job: its plan, and an outcome for each branch."""
    return f"job:{job_id}"


def events(job_id: UUID) -> str:
    """Return the stream of one job's progress."""
    # The release before numbers the events of `events:` otherwise.
    return f"progress:{job_id}"


def new_mailbox() -> str:
    """Return the list on which one API process is told of its jobs."""
    return f"mailbox:{secrets.token_hex(8)}"


def expires_at(deadline: float) -> int:
    """Return when a job's keys vanish, in epoch seconds of the broker."""
    return ceil(deadline) + AFTER_DEADLINE_SECONDS

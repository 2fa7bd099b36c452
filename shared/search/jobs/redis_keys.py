"""Names of the keys of a search in flight in Redis, and how long they live there."""

import secrets
from math import ceil
from uuid import UUID

# Long enough for whoever comes late to find out that it is late.
AFTER_DEADLINE_SECONDS = 120
# How many questions were in a language that the encoder does not speak.
UNSPOKEN = "unspoken_questions"


def job(job_id: UUID) -> str:
    """Return the key of a job's hash: its plan, and the outcomes of each branch."""
    return f"job:{job_id}"


def events(job_id: UUID) -> str:
    """Return the key of the stream with a job's progress."""
    # The release before numbers the events of `events:` otherwise.
    return f"progress:{job_id}"


def new_mailbox() -> str:
    """Return the key of a new list on which one API process gets its answers."""
    return f"mailbox:{secrets.token_hex(8)}"


def expires_at(deadline: float) -> int:
    """Return when a job's keys vanish, in epoch seconds of the broker."""
    return ceil(deadline) + AFTER_DEADLINE_SECONDS

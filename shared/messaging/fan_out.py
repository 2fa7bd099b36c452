"""The branches of a search, sent to the workers: as a group, or as a chord's header."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from celery import Celery, chord, group

from shared.messaging import task_names
from shared.messaging.broker_errors import translate_broker_errors

# The header of a message whose task Flower is to see, whatever its kind. A second name
# of the task would be lost with a worker of the release before.
WATCHED = "watched"


def send_branches(
    app: Celery,
    job_id: UUID,
    branches: int,
    queue_name: str,
    headers: Mapping[str, Any],
    *,
    ends_in_chord: bool = False,
) -> None:
    """Send every branch of a search at once, through one producer.

    The last branch of a group ends the search itself. Where the end is heavy, it is
    the body of a chord, which runs in a worker of its own.
    """
    together = _branches(app, job_id, range(branches), queue_name)
    with translate_broker_errors(), app.producer_or_acquire() as producer:
        options = {"headers": dict(headers), "producer": producer}
        if ends_in_chord:
            # It reads the outcomes by the job's id.
            end = _told(app, task_names.END_SEARCH, (str(job_id),), headers)
            chord(together, app=app)(end, **options)
        else:
            together.apply_async(**options, add_to_parent=False)


def send_agent_turn(
    app: Celery,
    job_id: UUID,
    turn_no: int,
    headers: Mapping[str, Any],
    *,
    expires: float | None = None,
) -> None:
    """Send the message for a turn of an agent; idempotent.

    Whoever says it again and again lets what nobody has read in so many seconds expire.
    """
    with translate_broker_errors():
        turn = _told(app, task_names.TAKE_AGENT_TURN, (str(job_id), turn_no), headers)
        turn.apply_async(headers=dict(headers), expires=expires)


def send_agent_calls(
    app: Celery,
    job_id: UUID,
    numbers: Sequence[int],
    turn_no: int,
    headers: Mapping[str, Any],
) -> None:
    """Send the calls of one turn as a chord, whose body takes the next turn."""
    together = _branches(app, job_id, numbers, task_names.WIDE_SEARCH_QUEUE)
    turn = _told(app, task_names.TAKE_AGENT_TURN, (str(job_id), turn_no), headers)
    with translate_broker_errors(), app.producer_or_acquire() as producer:
        chord(together, app=app)(turn, headers=dict(headers), producer=producer)


def send_synthesis(app: Celery, job_id: UUID, headers: Mapping[str, Any]) -> None:
    """Send for an answer to hits that are known already."""
    with translate_broker_errors(), app.producer_or_acquire() as producer:
        app.signature(task_names.SYNTHESIZE, (str(job_id),)).apply_async(
            queue=task_names.QUEUE_OF[task_names.SYNTHESIZE],
            ignore_result=True,
            headers=dict(headers),
            producer=producer,
            add_to_parent=False,
        )


def _branches(app: Celery, job_id: UUID, numbers: Iterable[int], queue: str) -> Any:
    signatures = [
        app.signature(task_names.RUN_BRANCH, (str(job_id), number)).set(
            queue=queue, ignore_result=True
        )
        for number in numbers
    ]
    return group(signatures, app=app)


def _told(
    app: Celery, name: str, args: tuple[Any, ...], headers: Mapping[str, Any]
) -> Any:
    """Return a task that is told nothing of what went before it."""
    one = app.signature(name, args, immutable=True)
    return one.set(
        queue=task_names.QUEUE_OF[name], ignore_result=True, headers=dict(headers)
    )

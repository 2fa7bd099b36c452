"""Counts the messages that a worker refuses: a counted line in its log is the record.

It needs no database and no thread of its own, so a flood of them stands in no good
message's way.
"""

import threading
from collections import Counter

from shared.log import get_logger
from workers.runtime import worker_metrics

log = get_logger()

MAX_KINDS = 500
MAX_NAME_CHARS = 200

_lock = threading.Lock()
# By queue, task and reason.
_times: Counter[tuple[str, str, str]] = Counter()


def count_refusal(queue: object, task: object, message_id: object, reason: str) -> None:
    """Count a refused message, as far as it may be told: never its arguments.

    Of all that share queue, task and reason the log tells the first, the second, the
    fourth, the eighth and so on, each with the number so far; the metric counts all.
    """
    where, name = _printable(queue, "unknown"), _printable(task, "no task")
    with _lock:
        if (where, name, reason) not in _times and len(_times) >= MAX_KINDS:
            name, reason = "others", "is one of too many kinds"
        _times[where, name, reason] += 1
        times = _times[where, name, reason]
    worker_metrics.REFUSED.labels(where).inc()
    if times & (times - 1) == 0:
        log.warning(
            "message_rejected",
            queue=where,
            task_name=name,
            message_id=_printable(message_id, ""),
            reason=reason,
            times=times,
        )


def _printable(value: object, otherwise: str) -> str:
    """Return a name that can be printed, whatever strangers wrote, or one for none."""
    if not isinstance(value, str) or not value:
        return otherwise
    short = value[:MAX_NAME_CHARS]
    return "".join(char if char.isprintable() else "\ufffd" for char in short)

"""What a message of ours looks like; whatever else lies in a queue is refused.

Checked before Celery or kombu read it: left to them, a header undoes compression
without a limit, sets its own time limits, or sends further tasks.
"""

import base64
import binascii
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from shared.errors import InvalidRequestError, MessageRejectedError
from shared.messaging import task_names
from shared.text import door

# Ours carry at most 128 ids, about 5 kB, and some headers.
MAX_BODY_BYTES = 100_000
MAX_ITEM_BYTES = 200_000
MAX_TEXT_CHARS = 4096
# More than our own ten minutes, for publishers whose clock is hours ahead.
MAX_EXPIRES = timedelta(days=1)

_MAX_VALUES = 2000
_MAX_ARGUMENT_CHARS = 512
_MAX_WHOLE_NUMBER = 2**53
_JSON = "application/json"
_ENCODINGS = frozenset({"utf-8", "utf8"})

# No setting of ours allows a task more.
MAX_LIMIT_SECONDS = 60
# Headers of Celery that only ever hold these in a message of ours.
_FIXED: Mapping[str, tuple[object, ...]] = {
    "eta": (None,),
    "shadow": (None,),
    "retries": (0, None),
    "stamps": (None, {}),
    "stamped_headers": (None, []),
    "replaced_task_nesting": (0, None),
    "compression": (None,),
}
# What Celery says of the body of a chord that is ours.
_CHORD_OPTIONS = frozenset(
    {"ignore_result", "task_id", "reply_to", "group_id", "group_index", "root_id"}
)
# What the body is given besides the job's id: which turn of an agent it is.
_NUMBERS_OF = {task_names.END_SEARCH: [], task_names.TAKE_AGENT_TURN: [int]}
_TEXTS = frozenset(
    {"lang", "root_id", "parent_id", "group", "argsrepr", "kwargsrepr", "origin"}
)


def decode_envelope(item: bytes, queue: str) -> dict[str, Any]:
    """Return the item of a queue as kombu's payload, or raise MessageRejectedError.

    What it says of its own delivery is replaced: it lay in this queue, and only here.
    """
    if len(item) > MAX_ITEM_BYTES:
        raise _refuse(f"is larger than {MAX_ITEM_BYTES} bytes")
    match _parsed(item):
        case {
            "body": str() as body,
            "content-type": str() as content_type,
            "content-encoding": str() as content_encoding,
            "headers": dict() as headers,
            "properties": {"body_encoding": "base64"},
        }:
            _check_base64(body)
            return {
                "body": body,
                "content-type": content_type,
                "content-encoding": content_encoding,
                "headers": headers,
                "properties": {
                    "correlation_id": headers.get("id"),
                    "delivery_mode": 2,
                    "delivery_info": {"exchange": "", "routing_key": queue},
                    "priority": 0,
                    "body_encoding": "base64",
                    "delivery_tag": str(uuid4()),
                },
            }
    raise _refuse("is no message")


def check_headers(headers: object) -> None:
    """Raise unless a publisher of ours could have written them."""
    if not isinstance(headers, dict) or not _is_name(headers.get("task")):
        raise _refuse("is not a task")
    if not _is_name(headers.get("id")):
        raise _refuse("has no id")
    for name, value in headers.items():
        if name == "expires":
            _check_expires(value)
        elif not _fits(name, value):
            # The name is a stranger's too, unless it is one of Celery's.
            ours = name == "timelimit" or name in _FIXED or name in _TEXTS
            known = name if ours else "a header"
            raise _refuse(f"has {known} as no message of ours has it")


def check_body(content_type: object, content_encoding: object, body: object) -> None:
    """Raise unless it holds arguments that a task of ours may have."""
    if content_type != _JSON:
        raise _refuse("is of a content type that is not accepted")
    if str(content_encoding).lower() not in _ENCODINGS:
        raise _refuse("is of a content encoding that is not accepted")
    raw = body.encode(errors="replace") if isinstance(body, str) else body
    if not isinstance(raw, bytes) or not raw:
        raise _refuse("has no body")
    if len(raw) > MAX_BODY_BYTES:
        raise _refuse(f"has a body larger than {MAX_BODY_BYTES} bytes")
    match _parsed(raw):
        case [list() as args, dict() as kwargs, dict() as embedded]:
            # A task that calls others would let strangers send any message: ours
            # have the end of their search called, or the next turn of their agent, when
            # they are a chord's header.
            chord = embedded.pop("chord", None)
            if any(embedded.values()) or not (chord is None or _goes_on(chord)):
                raise _refuse("asks for more than its task")
            if not all(map(_is_argument, [*args, *kwargs.values()])):
                raise _refuse("holds arguments that are no ids, names and numbers")
            return
    raise _refuse("holds no arguments")


def _goes_on(chord: object) -> bool:
    """Tell whether the body of a chord ends a search or takes a turn, and no more."""
    match chord:
        case {
            "task": task_names.END_SEARCH | task_names.TAKE_AGENT_TURN as task,
            "args": [str() as job_id, *numbers],
            "kwargs": {**kwargs},
            "options": {"queue": queue, **options},
            "immutable": True,
        } if not kwargs and queue == task_names.QUEUE_OF[task]:
            headers = options.pop("headers", {})
            return (
                _is_name(job_id)
                and [*map(type, numbers)] == _NUMBERS_OF[task]
                and set(options) <= _CHORD_OPTIONS
                and all(_fits(str(name), value) for name, value in options.items())
                and isinstance(headers, dict)
                and all(_fits(str(name), value) for name, value in headers.items())
            )
    return False


def _parsed(raw: bytes) -> Any:
    try:
        return door.parse_json(raw, max_values=_MAX_VALUES)
    except InvalidRequestError as exc:
        # Its message may repeat what it found.
        raise _refuse(f"is no JSON that is accepted: {exc.error_code}") from None


def _check_base64(body: str) -> None:
    try:
        base64.b64decode(body, validate=True)
    except (ValueError, binascii.Error):
        raise _refuse("has a body that cannot be decoded") from None


def _check_expires(value: object) -> None:
    if value is None:
        return
    try:
        when = datetime.fromisoformat(value if isinstance(value, str) else "")
        late = when.astimezone(UTC) - datetime.now(UTC) > MAX_EXPIRES
    except (ValueError, OverflowError):
        raise _refuse("expires at a time that is none") from None
    if when.tzinfo is None or late:
        raise _refuse("expires at a time as no message of ours does")


def _fits(name: str, value: object) -> bool:
    if name == "timelimit":
        # A worker that publishes writes down its own limits, as they are set there.
        return value is None or (isinstance(value, list) and all(map(_is_limit, value)))
    if name in _FIXED:
        return value in _FIXED[name] and not isinstance(value, bool)
    if name in _TEXTS and value is not None:
        return isinstance(value, str) and _is_text(value)
    if isinstance(value, str):
        return _is_text(value)
    return value is None or isinstance(value, bool) or _is_number(value)


def _is_limit(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value is None
    return 0 < value <= MAX_LIMIT_SECONDS


def _is_text(value: str) -> bool:
    if len(value) > MAX_TEXT_CHARS:
        return False
    try:
        door.admit(value, "header")
    except InvalidRequestError:
        return False
    return True


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < _MAX_WHOLE_NUMBER


def _is_name(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= _MAX_ARGUMENT_CHARS
        and value.isprintable()
    )


def _is_argument(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_name(one) for one in value)
    if value is None or isinstance(value, bool):
        return True
    return _is_name(value) or (isinstance(value, int) and _is_number(value))


def _refuse(reason: str) -> MessageRejectedError:
    return MessageRejectedError(technical=reason)

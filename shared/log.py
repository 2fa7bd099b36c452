"""Logs: one event a line, ids instead of objects, secrets never."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from shared.redact import redact

# A key of a log line whose value is a secret, whatever it looks like.
_SECRET_KEY = re.compile(
    r"passw|secret|api_?key|token$|authorization|cookie", re.IGNORECASE
)
_MAX_DEPTH = 6


def configure(process: str, level: str, *, stream: Any = None) -> None:
    """Write every log line of this process as JSON, redacted, to stderr."""
    number = logging.getLevelName(level.upper())

    def name_process(
        _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        # Not a context variable: threads of a pool begin with an empty context.
        event.setdefault("process", process)
        return event

    chain: list[structlog.typing.Processor] = [
        name_process,
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _without_secrets,
    ]
    structlog.configure(
        processors=[*chain, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=chain,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.root.handlers = [handler]
    logging.root.setLevel(number)


def configure_unnamed() -> None:
    """Write lines of a process that has not said what it is to stderr.

    A command's stdout may be read as JSON. An error is its name and message: a
    traceback would show what variables hold.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _name_error,
            _without_secrets,
            structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
        ],
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def get_logger() -> Any:
    """Return the logger; events are constants, everything else is a key."""
    return structlog.get_logger()


def _name_error(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if event.pop("exc_info", None):
        event["error"] = repr(sys.exception())
    return event


def _without_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> dict[str, Any]:
    # What begins with an underscore is structlog's own and never written.
    return {
        key: value if key.startswith("_") else _shown(key, value)
        for key, value in event.items()
    }


def _shown(key: str, value: Any, depth: int = 0) -> Any:
    """Return a value as a log may keep it, however deep a secret lies."""
    if isinstance(value, bool | int | float | None):
        return value
    if _SECRET_KEY.search(key):
        return "***"
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return {str(k): _shown(str(k), below, depth + 1) for k, below in value.items()}
    if depth < _MAX_DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [_shown("", below, depth + 1) for below in value]
    return redact(str(value))


# A program that searches in its own process may have said how it logs.
if not structlog.is_configured():
    configure_unnamed()

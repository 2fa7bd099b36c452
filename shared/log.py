"""Logs: one event a line, ids instead of objects, secrets never."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from shared.errors import redact


def configure(process: str, level: str, *, stream: Any = None) -> None:
    """Write every log line of this process as JSON, redacted, to stderr."""
    number = logging.getLevelName(level.upper())
    chain = [
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
    structlog.contextvars.bind_contextvars(process=process)
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


def get_logger() -> Any:
    """Return the logger; events are constants, everything else is a key."""
    return structlog.get_logger()


def _without_secrets(
    _logger: object, _method: str, event: dict[str, Any]
) -> dict[str, Any]:
    return {
        key: redact(value) if isinstance(value, str) else value
        for key, value in event.items()
    }

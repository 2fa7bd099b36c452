"""What every command prints, and how it ends: data on stdout, all else on stderr."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from shared.errors import LogchordError, Severity

DONE, FAILED, USAGE, NOT_FOUND, NOT_ALLOWED, TRY_AGAIN, DEGRADED = range(7)
INTERRUPTED = 130

_USAGE_CODES = frozenset({"configuration_invalid", "unknown_mode"})
_BY_STATUS = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: NOT_FOUND, 410: NOT_FOUND}
_UNPROCESSABLE = 422


class CommandError(click.ClickException):
    """A command cannot go on; the message says what to do, the code how it ended."""

    def __init__(
        self,
        message: str,
        *,
        exit_code: int = FAILED,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        # What the API answered, if it did.
        self.error = error or {}
        self.exit_code = exit_code  # type: ignore[misc]  # click: one a class

    def show(self, file: Any = None) -> None:
        """Print the message alone: it is a sentence already."""
        click.echo(self.message, file=file or sys.stderr)


class UsageError(CommandError):
    """A command is not written as it has to be."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=USAGE)


def _is_coloured() -> bool:
    """Tell whether colour is wanted where it can be shown (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass
class Output:
    """How this call of the command line prints: for people or for programs."""

    as_json: bool = False
    quiet: bool = False
    color: bool = field(default_factory=_is_coloured)
    url: str | None = None
    key: str | None = None

    def data(self, text: str) -> None:
        """Print the result for a person."""
        click.echo(text, color=self._coloured(sys.stdout))

    def document(self, value: object) -> None:
        """Print the result as one JSON document."""
        click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))

    def prints_json(self, value: object) -> bool:
        """Print the result as JSON if a program asked for it; tell whether one did."""
        if self.as_json:
            self.document(value)
        return self.as_json

    def line(self, value: object) -> None:
        """Print one JSON document of a stream."""
        click.echo(json.dumps(value, ensure_ascii=False, default=str))

    def say(self, text: str) -> None:
        """Tell a person how it goes, unless they asked for quiet."""
        if not self.quiet:
            click.echo(text, err=True, color=self._coloured(sys.stderr))

    def complain(self, text: str) -> None:
        """Tell a person what went wrong, also when they asked for quiet."""
        click.echo(text, err=True, color=self._coloured(sys.stderr))

    def _coloured(self, stream: Any) -> bool | None:
        """Colour only terminals; click strips it everywhere else by itself."""
        return None if self.color and stream.isatty() else False


def current() -> Output:
    """Return how the command that runs just now prints."""
    return click.get_current_context().find_object(Output) or Output()


def exit_code_of(status: int, code: str, *, retriable: bool) -> int:
    """Return how a command ends that was answered with this error."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if retriable:
        return TRY_AGAIN
    if status == _UNPROCESSABLE or code in _USAGE_CODES:
        return USAGE
    return FAILED


def show_error(output: Output, error: LogchordError) -> int:
    """Print message, code and id of an error, and return the exit code."""
    output.complain(f"{error.message}\ncode: {error.error_code}\nid: {error.id}")
    retriable = error.severity is Severity.RETRIABLE
    return exit_code_of(error.status, error.error_code, retriable=retriable)

"""What the API tells of server, made from its OpenAPI document."""

from __future__ import annotations

from typing import Any

from api.client.models.model import Model


class Citation(Model):
    """An entry that an answer cites, in the revision that was read."""

    label: str
    entry_id: str
    revision: int
    source_uri: str
    permalink: str
    title: str
    quote: str
    entry_time: str | None = None
    author: str | None = None
    changed_since: str | None = None
    removed_at: str | None = None


class Diagnostic(Model):
    """Something about a search that its reader should know."""

    level: str
    source: str
    code: str
    message: str
    category: str


class ErrorBody(Model):
    """The body of every answer that is not a success."""

    error: ErrorInfo


class ErrorInfo(Model):
    """What went wrong, and whether the same request is worth another try."""

    id: str
    code: str
    category: str
    severity: str
    retriable: bool
    message: str
    request_id: str | None
    details: dict[str, Any] | None = None


class OtherValue(Model):
    """A value that an entry states of a device, and another one that another states."""

    device: str
    parameter: str
    dimension: str
    unit: str
    stated: float
    value: float
    entry_id: str
    source: str
    external_id: str
    permalink: str
    time: str


class Suppressed(Model):
    """What was found and left out because its score was too low."""

    count: int | None = None
    best_score: float | None = None
    threshold: float | None = None


class TotalCandidates(Model):
    """How many entries were found at least."""

    lower_bound: int
    exact: bool


class TracedCall(Model):
    """One call of a tool, and how it fared."""

    tool: str
    args: dict[str, Any] | None
    status: str
    results_found: int
    took_ms: float
    repeated: bool
    error_code: str | None


class TracedTurn(Model):
    """One turn: what was called, what it cost, and why none follows."""

    turn: int
    state: str
    tool_calls: list[TracedCall]
    tokens_in: int
    tokens_out: int
    took_ms: float | None
    repeated: int
    exit_reason: str | None

"""Who calls, as every handler and service is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.access.scope import Scope


@dataclass(frozen=True, slots=True)
class CallerInfo:
    """Who calls, and what their request is known by everywhere."""

    scope: Scope
    # The request's id and, if one was sent, its traceparent.
    trace: Mapping[str, str]
    # When it came (monotonic), later by what its body was waited for: its deadline
    # counts from then on.
    arrived: float
    # What the audit keeps of it besides who and where: filled by its handler.
    audited: dict[str, str] = field(default_factory=dict)

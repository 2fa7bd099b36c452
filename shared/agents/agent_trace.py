"""What an agent did, turn by turn, as it is shown: calls and numbers, no texts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shared.agents.call_outcomes import REPEATED
from shared.agents.turn_rows import TurnRow


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call of a tool, and how it fared."""

    tool: str
    # None: they may repeat what the reader cannot see any more.
    args: dict[str, Any] | None
    status: str
    results_found: int
    took_ms: float
    repeated: bool
    error_code: str | None


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """One turn: what was called, what it cost, and why none follows."""

    turn: int
    state: str
    tool_calls: list[TracedCall]
    tokens_in: int
    tokens_out: int
    took_ms: float | None
    # How often it was taken up again after a worker had died.
    repeated: int
    exit_reason: str | None


def trace_turn(turn: TurnRow, *, with_arguments: bool = True) -> TracedTurn:
    """Return a turn as it is shown."""
    calls = []
    for call, kept in turn.results:
        calls.append(
            TracedCall(
                tool=call["name"],
                args=call["arguments"] if with_arguments else None,
                status=kept.get("status", "running"),
                results_found=kept.get("found", 0),
                took_ms=kept.get("took_ms", 0.0),
                repeated=kept.get("status") == REPEATED,
                error_code=kept.get("error_code"),
            )
        )
    return TracedTurn(
        turn=turn.turn_no,
        state=turn.state,
        tool_calls=calls,
        tokens_in=turn.tokens_in,
        tokens_out=turn.tokens_out,
        took_ms=turn.took_ms,
        repeated=turn.repeated,
        exit_reason=turn.exit_reason,
    )


def tell_turn(turn: TurnRow) -> dict[str, Any]:
    """Return a turn as an event tells it, with what it cost in all."""
    return {**asdict(trace_turn(turn)), "tokens": turn.tokens_in + turn.tokens_out}


def trace_turns(
    turns: Sequence[TurnRow], *, with_arguments: bool = True
) -> list[TracedTurn]:
    """Return the turns of a job as they are shown."""
    return [trace_turn(one, with_arguments=with_arguments) for one in turns]

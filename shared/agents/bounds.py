"""What keeps an agent from running on: turns, steps, calls, tokens, one deadline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from shared.agents.turn_rows import TurnRow

if TYPE_CHECKING:
    from shared.settings.settings import Settings

ExitReason: TypeAlias = Literal[
    "answered",
    "max_turns",
    "step_guard",
    "tool_budget",
    "token_budget",
    "repeated_calls",
    "deadline",
    "cancelled",
    "model_unavailable",
    "model_malformed",
]
# Turns in a row in which nothing new was asked for.
MOST_REPETITIONS = 2
# So often a turn is taken up again whose word nobody kept: each time it is paid for.
MOST_TAKEN_UP = 3
# Kept back of the deadline: what was found is still to be ranked, read and told.
END_SECONDS = 2.0
END_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of an agent's turns, calls and tokens."""

    turns: int = 5
    tool_calls: int = 20
    calls_of_tool: int = 10
    tokens: int = 60_000

    @property
    def steps(self) -> int:
        """Return how many steps there are at most: a model's word, or its calls."""
        return 2 * self.turns + 1

    @classmethod
    def of(cls, settings: Settings) -> Bounds:
        """Return the bounds that the settings say."""
        reasoning = settings.reasoning
        return cls(
            reasoning.max_iterations,
            reasoning.max_tool_calls,
            reasoning.max_calls_per_tool,
            reasoning.max_tokens,
        )

    def is_last(self, turn_no: int) -> bool:
        """Tell whether a turn is given no tools: there is none behind it."""
        return turn_no >= self.turns

    def stop_before(self, turns: Sequence[TurnRow], turn_no: int) -> ExitReason | None:
        """Return why the model is not asked in a turn; None: it is."""
        before = [one for one in turns if one.turn_no < turn_no]
        if turn_no > self.turns:
            return "max_turns"
        if count_steps(before) >= self.steps:
            return "step_guard"
        if sum(one.tokens_in + one.tokens_out for one in turns) >= self.tokens:
            return "token_budget"
        if any(
            one.turn_no == turn_no and one.repeated > MOST_TAKEN_UP for one in turns
        ):
            return "model_unavailable"
        last = before[-MOST_REPETITIONS:]
        if len(last) == MOST_REPETITIONS and all(map(only_repeats, last)):
            return "repeated_calls"
        return None

    def stop_calls(
        self, turns: Sequence[TurnRow], names: Sequence[str]
    ) -> ExitReason | None:
        """Return the limit that these calls would exceed; None: they may be made."""
        called = Counter(
            call["name"]
            for one in turns
            for call, kept in one.results
            # A call that was refused, or the same as one before, was not carried out.
            if kept.get("status") not in {"repeated", "invalid"}
        )
        called.update(names)
        if called.total() > self.tool_calls:
            return "tool_budget"
        most = max(called.values(), default=0)
        return "tool_budget" if most > self.calls_of_tool else None


def reason_without_end(*, cancelled: bool) -> ExitReason:
    """Return why an agent ended whose job was ended by others: owner or deadline."""
    return "cancelled" if cancelled else "deadline"


def count_steps(turns: Sequence[TurnRow]) -> int:
    """Return how many steps were taken: each word of a model, and each set of calls."""
    said = sum(1 + (one.model_out or {}).get("again", 0) for one in turns)
    return int(said) + sum(bool(one.calls) for one in turns)


def only_repeats(turn: TurnRow) -> bool:
    """Tell whether a turn asked for nothing that had not been asked for before."""
    told = [kept.get("status") for _, kept in turn.results]
    return bool(told) and all(one == "repeated" for one in told)


def reserve(deadline_ms: int) -> float:
    """Return how many seconds of a deadline its end is given."""
    return min(END_SECONDS, END_SHARE * deadline_ms / 1000)

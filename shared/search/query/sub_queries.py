"""The sub-queries of a search: what each asks for, and which branches ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from shared.search.jobs.outcome import Diagnostic
from shared.search.query.decomposition.decompose import Decomposition, decompose
from shared.search.query.language import grammar, tree, tree_text
from shared.search.query.language.tree import And, Node, Pattern, Phrase, Words
from shared.text.facility.facility import Facility
from shared.times.calendar import Clock

# Hits below this cosine to the whole question are dropped.
VALIDATION_THRESHOLD = 0.25
# How many tasks one search may start.
FANOUT_CAP = 24


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One question of a search, with its tree."""

    query: str
    tree: Node | None

    def to_values(self) -> dict[str, Any]:
        """Return the sub-query as the values of JSON."""
        asked = None if self.tree is None else tree.to_values(self.tree)
        return {"query": self.query, "tree": asked}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read a sub-query back from a plan's JSON."""
        asked = values["tree"]
        return cls(values["query"], None if asked is None else tree.from_values(asked))


@dataclass(frozen=True, slots=True)
class FanOut:
    """The sub-queries of a search and their branches; empty for a flat search."""

    sub_queries: tuple[SubQuery, ...] = ()
    # By branch: the number of its sub-query. Later branches, as facets, ask for all.
    asks: tuple[int, ...] = ()
    strategy: str | None = None
    # Cosine to the whole question that a hit must have; None: nobody compares.
    threshold: float | None = None

    def to_values(self) -> dict[str, Any]:
        """Return the sub-queries and their branches as the values of JSON."""
        return {
            "sub_queries": [one.to_values() for one in self.sub_queries],
            "asks": self.asks,
            "strategy": self.strategy,
            "threshold": self.threshold,
        }


FLAT = FanOut()


def sub_queries_of(plan: Mapping[str, Any]) -> list[str]:
    """Return all that a stored plan searches for, the whole question first."""
    several = plan.get("fan_out", {}).get("sub_queries", ())
    return [one["query"] for one in several] or [plan["query"]]


def take_apart(node: Node | None, question: str, facility: Facility) -> Decomposition:
    """Take apart the words typed side by side, without times and fields.

    A question with AND, OR or NOT has no parts.
    """
    words = _typed(node)
    if not words:
        return Decomposition(question)
    return decompose(
        " ".join(words), question=question, is_term=lambda one: _is_term(one, facility)
    )


def fan_out(
    node: Node | None,
    found: Decomposition,
    modules: Sequence[str],
    clock: Clock,
    cap: int,
) -> tuple[FanOut, tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the sub-queries, their branches, and diagnostics of what was cut off.

    Each sub-query is asked of each module, and keeps the question's exclusions and
    times.
    """
    beside = _others(node.parts) if isinstance(node, And) else ()
    asked = [SubQuery(found.question, node)]
    for part in found.parts:
        words = grammar.parse(part, clock).tree
        if words is not None and tree_text.wants(words):
            asked.append(SubQuery(part, And((words, *beside)) if beside else words))
    # Over the cap, the least important modules of the last sub-queries go first.
    places = [
        (number, place) for place in range(len(modules)) for number in range(len(asked))
    ]
    kept = sorted(places[:cap])
    notes: tuple[Diagnostic, ...] = ()
    if len(kept) < len(places):
        said = f"Of {len(places)} searches at once the first {cap} are carried out."
        notes = (Diagnostic("warning", "plan", "fanout_cut", said, "query"),)
    return (
        FanOut(tuple(asked), tuple(number for number, _ in kept), found.strategy),
        tuple(modules[place] for _, place in kept),
        notes,
    )


def _typed(node: Node | None) -> list[str]:
    """Return the words of a question; none where more than blanks join them."""
    match node:
        case Words() | Phrase() | Pattern():
            return [tree_text.text_of(node)]
        case And(parts, is_written=False):
            if tree_text.wants(And(_others(parts))):
                return []
            return [
                tree_text.text_of(one)
                for one in parts
                if isinstance(one, Words | Phrase | Pattern)
            ]
        case _:
            return []


def _others(parts: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(one for one in parts if not isinstance(one, Words | Phrase | Pattern))


def _is_term(word: str, facility: Facility) -> bool:
    return any(
        word.casefold() == one.casefold() for row in facility.glossary for one in row
    )

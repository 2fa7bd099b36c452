"""A card that is shown beside hits about one thing, with a citation on each line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from shared.search.jobs.compatibility import to_json_value

CardType = Literal["entity", "thread"]
LineKind = Literal[
    "last_entry",
    "last_trip",
    "last_fix",
    "open",
    "value",
    "lock_applied",
    "lock_removed",
    "trip",
    "cause",
    "action",
    "restored",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLine:
    """One line of a card, and the entry that says so."""

    kind: LineKind
    text: Annotated[str, "Word for word as the entry has it; of a value, the value."]
    time: Annotated[str, "When it happened, as far as the entry says; else written."]
    entry_id: str
    revision: int
    permalink: str
    start: Annotated[int | None, "In the entry's text as it is read; null: its title."]
    end: int | None
    seconds: Annotated[float | None, "Of a step of a thread: since the one before."] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A thing or a thread that the question is about, or that its best hits share."""

    card_id: str
    type: CardType
    title: str
    aliases: Annotated[Sequence[str], "What else entries and the facility call it."]
    why: Annotated[
        Literal["named", "shared"], "The question names it, or 40 % of the best do."
    ]
    score: Annotated[float, "Of its best hit."]
    top_entry_id: Annotated[str | None, "Its best hit; null: it is on no hit."]
    entry_ids: Annotated[Sequence[str], "The newest, 20 at most."]
    count: Annotated[int, "Entries that you may see; 1000: as many at least."]
    per_month: Annotated[float | None, "Entries a month, of a thing."]
    facets: Annotated[
        Mapping[str, Mapping[str, int]], "Its entries by `kind` and by `month`."
    ]
    state: Literal["open", "monitoring", "resolved", "unknown"]
    first_time: str | None
    last_time: str | None
    lines: Sequence[CardLine] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """Return the card as JSON takes it."""
        return {**to_json_value(self), "lines": [*map(to_json_value, self.lines)]}

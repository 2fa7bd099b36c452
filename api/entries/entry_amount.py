"""How much of its entries an answer tells: whole texts, some fields, so much text."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Query

from api.entries.schemas.entries import EntryOut
from api.server import field_names
from shared.entries.reading.read_entries import EntryView
from shared.search.query.result_detail import BRIEF_CHARACTERS, Detail

# Characters of text in one answer: with 100 MB of text the API would take 800 MB.
MAX_CHARS = 4_000_000

TextDetail = Annotated[
    Detail, Query(description="`brief` cuts each text to 500 characters.")
]
Fields = Annotated[
    str | None, Query(description="Of each entry these alone: `title,text`.")
]
MaxChars = Annotated[
    int | None, Query(ge=0, description="Most text of all entries together.")
]


@dataclass(frozen=True, slots=True)
class EntryAmount:
    """How much a request wants of each entry, and of the texts of all of them."""

    detail: Detail
    # None: every field.
    fields: Sequence[str] | None = None
    max_chars: int | None = None

    def cut(
        self, entries: Iterable[EntryView]
    ) -> tuple[list[EntryView], dict[str, int]]:
        """Return entries with texts as long as is wanted, and how much was left off."""
        left, kept = self.max_chars, []
        for one in entries:
            text = one.text[:BRIEF_CHARACTERS] if self.detail == "brief" else one.text
            if left is not None:
                text = text[:left]
                left -= len(text)
            kept.append(replace(one, text=text))
        left_off = [n for n in (one.text_chars - len(one.text) for one in kept) if n]
        return kept, {"entries": len(left_off), "chars": sum(left_off)}

    def select(self, bodies: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return of each entry the fields that are wanted."""
        return select_fields(bodies, self.fields)


BRIEF, WHOLE = EntryAmount("brief"), EntryAmount("full")


def _read_amount(default: Detail) -> Callable[..., Awaitable[EntryAmount]]:
    async def read(
        detail: TextDetail = default, fields: Fields = None, max_chars: MaxChars = None
    ) -> EntryAmount:
        return EntryAmount(detail, parse_fields(fields), max_chars)

    return read


# What a list takes, which is brief unless asked otherwise, and what one entry takes.
ListAmount = Annotated[EntryAmount, Depends(_read_amount("brief"))]
WholeAmount = Annotated[EntryAmount, Depends(_read_amount("full"))]


def parse_fields(written: str | None) -> list[str] | None:
    """Return the names in `a,b`, or refuse one that no entry has; None: all of them."""
    names = field_names.split_names(written)
    field_names.refuse_unknown_fields(names, EntryOut.model_fields)
    return names or None


def select_fields(
    items: Iterable[dict[str, Any]], names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Return of each entry the fields that are wanted."""
    if names is None:
        return list(items)
    return [{name: one[name] for name in names if name in one} for one in items]


def count_fitting(lengths: Sequence[int]) -> int:
    """Return how many whole texts of these lengths one answer holds; one at least."""
    chars = 0
    for number, length in enumerate(lengths):
        chars += length
        if chars > MAX_CHARS:
            return max(1, number)
    return len(lengths)

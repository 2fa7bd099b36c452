"""How much an answer tells of its results: all, briefly, some fields, so much text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

BRIEF_CHARACTERS = 500
_TEXTS = ("title", "content")
# Highlights are pieces of markup: each is shown whole or not at all.
_PIECES = "highlights"

Detail = Literal["brief", "full"]


@dataclass(frozen=True, slots=True)
class Amount:
    """How much a request wants of each result, and of the text of all results."""

    detail: Detail = "full"
    # None: every field.
    fields: tuple[str, ...] | None = None
    max_chars: int | None = None


WHOLE = Amount()


# The writer of an answer: rules that quote entries, or a model.
Writer = Literal["deterministic", "llm"]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """How an answer in sentences is written: its sources, its citations, its writer."""

    # How many results an answer in `numeric` style reads; one in `id` style reads ten.
    max_sources: int = 5
    marked: bool = True
    # `numeric`: cited by place among the results.
    style: Literal["id", "numeric"] = "id"
    by: Writer = "deterministic"


ANSWER = Synthesis()


@dataclass
class _TextBudget:
    """Counts the characters that may still be shown, and those left off."""

    left: int | None
    entries: int = 0
    chars: int = 0

    def text(self, text: str, most: int | None) -> str:
        kept = text if most is None else text[:most]
        if self.left is not None:
            kept = kept[: self.left]
            self.left -= len(kept)
        self.chars += len(text) - len(kept)
        return kept

    def pieces(self, pieces: Sequence[str], most: int | None) -> list[str]:
        kept: list[str] = []
        for piece in pieces:
            room = [one for one in (most, self.left) if one is not None]
            if room and len(piece) > min(room):
                break
            kept.append(piece)
            most = None if most is None else most - len(piece)
            self.left = None if self.left is None else self.left - len(piece)
        self.chars += sum(map(len, pieces[len(kept) :]))
        return kept


def trim_results(
    results: Sequence[Mapping[str, Any]], amount: Amount
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the results cut to the wanted amount, and how much was left off."""
    cut = _TextBudget(amount.max_chars)
    most = BRIEF_CHARACTERS if amount.detail == "brief" else None
    found = []
    for result in results:
        before = cut.chars
        one = _fields(result, amount.fields)
        for name in _TEXTS:
            if name in one:
                one[name] = cut.text(one[name], most)
        if _PIECES in one:
            one[_PIECES] = cut.pieces(one[_PIECES], most)
        cut.entries += cut.chars > before
        found.append(one)
    return found, {"entries": cut.entries, "chars": cut.chars}


def _fields(result: Mapping[str, Any], wanted: Sequence[str] | None) -> dict[str, Any]:
    if wanted is None:
        return dict(result)
    return {name: value for name, value in result.items() if name in wanted}

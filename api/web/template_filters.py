"""What templates do to values: shorten, say in words, mark."""

import html
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from shared.search.absence import gates
from shared.text.reading.quantities import say_quantity

_TAG = re.compile(r"(</?b>)")
_MARKED = {"<b>": Markup("<mark>"), "</b>": Markup("</mark>")}


def marks(text: str) -> Markup:
    """Return a part of a text that a search has marked by `<b>`; no other tag lives."""
    pieces = _TAG.split(text)
    return Markup().join(
        _MARKED[one] if one in _MARKED else escape(html.unescape(one)) for one in pieces
    )


def short(text: str, most: int) -> str:
    """Return a text on one line, cut behind a word."""
    line = " ".join(text[: most * 4].split())
    if len(line) <= most:
        return line
    return line[:most].rsplit(" ", 1)[0] + " …"


def words(name: str) -> str:
    """Return a name of ours as it is said."""
    return name.replace("_", " ")


def segment(name: str) -> str:
    """Return a name as one part of an address, its slashes encoded, too."""
    return quote(name, safe="")


def by_id(entries: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return entries by their ids."""
    return {one["entry_id"]: one for one in entries}


def amount(body: Mapping[str, Any]) -> str:
    """Return how many hits match in all, in words."""
    total = body["total_candidates"]
    if total["exact"]:
        return f"of all {total['lower_bound']} that match"
    if body["complete"]:
        return "and nothing else was found"
    return f"of {total['lower_bound']} or more"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "marks": marks,
    "short": short,
    "words": words,
    "say_gate": gates.say_gate,
    "say_quantity": say_quantity,
    "segment": segment,
    "by_id": by_id,
    "amount": amount,
}

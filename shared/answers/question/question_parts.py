"""The parts of a question that asks several things, each answered by itself."""

from __future__ import annotations

import re

_ASKS = (
    r"(?:why|how|when|who|where|what|which|warum|wieso|wie|wann|wer|wo|was|welche[rs]?)"
)
_AND = re.compile(
    rf",?\s+(?:and|und|&)\s+(?={_ASKS}\b)|\?\s+(?={_ASKS}\b)", re.IGNORECASE
)
_AGAINST = re.compile(
    r"\s+(?:vs\.?|versus|(?:as )?compared (?:to|with)|in contrast to|verglichen mit"
    r"|im vergleich (?:zu|zum|zur|mit)|im gegensatz (?:zu|zum|zur))\s+",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"^(?:please )?(?:compare|comparison (?:of|between)|differences? between"
    r"|vergleiche|unterschiede? zwischen)\s+(?:the )?(.+?)"
    r"\s+(?:and|with|to|und|mit)\s+(.+?)[?.]?$",
    re.IGNORECASE,
)
MOST_PARTS = 4


def split_question(text: str) -> list[str]:
    """Return its parts in order; of one that asks one thing, itself alone."""
    compared = _COMPARES.match(text.strip())
    if compared:
        return [compared[1], compared[2]]
    parts = [one.strip() for one in _AGAINST.split(text) if one.strip()]
    if len(parts) == 1:
        parts = [one.strip() for one in _AND.split(text) if one.strip()]
    return parts[:MOST_PARTS] or [text]

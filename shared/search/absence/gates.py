"""The gates that keep an entry from an empty page, and how people are told of them."""

BELOW_MIN_RELEVANCE = "below_min_relevance"
BELOW_CONFIDENCE = "below_confidence"
BELOW_SIMILARITY = "below_similarity"
OUTSIDE_WINDOW = "outside_window"
_FILTER = "filter:"
_SAID = {
    BELOW_MIN_RELEVANCE: "scored too low",
    BELOW_CONFIDENCE: "is doubtful",
    BELOW_SIMILARITY: "is too far in meaning",
    OUTSIDE_WINDOW: "was written at another time",
}


def of_filter(name: str) -> str:
    """Return the gate of a filter, by the name that requests use."""
    return _FILTER + name


def say_gate(gate: str) -> str:
    """Word a gate; a newer server may name one that is unknown here."""
    return _SAID.get(gate) or f"kept out by {gate.replace(_FILTER, 'the filter ')}"

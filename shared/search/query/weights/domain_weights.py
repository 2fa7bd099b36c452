"""Weighs kinds of entries: those asked for, fit for the question, or the caller's own.

Each is a factor of the kind's base weight; as shipped all of them are 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shared.search.query.intent import Intent
from shared.search.query.ordering import Ordering

# The words that ask for entries of a kind.
_ASKED: Mapping[str, re.Pattern[str]] = {
    "shift_summary": re.compile(
        r"\b(?:shift summar(?:y|ies)|handovers?|\u00fcbergaben?|schichtberichte?)\b"
    ),
    "procedure": re.compile(
        r"\b(?:procedures?|instructions?|how (?:do|to|can)|anleitung(?:en)?|prozedur)\b"
    ),
    "maintenance": re.compile(
        r"\b(?:maintenance|work orders?|wartung(?:en)?|reparaturauftr[a\u00e4]ge?)\b"
    ),
    "incident": re.compile(r"\b(?:incidents?|outages?|st\u00f6rung(?:en)?)\b"),
    "attachment": re.compile(
        r"\b(?:attachments?|pictures?|photos?|plots?|bild(?:er)?)\b"
    ),
}
# The kinds of entries that most likely answer a question of an intent.
_FIT: Mapping[Intent, tuple[str, ...]] = {
    "troubleshoot": ("incident", "maintenance"),
    "timeline": ("incident", "shift_summary"),
    "recent": ("shift_summary", "logbook"),
    "count": ("incident",),
}


def weigh_domains(
    ordering: Ordering, query: str, intent: Intent, groups: Sequence[str]
) -> dict[str, float]:
    """Return the weight of each kind that counts more or less than others."""
    text = query.casefold()
    asked = [kind for kind, words in _ASKED.items() if words.search(text)]
    own = [kind for group in groups for kind in ordering.role_domains.get(group, ())]
    weights = dict(ordering.domain_weights)
    for factor, kinds in (
        (ordering.domain_factor, asked),
        (ordering.intent_factor, _FIT.get(intent, ())),
        (ordering.role_factor, dict.fromkeys(own)),
    ):
        if factor != 1.0:
            for kind in kinds:
                weights[kind] = weights.get(kind, 1.0) * factor
    return weights

"""Whether a question is one for a logbook, and how a plan for it looks; by rules."""

import re
import unicodedata
from dataclasses import dataclass

from shared.access.scope import Scope
from shared.answers.question.question import read_question
from shared.answers.question.question_scope import Outside, find_outside
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.text.facility.facility import PLAIN, Facility
from shared.times.calendar import NO_CLOCK, Clock

NAME = "logbook_search"
_RESPOND = "respond"
_OUTSIDE: dict[Outside, str] = {
    "live_value": "Request for live data, which a logbook does not hold.",
    "control_action": "Control action; a logbook is only read.",
    "general_knowledge": "General knowledge; a logbook tells what happened here.",
    "other_task": "Another task; nothing in a logbook is asked for.",
}
# The first that fits is told; none is needed for a question to be one for a logbook.
_REASONS = (
    (
        re.compile(
            r"\b(?:find|search|look up|show|list|any|all)\b.*\b(?:entr(?:y|ies)|log"
            r"(?:book)?s?|notes?|mentions?|mentioning)\b"
            r"|\b(?:suche?|finde?|zeige?)\b.*\beintr(?:a|ä)ge?\b",
            re.IGNORECASE,
        ),
        "Explicit request to search logbook entries.",
    ),
    (
        re.compile(r"\b(?:shifts?|hand-?over|schicht\w*)\b", re.IGNORECASE),
        "Asks for what a shift wrote into the logbook.",
    ),
    (
        re.compile(
            r"\bhow (?:do|did|should) (?:we|you|operators)\b|\b(?:typically|usually"
            r"|procedure|recommended|normally|wie .*\bman\b)\b",
            re.IGNORECASE,
        ),
        "Operational practice that logbooks document.",
    ),
)
_TIMED = "Events of a time that the question names."
_HISTORY = re.compile(
    r"\b(?:happened|last time|ever|previous|history|fail\w*|trip\w*|fault\w*|broke\w*"
    r"|why|when|who|was|were|did|caused?|warum|wann|wer|wurde|war)\b",
    re.IGNORECASE,
)
_PAST = "Asks for what happened in the past."
_WORDS = "Words and names that entries may hold."
_BLANK = "Nothing is asked."
# Words of a question that are the name of no topic.
_NO_TOPIC_WORDS = """
    happened last time times find show me us list search entries entry logbook log logs
    typically usually handle handled dealt deal report reported reports events event
    issue issues problem problems containing mention mentions mentioning past recent
    recently history historical ever again look looking operators shift shifts
"""
_NO_TOPIC = frozenset(_NO_TOPIC_WORDS.split())
_TOPIC_WORDS = 4
_TOPIC_CHARACTERS = 48
_ASKS_NOTHING_OF = Scope("default", NAME)


@dataclass(frozen=True, slots=True)
class QuestionClass:
    """Whether a question activates logbook search, why, and the plan that it gets."""

    matches: bool
    reason: str
    # Names of capabilities, in their order.
    plan: tuple[str, ...]
    # None where the question is not one for a logbook.
    context_key: str | None
    # Both ends, the second exclusive; None: the question names no time.
    time_range: tuple[str | None, str | None] | None
    capability: str = NAME


def classify_question(
    query: str, clock: Clock = NO_CLOCK, facility: Facility = PLAIN
) -> QuestionClass:
    """Tell whether a question is one for a logbook; nothing is searched."""
    outside = find_outside(query)
    if outside is not None or not query.strip():
        reason = _OUTSIDE[outside] if outside else _BLANK
        return QuestionClass(
            matches=False,
            reason=reason,
            plan=(_RESPOND,),
            context_key=None,
            time_range=None,
        )
    plan = make_plan(
        SearchQuery(query), _ASKS_NOTHING_OF, PlanLimits(), clock, facility
    )
    applied = (*plan.time.written, *plan.time.happened)
    time_range = (applied[0].since, applied[0].until) if applied else None
    before = ("time_range_parsing",) if time_range else ()
    return QuestionClass(
        matches=True,
        reason=_reason(query, is_timed=time_range is not None),
        plan=(*before, NAME, _RESPOND),
        context_key=make_context_key(plan, facility),
        time_range=time_range,
    )


def make_context_key(plan: Plan, facility: Facility = PLAIN) -> str:
    """Return `ls_<topic>` of a planned question, as plans name their results."""
    words = read_question(plan, facility).words if plan.asks_for_words else ()
    parts = [part for word in words for part in _plain(word).split("_") if part]
    topic = [one for one in dict.fromkeys(parts) if one not in _NO_TOPIC]
    name = "_".join(topic[:_TOPIC_WORDS])[:_TOPIC_CHARACTERS].strip("_")
    return f"ls_{name or 'entries'}"


def _reason(query: str, *, is_timed: bool) -> str:
    for rule, reason in _REASONS:
        if rule.search(query):
            return reason
    if is_timed:
        return _TIMED
    return _PAST if _HISTORY.search(query) else _WORDS


def _plain(word: str) -> str:
    """Return a word as a part of a name: small letters and digits."""
    letters = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return re.sub(r"[^a-z0-9]+", "_", letters.encode("ascii", "ignore").decode())

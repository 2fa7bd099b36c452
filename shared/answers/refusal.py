"""Say in words why a question is not answered, and what could be asked instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.answers.choice.answer_status import Judgement
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.evidence.siblings import find_siblings
from shared.answers.question.answer_kinds import AnswerKind
from shared.answers.question.numbered_things import NumberedThing
from shared.answers.question.question import Question, QuestionName
from shared.answers.question.question_scope import Outside

MOST_QUESTIONS = 2
_OUTSIDE: dict[Outside, str] = {
    "live_value": "A logbook tells what was written, not what is so at this moment.",
    "control_action": "A logbook is only read here; nothing is set or switched.",
    "general_knowledge": "That is general knowledge; a logbook tells what happened.",
    "other_task": "That is no question to a logbook, which tells what happened.",
}
_KINDS: dict[AnswerKind, str] = {
    "why": "why",
    "when": "when",
    "how_long": "how long",
    "how_much": "how much",
    "who": "who",
    "where": "where",
    "which": "which",
    "what": "what",
}


def say_outside(outside: Outside) -> str:
    """Return why the question is none for a logbook."""
    return _OUTSIDE[outside]


def say_refusal(
    question: Question,
    judgement: Judgement,
    unnamed: Sequence[QuestionName | NumberedThing],
    entries: Sequence[EvidenceEntry],
) -> str:
    """Return which slot of the question is not filled."""
    match judgement.code:
        case "unknown_name":
            return " ".join(_say_unnamed(one, entries) for one in unnamed) or (
                "No entry that was found names all that is asked about together."
            )
        case "missing_kind":
            return f"No entry that was found says {_KINDS[question.kind]}."
        case "unsupported_words" if judgement.unsupported:
            words = ", ".join(f"\u201c{word}\u201d" for word in judgement.unsupported)
            return f"No entry has {words}."
        case _:
            return "What was found has only a part of what is asked."


def list_questions(
    question: Question,
    judgement: Judgement,
    unnamed: Sequence[QuestionName | NumberedThing],
    entries: Sequence[EvidenceEntry],
) -> list[str]:
    """Return questions that the entries at hand can answer sooner."""
    if judgement.code == "unknown_name":
        return [
            _replaced(question.text, one.written, name)
            for one in unnamed
            for name, _ in find_siblings(one, entries)
        ][:MOST_QUESTIONS]
    if judgement.unsupported:
        text = question.text
        for word in judgement.unsupported:
            text = _replaced(text, word, "")
        return [" ".join(text.split())]
    return []


def _say_unnamed(
    one: QuestionName | NumberedThing, entries: Sequence[EvidenceEntry]
) -> str:
    found = [
        f"{name} ({count} {'entry' if count == 1 else 'entries'})"
        for name, count in find_siblings(one, entries)
    ]
    there = ""
    if found:
        listed = " and ".join(filter(None, (", ".join(found[:-1]), found[-1])))
        there = f"; there {'is' if len(found) == 1 else 'are'} {listed}"
    return f"No entry that was found names {one.written}{there}."


def _replaced(text: str, word: str, by: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _: by, text)

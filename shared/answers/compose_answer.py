"""Put an answer into words: chosen sentences with their marks, or what is missing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from shared.answers.choice.answer_status import Judgement
from shared.answers.choice.choose_sentences import order_in_time
from shared.answers.choice.sentence_score import ScoredSentence
from shared.answers.evidence.evidence import EvidenceEntry, Sentence, cut_reply_marks
from shared.answers.evidence.siblings import find_siblings
from shared.answers.prompt.fence import strip_marks
from shared.answers.question.answer_kinds import AnswerKind
from shared.answers.question.empty_words import is_empty
from shared.answers.question.numbered_things import NumberedThing
from shared.answers.question.question import Question, QuestionName
from shared.answers.question.question_scope import Outside
from shared.entries.identity import permalink, source_uri
from shared.search.response.answer import Citation, Evidence
from shared.search.results import citation_labels
from shared.search.results.superseded import Other
from shared.text.reading.quantities import find_quantities, say_quantity
from shared.text.words.folding import fold_surface
from shared.times.rfc3339 import on_clock, timestamp

CitationStyle = Literal["id", "numeric"]
# What sentences do not say themselves: a moment, a person, as of when something is so.
Unsaid = AnswerKind | Literal["state"]
MOST_EVIDENCE = 5
_CLOSED = re.compile(r"[.!?:;,\s]*$")
# Where a sentence is too long to be told whole.
_CUT = "\u2026"
_BLANK_BEFORE_END = re.compile(r"\s+(?=[.!?:;,])")
MOST_QUESTIONS = 2
_OUTSIDE: dict[Outside, str] = {
    "live_value": "A logbook tells what was written, not what is so at this moment.",
    "control_action": "A logbook is only read here; nothing is set or switched.",
    "general_knowledge": "That is general knowledge; a logbook tells what happened.",
    "other_task": "That is no question to a logbook, which tells what happened.",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """How entries are cited: by their labels, or by their places among the results."""

    labels: Mapping[UUID, str]
    style: CitationStyle = "id"
    is_shown: bool = True

    def of(self, entry: EvidenceEntry) -> str:
        """Return the mark of an entry; nothing where none are wanted."""
        if not self.is_shown:
            return ""
        label = self.labels[entry.row.entry_id]
        if self.style == "numeric":
            return f"[{label}]"
        return f"[#{label}@{entry.row.revision}]"


def make_labels(
    entries: Sequence[EvidenceEntry], style: CitationStyle = "id"
) -> dict[UUID, str]:
    """Return the label of each entry, by its name or its place among the results."""
    if style == "numeric":
        return {one.row.entry_id: str(one.rank) for one in entries if one.is_hit}
    return citation_labels.make_labels([one.row for one in entries])


def write_sentences(
    chosen: Sequence[ScoredSentence],
    marks: Marks,
    values: Mapping[UUID, Sequence[Other]],
    zone: str,
    *,
    unsaid: Unsaid | None = None,
) -> str:
    """Return sentences as one paragraph, each with its mark.

    What a newer entry says otherwise is said behind a sentence that states the value;
    `unsaid`: what they do not say, `when`, `who` or `state`. Behind the last of each
    entry it is said when it happened or was written, or by whom.
    """
    ordered = order_sentences(chosen, values)
    lasts = {one.candidate.entry: one for one in ordered}.values() if unsaid else ()
    return " ".join(
        close_sentence(_plain(one), marks.of(one.candidate.entry))
        + (
            _say_beside(one.candidate.entry, unsaid, zone)
            if one in lasts
            else _say_beside(one.candidate.entry, "who", zone)
            if one.is_signed
            else ""
        )
        + (f" ({one.reckoned})" if one.reckoned else "")
        + (_say_written(one.candidate.entry, zone) if one.is_dated else "")
        + say_replaced(one.candidate.text, one.candidate.entry, values, zone)
        for one in ordered
    )


def _say_beside(entry: EvidenceEntry, unsaid: Unsaid | None, zone: str) -> str:
    if unsaid == "who" and entry.row.authors:
        return f" (written by {', '.join(entry.row.authors)})"
    if unsaid == "state":
        return _say_time(entry, zone, "as of ")
    return _say_time(entry, zone) if unsaid == "when" else ""


def _say_time(entry: EvidenceEntry, zone: str, said: str = "") -> str:
    return f" ({said}{entry.time.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M})"


def _say_written(entry: EvidenceEntry, zone: str) -> str:
    said = "happened " if entry.row.event_time else "entry written "
    return _say_time(entry, zone, said)


def order_sentences(
    chosen: Sequence[ScoredSentence], values: Mapping[UUID, Sequence[Other]]
) -> list[ScoredSentence]:
    """Return sentences oldest first; one whose value replaces another one's leads."""
    newer = [
        (value.other_id, value.dimension, round(float(value.value), 9))
        for one in chosen
        if (value := _newer_value(one.candidate.text, one.candidate.entry, values))
    ]

    def leads(one: ScoredSentence) -> bool:
        entry = one.candidate.entry
        stated = _stated_values(one.candidate.text, entry.row.language)
        return any((entry.row.entry_id, *value) in newer for value in stated)

    ordered = order_in_time(chosen)
    return sorted(ordered, key=lambda one: not leads(one)) if newer else ordered


def list_citations(
    chosen: Sequence[ScoredSentence],
    marks: Marks,
    values: Mapping[UUID, Sequence[Other]],
    tenant: str,
) -> list[Citation]:
    """Return the entries cited by an answer, in the order of its sentences."""
    ordered = [one.candidate for one in order_sentences(chosen, values)]
    return cite_sentences(ordered, marks.labels, tenant)


def cite_sentences(
    sentences: Sequence[Sentence], labels: Mapping[UUID, str], tenant: str
) -> list[Citation]:
    """Return the entries of sentences, in order of first appearance."""
    found: dict[UUID, Citation] = {}
    for one in sentences:
        row = one.entry.row
        found.setdefault(
            row.entry_id,
            Citation(
                label=labels[row.entry_id],
                entry_id=str(row.entry_id),
                revision=row.revision,
                source_uri=source_uri(tenant, row.source, row.external_id),
                permalink=permalink(row.source, row.external_id),
                title=row.title,
                quote=one.text,
                entry_time=timestamp(row.entry_time),
                author=row.author,
            ),
        )
    return list(found.values())


def list_evidence(chosen: Sequence[ScoredSentence]) -> list[Evidence]:
    """Return the sentences that the answer rests on, best first."""
    return [
        make_evidence(one.candidate, round(one.score, 6))
        for one in chosen[:MOST_EVIDENCE]
    ]


def make_evidence(sentence: Sentence, score: float) -> Evidence:
    """Return a sentence as one that an answer rests on."""
    row = sentence.entry.row
    return Evidence(
        entry_id=str(row.entry_id),
        revision=row.revision,
        quote=sentence.text,
        score=score,
        start=sentence.start,
        end=sentence.end,
    )


def is_replaced(one: ScoredSentence, values: Mapping[UUID, Sequence[Other]]) -> bool:
    """Tell whether a newer entry says another value than the sentence states."""
    return _newer_value(one.candidate.text, one.candidate.entry, values) is not None


def _newer_value(
    sentence: str, entry: EvidenceEntry, values: Mapping[UUID, Sequence[Other]]
) -> Other | None:
    others = values.get(entry.row.entry_id, ())
    if not others:
        return None
    said = _stated_values(sentence, entry.row.language)
    return next(
        (
            other
            for other in others
            if (other.dimension, round(float(other.stated), 9)) in said
        ),
        None,
    )


def _stated_values(sentence: str, language: str) -> dict[tuple[str, float], str]:
    """Return the values that a sentence states, each with its unit there."""
    return {
        (found.dimension, round(float(found.value), 9)): found.unit
        for found in find_quantities(sentence, language)
    }


def say_replaced(
    sentence: str,
    entry: EvidenceEntry,
    values: Mapping[UUID, Sequence[Other]],
    zone: str,
) -> str:
    """Return a note that a newer entry has another value; empty if none has."""
    newer = _newer_value(sentence, entry, values)
    if newer is None:
        return ""
    said = _stated_values(sentence, entry.row.language)
    unit = said[newer.dimension, round(float(newer.stated), 9)]
    when = on_clock(newer.said_at, ZoneInfo(zone))
    value = say_quantity(newer.dimension, newer.value, unit)
    return f" (replaced on {when}: {value})"


def _plain(one: ScoredSentence) -> str:
    text = " ".join(one.candidate.text.split())
    if one.candidate.start is None:
        text = cut_reply_marks(text)
    text = strip_marks(text)
    if one.candidate.goes_on:
        text = f"{_CLOSED.sub('', text)} {_CUT}"
    return f"{_CUT} {text}" if one.candidate.is_rest else text


def close_sentence(sentence: str, mark: str) -> str:
    """Return a sentence with its mark before its full stop."""
    bare = _CLOSED.sub("", sentence)
    end = sentence[len(bare) :].strip()
    end = end if end in {"!", "?"} else "."
    if mark:
        return f"{bare} {mark}{end}"
    return bare if bare.endswith(_CUT) else f"{bare}{end}"


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
            said = question.kind.replace("_", " ")
            said = "how" if question.is_how_to else said
            said = "how it is now" if question.is_of_state else said
            return f"No entry that was found says {said}."
        case "unsupported_words" if judgement.unsupported:
            words = ", ".join(f"\u201c{word}\u201d" for word in judgement.unsupported)
            if judgement.unsaid:
                return f"No entry that was found says {words}."
            return f"No entry has {words}."
        case _:
            return "What was found has only a part of what is asked."


def list_questions(
    question: Question,
    judgement: Judgement,
    unnamed: Sequence[QuestionName | NumberedThing],
    entries: Sequence[EvidenceEntry],
) -> list[str]:
    """Return questions to ask instead; not each of them need have an answer."""
    if judgement.code == "unknown_name":
        return [
            _replaced(question.text, one.written, name)
            for one in unnamed
            # A side of a comparison is no question.
            if one.written != question.text
            for name, _ in find_siblings(one, entries)
        ]
    # Without what it counts in, or denies, or most of its words it would be none.
    if (
        judgement.unsupported
        and judgement.status != "grounded"
        and not judgement.unsaid
        and 2 * len(judgement.unsupported) <= len(question.words)
        and not any(_is_joined(one, question.text) for one in judgement.unsupported)
    ):
        text = question.text
        for word in judgement.unsupported:
            text = _replaced(text, word, "")
        return [_BLANK_BEFORE_END.sub("", " ".join(text.split()))]
    return []


def _is_joined(word: str, text: str) -> bool:
    """Tell whether what stands before a word joins it, and nothing else, to a text."""
    beside = re.search(
        rf"(?P<before>\w+)\W+{re.escape(word)}(?!\w)\W*(?P<behind>\w*)", text
    )
    return beside is not None and (
        is_empty(fold_surface(beside["before"], "en"))
        and (not beside["behind"] or is_empty(fold_surface(beside["behind"], "en")))
    )


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

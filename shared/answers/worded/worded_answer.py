"""What stands of a model's words, as they come and in the end."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from shared.answers.answer_question import PreparedAnswer
from shared.answers.compose_answer import (
    MOST_EVIDENCE,
    cite_sentences,
    close_sentence,
    make_evidence,
    say_replaced,
)
from shared.answers.evidence.evidence import Sentence
from shared.answers.prompt.model_prompt import ModelPrompt
from shared.answers.question.question import Question
from shared.answers.worded.check_sentence import Checker, Flaw
from shared.answers.worded.model_text import WrittenSentence, read_sentences
from shared.search.response.answer import Answer

# With fewer of its sentences left the answer without a model says more.
LEAST_SHARE = 0.5
# How a sentence cites: a very sentence, an entry, what there is not, or nothing.
Cites = Literal["sentence", "entry", "unknown", "nothing"]
CHUNK_SECONDS = 0.05
_MARK = re.compile(r"\[([#\d][^\[\]]{0,80})\]")
_ENDED = re.compile(r"[.!?](?:\[[^\[\]]{0,80}\]|[^\w\[\]])*\Z")
_LAST_BLANK = re.compile(r"\s(?=\S*\Z)")


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a model, its cited sentences, and its flaw, if it has one."""

    text: str
    cited: tuple[Sentence, ...]
    flaw: Flaw | None
    cites: Cites
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class WordedAnswer:
    """A model's sentences, checked, and the answer that is made of those that hold."""

    sentences: Sequence[CheckedSentence]
    # None: too few hold.
    answer: Answer | None

    @property
    def grounding_score(self) -> float | None:
        """Return the share of its sentences that hold."""
        if not self.sentences:
            return None
        return round(1 - self.removed / len(self.sentences), 6)

    @property
    def removed(self) -> int:
        """Return how many of its sentences do not hold."""
        return sum(one.flaw is not None for one in self.sentences)

    @property
    def hallucinated(self) -> int:
        """Return how many marks name nothing that the model was given."""
        return sum(one.unknown for one in self.sentences)


def word_answer(
    prepared: PreparedAnswer,
    prompt: ModelPrompt,
    text: str,
    checker: Checker,
    *,
    is_cut: bool = False,
) -> WordedAnswer:
    """Return the model's checked sentences, and the answer that they make, if any.

    A refusal stands: it rests on slots that no wording fills. `is_cut`: the model was
    stopped at its longest answer.
    """
    sentences = _check_text(text, prompt, checker, is_cut=is_cut)
    held = [one for one in sentences if one.flaw is None]
    is_refused = prepared.answer.context.status == "insufficient"
    is_poor = not held or len(held) < LEAST_SHARE * len(sentences)
    if is_refused or is_poor or any(_is_lost(one, held) for one in prepared.filled):
        return WordedAnswer(sentences, None)
    is_whole = len(held) == len(sentences)
    answer = _compose(prepared, prompt, held, is_whole=is_whole)
    return WordedAnswer(sentences, answer)


def _is_lost(question: Question, held: Sequence[CheckedSentence]) -> bool:
    """Tell whether no sentence is of its kind: asked when, the model tells no time.

    Why something happened is told in too many ways.
    """
    return question.kind != "why" and not any(
        question.is_answered_by(one.text, cited.entry.row.language, cited.entry.people)
        for one in held
        for cited in one.cited
    )


def _check_text(
    text: str, prompt: ModelPrompt, checker: Checker, *, is_cut: bool = False
) -> list[CheckedSentence]:
    """Check a text of a model, its names put back, sentence by sentence.

    Where it cites nothing at all, each sentence is held against all that was given.
    Small models end in a loop: what is said again says nothing.
    """
    written = read_sentences(prompt.pseudonyms.show(text), prompt.marks)
    is_unmarked = not any(one.marks or one.unknown for one in written)
    among = list(chain(*prompt.given.values())) if is_unmarked else []
    checked = [_check(one, prompt, checker, among) for one in written]
    said: set[str] = set()
    for number, one in enumerate(checked):
        words = one.text.casefold()
        if words in said and one.flaw is None:
            checked[number] = replace(one, flaw="repeated")
        said.add(words)
    if is_cut and checked and not _ENDED.search(text):
        checked[-1] = replace(checked[-1], flaw=checked[-1].flaw or "cut")
    return checked


def _check(
    one: WrittenSentence,
    prompt: ModelPrompt,
    checker: Checker,
    among: Sequence[Sentence],
) -> CheckedSentence:
    cited = [mark.sentence for mark in one.marks if mark.sentence is not None]
    cites: Cites = "sentence" if cited else "unknown" if one.unknown else "nothing"
    for mark in one.marks:
        if mark.sentence is None:
            cites = "entry"
            cited += checker.nearest(one.text, prompt.given[mark.entry])
    if cites == "nothing":
        cited += checker.nearest(one.text, among)
    flaw = checker.find_flaw(one.text, cited)
    once = tuple({sentence.place: sentence for sentence in cited}.values())
    return CheckedSentence(one.text, once, flaw, cites, one.unknown)


def _compose(
    prepared: PreparedAnswer,
    prompt: ModelPrompt,
    held: Sequence[CheckedSentence],
    *,
    is_whole: bool,
) -> Answer:
    plain, marks = prepared.answer, prepared.marks
    is_unmarked = all(one.cites == "nothing" for one in held)
    cited = list({one.place: one for said in held for one in said.cited}.values())
    named = cited
    if is_unmarked:
        # Nobody knows which it means: all that it was given is named.
        named = [
            sentences[0]
            for entry, sentences in prompt.given.items()
            if sentences and marks.labels[entry.row.entry_id] in prompt.context.labels
        ]
    tenant = prepared.plan.scope.tenant
    citations = cite_sentences(named, marks.labels, tenant)
    # No wording makes more of an answer than it was.
    was_grounded = plain.context.status == "grounded"
    is_lowered = was_grounded and is_unmarked
    told = " ".join(close_sentence(one.text, "") for one in held)
    summary = (prepared.unfilled, told, prepared.unsearched)
    worth = replace(
        plain.context,
        status="clarify" if is_lowered else plain.context.status,
        code="fallback_citations" if is_lowered else plain.context.code,
        grade="C" if is_whole and was_grounded and not is_unmarked else "D",
        summary=" ".join(filter(None, summary)),
        evidence=[make_evidence(one, 1.0) for one in cited[:MOST_EVIDENCE]],
        citations=[one.label for one in citations][:MOST_EVIDENCE],
    )
    written = [_write(one, prepared, is_marked=not is_unmarked) for one in held]
    return replace(
        plain,
        text=" ".join(filter(None, (prepared.unfilled, *written))),
        source="llm",
        citation_mode="fallback_all" if is_unmarked else "cited",
        citations=citations if marks.is_shown else [],
        context=worth,
    )


def _write(one: CheckedSentence, prepared: PreparedAnswer, *, is_marked: bool) -> str:
    """Return a sentence with its marks, and a newer entry's other value, if any."""
    entries = dict.fromkeys(cited.entry for cited in one.cited)
    marks = " ".join(filter(None, map(prepared.marks.of, entries)))
    zone = prepared.plan.time.zone
    replaced = dict.fromkeys(
        say_replaced(one.text, entry, prepared.values, zone) for entry in entries
    )
    return close_sentence(one.text, marks if is_marked else "") + "".join(replaced)


class StreamedText:
    """Hands on what a model says in chunks that are read as they stand."""

    def __init__(
        self,
        prepared: PreparedAnswer,
        prompt: ModelPrompt,
        checker: Checker,
        hand_on: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._prepared = prepared
        self._prompt = prompt
        self._checker = checker
        self._hand_on = hand_on
        self._whole = self._held = ""
        self._judged = 0
        self._handed_at = 0.0

    @property
    def has_begun(self) -> bool:
        """Tell whether any text came; asking again would then show text twice."""
        return bool(self._whole)

    def hear(self, text: str) -> None:
        """Take text from the model; hand on whole words some twenty times a second."""
        self._whole += text
        self._held += text
        if time.monotonic() - self._handed_at >= CHUNK_SECONDS:
            end = _end_of_words(self._held)
            if end:
                self._hand(end)

    def end(self, *, is_cut: bool = False) -> None:
        """Hand on the rest, and judge the last sentence."""
        self._hand(len(self._held), is_last=True, is_cut=is_cut)

    def _hand(self, end: int, *, is_last: bool = False, is_cut: bool = False) -> None:
        said, self._held = self._held[:end], self._held[end:]
        checked = _check_text(
            self._whole[: len(self._whole) - len(self._held)],
            self._prompt,
            self._checker,
            is_cut=is_cut,
        )
        # The last one may go on.
        ended = checked if is_last else checked[:-1]
        judged = ended[self._judged :]
        self._judged = max(self._judged, len(ended))
        if not said and not judged:
            return
        self._handed_at = time.monotonic()
        verdicts = [
            {"text": one.text, "holds": one.flaw is None, "flaw": one.flaw}
            for one in judged
        ]
        self._hand_on({"text": self._shown(said), "sentences": verdicts})

    def _shown(self, said: str) -> str:
        marks, labels = self._prompt.marks, self._prepared.marks

        def label(match: re.Match[str]) -> str:
            names = [one.strip() for one in re.split(r"[,;]", match[1])]
            known = [marks[name].entry for name in names if name in marks]
            return " ".join(map(labels.of, dict.fromkeys(known)))

        return _MARK.sub(label, self._prompt.pseudonyms.show(said))


def _end_of_words(text: str) -> int:
    """Return where whole words end, and no mark is open."""
    opened = text.rfind("[")
    if opened > text.rfind("]"):
        text = text[:opened]
    blank = _LAST_BLANK.search(text)
    return blank.end() if blank else 0

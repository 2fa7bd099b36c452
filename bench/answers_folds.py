"""The weights of sentences, fitted to each part of the questions but one in turn.

What is left out says what the weights are worth to questions that they were not fitted
to. The parts are the logbooks, and five folds through both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean

from rich.console import Console
from rich.table import Table

from bench.answer_questions import KnownQuestion
from shared.answers.choice.choose_sentences import MOST_CHARACTERS
from shared.answers.choice.part_answer import Meanings, answer_part
from shared.answers.choice.sentence_score import SHIPPED, SentenceWeights
from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.question.question import Question, read_question
from shared.search.query.plan import Plan
from shared.text.facility.facility import Facility

# Each weight is tried so many times as large, the others as they are.
_TIMES = (0.5, 0.75, 1.33, 2.0)
_FOLDS = 5


@dataclass
class Case:
    """A question with the evidence that was found for it."""

    known: KnownQuestion
    entries: Sequence[EvidenceEntry]
    meanings: Meanings
    facility: Facility
    plan: Plan
    # By place, for an entry makes its candidates anew each time.
    _compared: dict[tuple[str, int], float] = field(default_factory=dict)

    def is_told(self, weights: SentenceWeights) -> bool:
        """Tell whether the sentences that these weights choose tell all facts."""
        question = read_question(self.plan, self.facility)
        part = answer_part(
            question,
            self.entries,
            self._compare,
            lambda _, __: (),
            MOST_CHARACTERS,
            weights=weights,
        )
        return self.known.is_told(" ".join(one.candidate.text for one in part.chosen))

    def _compare(
        self, question: Question, candidates: Sequence[Sentence]
    ) -> dict[Sentence, float]:
        """Compare each candidate once, whichever weights ask for it."""
        known = self._compared
        fresh = [one for one in candidates if one.place not in known]
        known |= {one.place: v for one, v in self.meanings(question, fresh).items()}
        return {one: known[one.place] for one in candidates if one.place in known}


def list_weights() -> list[SentenceWeights]:
    """Return the shipped weights, and each with one of them changed."""
    changed = [
        replace(SHIPPED, **{one.name: round(getattr(SHIPPED, one.name) * times, 3)})
        for one in fields(SentenceWeights)
        for times in _TIMES
    ]
    return [SHIPPED, *changed]


def show(cases: Iterable[Case]) -> None:
    """Print what each way to weigh comes to, and what each part makes of the others."""
    kept = list(cases)
    told = {
        weights: [float(one.is_told(weights)) for one in kept]
        for weights in list_weights()
    }
    sets = [one.known.name for one in kept]
    every = Table(title="facts told, by weights", title_justify="left")
    for heading in ("weights", *dict.fromkeys(sets)):
        every.add_column(heading)
    for weights, values in told.items():
        cells = (
            f"{_mean(values, [n for n, one in enumerate(sets) if one == name]):.3f}"
            for name in dict.fromkeys(sets)
        )
        every.add_row(_named(weights), *cells)
    folds = Table(title="left out, weighed as the others choose", title_justify="left")
    for heading in ("left out", "n", "chosen", "told", "told as shipped"):
        folds.add_column(heading)
    for name, left_out in _list_parts(kept):
        others = [n for n in range(len(kept)) if n not in set(left_out)]
        chosen = choose(told, others, sets)
        folds.add_row(
            name,
            str(len(left_out)),
            _named(chosen),
            f"{_mean(told[chosen], left_out):.3f}",
            f"{_mean(told[SHIPPED], left_out):.3f}",
        )
    console = Console(width=140)
    console.print(every)
    console.print(folds)


def choose(
    told: Mapping[SentenceWeights, Sequence[float]],
    among: Sequence[int],
    sets: Sequence[str],
) -> SentenceWeights:
    """Return what tells most, each set counting alike; of equals what is shipped."""
    names = {sets[n] for n in among}
    return max(
        told,
        key=lambda one: (
            fmean(
                _mean(told[one], [n for n in among if sets[n] == name])
                for name in names
            ),
            one == SHIPPED,
        ),
    )


def _list_parts(cases: Sequence[Case]) -> Iterable[tuple[str, list[int]]]:
    logbooks = [one.known.tenant for one in cases]
    for name in dict.fromkeys(logbooks):
        mine = [n for n, one in enumerate(logbooks) if one == name]
        if len(mine) < len(cases):
            yield name, mine
    for fold in range(_FOLDS):
        yield f"fold {fold + 1}", list(range(fold, len(cases), _FOLDS))


def _named(weights: SentenceWeights) -> str:
    if weights == SHIPPED:
        return "shipped"
    return ", ".join(
        f"{one.name} {getattr(weights, one.name):g}"
        for one in fields(SentenceWeights)
        if getattr(weights, one.name) != getattr(SHIPPED, one.name)
    )


def _mean(values: Sequence[float], places: Sequence[int]) -> float:
    return fmean(values[n] for n in places) if places else 0.0

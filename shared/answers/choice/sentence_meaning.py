"""How alike in meaning sentences are to a question, by the model that was searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shared.answers.choice.part_answer import Meanings
from shared.answers.evidence.evidence import Candidate
from shared.answers.question.question import Question
from shared.errors import EmbeddingGenerationError
from shared.log import get_logger
from shared.search.query.plan import Plan
from shared.search.ranking import calibration
from shared.search.results.conclude import Conclusion
from shared.search.retrieval.query_vectors import unpack_vector

if TYPE_CHECKING:
    from shared.search.retrieval.search_context import SearchContext

log = get_logger()


def make_meanings(
    context: SearchContext, plan: Plan, conclusion: Conclusion
) -> Meanings:
    """Return a function that compares candidates by meaning, or one that finds none."""
    found = next((one for one in conclusion.branches if one.model and one.vector), None)

    if found is None or found.model is None or found.vector is None:
        return no_meanings
    model, whole = found.model, unpack_vector(found.vector)

    def compare(
        question: Question, candidates: Sequence[Candidate]
    ) -> dict[Candidate, float]:
        if not candidates:
            return {}
        try:
            encoder = context.encoder(model)
            vector = whole
            if question.text != plan.query:
                (vector,) = context.query_vectors.of(encoder, [question.text])
            vectors = context.passage_vectors.of(
                encoder, [_with_title(one) for one in candidates]
            )
        except EmbeddingGenerationError as exc:
            # Words alone decide then.
            log.warning("sentences_not_compared", code=exc.error_code)
            return {}
        return {
            one: calibration.of_branch(float(passage @ vector), "cosine", model)
            for one, passage in zip(candidates, vectors, strict=True)
        }

    return compare


def no_meanings(_: Question, __: Sequence[Candidate]) -> dict[Candidate, float]:
    """Compare nothing: words alone decide."""
    return {}


def no_likeness(_: Question, candidates: Sequence[Candidate]) -> dict[Candidate, float]:
    """Compare as a model would that finds nothing alike: words alone must do."""
    return dict.fromkeys(candidates, 0.0)


def _with_title(one: Candidate) -> str:
    title = one.entry.row.title
    return f"{title}: {one.text}" if one.start is not None and title else one.text

"""How alike in meaning sentences are to a question, by the model that was searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from shared.answers.choice.part_answer import Meanings, PartAnswer
from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.evidence.translated_words import translate_entries
from shared.answers.question.question import Question, QuestionName
from shared.errors import EmbeddingGenerationError
from shared.log import get_logger
from shared.search.query.plan import Plan
from shared.search.ranking import calibration
from shared.search.results.conclude import Conclusion
from shared.search.retrieval.query_vectors import unpack_vector
from shared.vocabulary import common_words

if TYPE_CHECKING:
    from shared.embedding.models.sentence_encoder import SentenceEncoder
    from shared.search.retrieval.search_context import SearchContext

log = get_logger()


def make_meanings(
    context: SearchContext, plan: Plan, conclusion: Conclusion
) -> Meanings:
    """Return a function that compares candidates by meaning, or one that finds none."""
    found = next((one for one in conclusion.branches if one.model and one.vector), None)

    if found is None or found.model is None or found.vector is None:
        return no_meanings
    first, whole = found.model, unpack_vector(found.vector)

    def compare(
        question: Question, candidates: Sequence[Sentence]
    ) -> dict[Sentence, float]:
        cosines: dict[Sentence, float] = {}
        for model, among in _by_model(context, first, candidates).items():
            try:
                encoder = context.encoder(model)
                vector = whole
                if model != first or question.text != plan.query:
                    (vector,) = context.query_vectors.of(encoder, [question.text])
                vectors = context.passage_vectors.of(
                    encoder, [_with_title(one) for one in among]
                )
            except EmbeddingGenerationError as exc:
                # Words alone decide then.
                log.warning("sentences_not_compared", code=exc.error_code)
                continue
            cosines |= {
                one: calibration.of_branch(float(passage @ vector), "cosine", model)
                for one, passage in zip(among, vectors, strict=True)
            }
        return cosines

    return compare


def _by_model(
    context: SearchContext, first: str, candidates: Sequence[Sentence]
) -> dict[str, list[Sentence]]:
    """Return candidates by the model that compares them: the second in its languages.

    Cosines of the first to a text in a language that it does not speak are noise.
    """
    spoken = context.speaks(first)
    strange = {one.entry.row.language for one in candidates} - {*spoken}
    # Without languages a model speaks all of them.
    second = context.models.find_second() if spoken and strange else None
    models = {}
    if second is not None:
        models = dict.fromkeys(strange & {*context.speaks(second.model)}, second.model)
    found: dict[str, list[Sentence]] = {}
    for one in candidates:
        found.setdefault(models.get(one.entry.row.language, first), []).append(one)
    return found


def translate_evidence(
    context: SearchContext, part: PartAnswer, entries: Sequence[EvidenceEntry]
) -> list[EvidenceEntry] | None:
    """Return entries that know which of their words mean what a question says.

    None: there are none in another language, or the answer has no need of them. Of
    single words in several languages the second encoder alone knows the meaning.
    """
    second = context.models.find_second()
    if second is None:
        return None
    spoken = context.speaks(second.model)
    language = common_words.detect_language(part.question.text)
    others = {one.language for one in entries if one.language in spoken} - {language}
    is_answered = part.judgement.status == "grounded" and all(
        one.candidate.entry.language == language for one in part.chosen
    )
    # A device is called so in every language.
    is_unknown = any(isinstance(one, QuestionName) for one in part.unnamed)
    if is_answered or is_unknown or not others or language not in spoken:
        return None
    try:
        encoder = context.encoder(second.model)
        vectors = cast("SentenceEncoder", encoder).encode_words
        return translate_entries(part.question, language, others, entries, vectors)
    except EmbeddingGenerationError as exc:
        # What has the question's own words is there in any case.
        log.warning("words_not_translated", code=exc.error_code)
        return None


def no_meanings(_: Question, __: Sequence[Sentence]) -> dict[Sentence, float]:
    """Compare nothing: words alone decide."""
    return {}


def no_likeness(_: Question, candidates: Sequence[Sentence]) -> dict[Sentence, float]:
    """Compare as a model would that finds nothing alike: words alone must do."""
    return dict.fromkeys(candidates, 0.0)


def _with_title(one: Sentence) -> str:
    title = one.entry.row.title
    return f"{title}: {one.text}" if one.start is not None and title else one.text

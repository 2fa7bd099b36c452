"""The map of linear scores, with the model that ships, over what people have judged."""

import pytest

from bench import quality_engines
from local.server import StackFolders
from shared.access.scope import Scope
from shared.embedding import load_model
from shared.embedding.models.encoder_contract import encode_question
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.embedding.models.onnx_models import OnnxEncoder
from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.rank import rank
from tests.support.shared_data import RETRIEVAL, needs_shared_data

QUESTIONS, OTHERS = 8, 20
NO_WORDS = Outcome("os_bm25", "empty", "bm25")


@pytest.fixture(scope="session")
def encoder(place: StackFolders) -> OnnxEncoder:
    return OnnxEncoder(load_model.folder_of(place.cache, DEFAULT_MODEL))


def kept(mode: str, model: str, cosines: dict[str, float]) -> set[str]:
    """Return which of them a strict search keeps that meaning alone has found."""
    strict = {"strict": True, "min_relevance_score": 0.5}
    asked = SearchQuery("beam", mode=mode, limit=100, ordering=strict)
    plan = make_plan(asked, Scope("default", "anna"), PlanLimits())
    shared = {"kind": "note", "source": "api", "origin": "human", "revision": 1}
    hits = tuple(
        Candidate(
            entry_id=name,
            chunk_id=f"default/api/{name}#0000",
            score=cosine,
            entry_time="2026-01-01T00:00:00+00:00",
            **shared,  # type: ignore[arg-type]
        )
        for name, cosine in cosines.items()
    )
    near = Outcome("semantic", "ok", "cosine", hits=hits, model=model, vector="AAAA")
    found = [near] if mode == "semantic" else [NO_WORDS, near]
    assert len(plan.branches) == len(found)
    return {one.entry_id for one in rank(found, Facts(), plan).items}


@needs_shared_data
@pytest.mark.requirement("U18", "C08")
def test_what_is_relevant_and_found_by_meaning_alone_outlives_the_cut_beside_words(
    encoder: OnnxEncoder,
) -> None:
    read = quality_engines.read(RETRIEVAL / "vaswani", QUESTIONS)
    judged = {
        number: [text for text, grade in grades.items() if grade > 0]
        for number, grades in read.judged.items()
    }
    texts = sorted({text for relevant in judged.values() for text in relevant})
    read_by_model = encoder.encode([read.texts[text] for text in texts])
    vectors = dict(zip(texts, read_by_model, strict=True))
    # Of each: what is relevant, and what answers another question.
    found = {"hybrid": [0, 0], "semantic": [0, 0]}
    total = [0, 0]
    for number, relevant in judged.items():
        asked = encode_question(encoder, read.questions[number])
        others = [text for text in texts if text not in relevant][:OTHERS]
        cosines = {text: float(asked @ vectors[text]) for text in (*relevant, *others)}
        for mode, counts in found.items():
            left = kept(mode, encoder.model, cosines)
            counts[0] += len(left.intersection(relevant))
            counts[1] += len(left.intersection(others))
        total[0] += len(relevant)
        total[1] += len(others)
    relevant_kept, others_kept = found["hybrid"]
    assert relevant_kept >= total[0] / 2
    assert relevant_kept >= 0.7 * found["semantic"][0]
    assert others_kept <= total[1] / 50

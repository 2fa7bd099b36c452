"""An answer to known hits in camelCase: what is asked, and what its events say."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from api.search.routes import synthesize
from api.search.routes.advisory_ai import CamelSynthesisRequest, _spell_event


def test_it_is_asked_for_in_camel_case() -> None:
    asked = CamelSynthesisRequest.model_validate(
        {"query": "why", "entryIds": [str(UUID(int=1))], "includeCitations": False}
    )
    assert asked.entry_ids == [UUID(int=1)]
    assert not asked.include_citations


def test_names_of_fields_are_spelt_and_nothing_that_is_said() -> None:
    says = {
        "context_answer": {"status": "grounded", "unsupported": ["beam_loss"]},
        "citations": [{"entry_id": "1", "changed_since": None}],
        "grounding_score": 1.0,
        "sentences": [{"text": "beam_loss", "holds": True, "flaw": None}],
    }
    assert _spell_event(says) == {
        "contextAnswer": {"status": "grounded", "unsupported": ["beam_loss"]},
        "citations": [{"entryId": "1", "changedSince": None}],
        "groundingScore": 1.0,
        "sentences": [{"text": "beam_loss", "holds": True, "flaw": None}],
    }


def test_an_event_is_named_as_elsewhere() -> None:
    sent: Any = SimpleNamespace(job_id=UUID(int=1))
    text = synthesize._wire(sent, _spell_event, 2, "llm_chunk", {"text": "a_b"})
    assert text.decode() == (
        f'event: llm_chunk\ndata: {{"jobId":"{UUID(int=1)}","text":"a_b"}}\nid: 2\n\n'
    )

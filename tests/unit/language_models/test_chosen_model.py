"""Which model answers where: named once for all, or by a pipeline for itself."""

import subprocess
import sys
from typing import Any

import pytest
import yaml

from shared.errors import ConfigurationError
from shared.language_models.chosen_model import (
    ChosenModel,
    choose_model,
    has_model,
    make_client,
)
from shared.settings.settings import Settings

SHARED = "reasoning: {provider: here, model_id: big, temperature: 0.7}"


def settings(text: str) -> Settings:
    given: dict[str, Any] = yaml.safe_load(text) if text else {}
    return Settings.model_validate(given)


@pytest.mark.requirement("S1-31")
def test_shipped_settings_name_no_model():
    assert choose_model(settings(""), "rag") is None
    assert not has_model(settings(""), "synthesis")


@pytest.mark.requirement("S1-31", "S1-75", "S1-76")
def test_a_key_of_openai_is_enough_and_the_names_of_s1_act():
    given = Settings.load({"OPENAI_API_KEY": "k"})
    assert choose_model(given, "synthesis") == ChosenModel(
        "openai", "gpt-3.5-turbo", 0.3, 500
    )
    assert choose_model(given, "rag") == choose_model(given, "synthesis")
    named = {"SYNTHESIS_MODEL": "gpt-4o", "SYNTHESIS_MAX_TOKENS": "77"}
    given = Settings.load({"OPENAI_API_KEY": "k", **named})
    assert choose_model(given, "rag") == ChosenModel("openai", "gpt-4o", 0.3, 77)
    assert has_model(given, "rag")


@pytest.mark.parametrize(
    "for_others",
    [
        "search_modules: {semantic: {provider: openai}}",
        "embedding_model: 'openai:text-embedding-3-small'",
        "reranking: {model: 'openai:reranker'}",
    ],
)
def test_a_key_of_openai_for_vectors_or_reranking_lets_no_model_answer(for_others):
    key = "api: {providers: {openai: {api_key: k}}}\n"
    assert has_model(settings(key), "rag")
    assert not has_model(settings(key + for_others), "rag")
    named = "\nsynthesis: {provider: openai}"
    assert has_model(settings(key + for_others + named), "rag")


@pytest.mark.requirement("S0-62")
@pytest.mark.parametrize("purpose", ["rag", "agent", "synthesis"])
def test_who_reasons_is_named_once_for_all(purpose):
    assert choose_model(settings(SHARED), purpose) == ChosenModel(
        "here", "big", 0.7, 500
    )


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ("{provider: there, model: small}", ("there", "small", 0.3, 500)),
        ("{model: small}", ("here", "small", 0.7, 500)),
        ("{temperature: 0.0, max_tokens: 9}", ("here", "big", 0.0, 9)),
    ],
)
@pytest.mark.requirement("S0-58")
def test_a_pipeline_may_have_a_model_or_a_temper_of_its_own(own, wanted):
    given = settings(f"{SHARED}\npipelines: {{rag: {own}}}")
    assert choose_model(given, "rag") == ChosenModel(*wanted)
    assert choose_model(given, "agent") == ChosenModel("here", "big", 0.7, 500)


def test_a_provider_without_an_address_is_named_when_it_is_asked_for():
    given = settings(SHARED)
    chosen = choose_model(given, "rag")
    assert chosen is not None
    assert not has_model(given, "rag")
    with pytest.raises(ConfigurationError, match=r"api\.providers\.here\.base_url"):
        make_client(given, chosen)


_LOADED = """
import sys
import api.app, workers.tasks.agent, workers.tasks.answer
from shared.language_models import chosen_model
from shared.settings.settings import Settings

CLIENT = "shared.language_models.chat_client"
assert CLIENT not in sys.modules
given = {"LOGCHORD_API__PROVIDERS__HERE__BASE_URL": "http://127.0.0.1:1/v1",
         "LOGCHORD_REASONING__PROVIDER": "here", "LOGCHORD_REASONING__MODEL_ID": "tiny"}
settings = Settings.load(given)
chosen_model.make_client(settings, chosen_model.choose_model(settings, "agent"))
assert CLIENT in sys.modules
"""


@pytest.mark.requirement("S0-69")
def test_the_client_of_models_is_loaded_by_whoever_asks_one_first(tmp_path) -> None:
    subprocess.run([sys.executable, "-c", _LOADED], cwd=tmp_path, check=True)

"""A folder with a graph that reads pairs is a cross-encoder."""

from pathlib import Path

import pytest

from shared import errors
from shared.embedding import load_model
from shared.embedding.models.encoder_contract import CrossEncoder
from shared.settings.search_sections import RerankingSettings
from tests.support.pair_graph import save


def load(folder: Path) -> CrossEncoder:
    return load_model.load_cross_encoder(
        RerankingSettings(model=f"onnx:{folder}"), {}, folder
    )


@pytest.mark.parametrize("classes", [1, 2], ids=["one-logit", "two-classes"])
def test_question_and_text_are_read_together(tmp_path: Path, classes: int) -> None:
    encoder = load(save(tmp_path, classes=classes))
    found = encoder.logits("beam", ["dump", "valve", ""], 5.0)
    assert found == pytest.approx([3.5, -3.0, 1.0])
    assert encoder.logits("beam", [], 5.0) == []


def test_a_longer_text_is_cut_to_what_the_model_reads(tmp_path: Path) -> None:
    encoder = load(save(tmp_path))
    assert encoder.logits("beam", ["dump " * 20], 5.0) == pytest.approx([1.0 + 4 * 2.5])


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    encoder = load(save(tmp_path))
    with pytest.raises(errors.EmbeddingGenerationError):
        encoder.logits("beam", ["broken"], 5.0)


def test_out_of_time_it_is_late(tmp_path: Path) -> None:
    encoder = load(save(tmp_path))
    with pytest.raises(errors.LogchordError) as caught:
        encoder.logits("beam", ["dump"], 0.0)
    assert caught.value.error_code == "branch_timeout"


def test_a_folder_without_a_model_is_refused_by_its_setting(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigurationError, match="holds no whole model"):
        load(tmp_path)
    with pytest.raises(errors.ModuleNotEnabledError, match="No cross-encoder"):
        load_model.load_cross_encoder(RerankingSettings(), {}, tmp_path)
    assert not load_model.is_named(RerankingSettings().model, {})
    assert load_model.is_named(f"onnx:{tmp_path}", {})

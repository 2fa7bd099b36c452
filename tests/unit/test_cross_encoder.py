"""A folder with a graph that reads pairs is a cross-encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from shared.embedding import cross_encoders
from shared.embedding.cross_encoders import CrossEncoder
from shared.errors import (
    ConfigurationError,
    EmbeddingGenerationError,
    LogchordError,
    ModuleNotEnabledError,
)
from shared.settings_search import RerankingSettings

# What each word adds to the logit of a pair that has it.
WORTH = {"[UNK]": 0.0, "[CLS]": 0.0, "[SEP]": 0.0, "beam": 1.0, "dump": 2.5}
WORTH |= {"valve": -4.0, "broken": float("nan")}


def save(folder: Path, limit: int = 8, classes: int = 1) -> Path:
    """Write a graph that adds up what the words of both texts are worth."""
    numbers = {word: number for number, word in enumerate(WORTH)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.enable_truncation(limit)
    tokenizer.save(str(folder / "tokenizer.json"))
    # Of two classes the first is worth nothing.
    rows = [[0.0] * (classes - 1) + [worth] for worth in WORTH.values()]
    table = numpy_helper.from_array(np.array(rows, dtype=np.float32), "table")
    axes = numpy_helper.from_array(np.array([1], dtype=np.int64), "axes")
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["worth"]),
            helper.make_node("ReduceSum", ["worth", "axes"], ["logits"], keepdims=0),
        ],
        "pairs",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)],
        [table, axes],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    onnx.save(model, str(folder / "model.onnx"))
    return folder


def load(folder: Path) -> CrossEncoder:
    return cross_encoders.load(RerankingSettings(model=f"onnx:{folder}"), {})


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
    with pytest.raises(EmbeddingGenerationError):
        encoder.logits("beam", ["broken"], 5.0)


def test_out_of_time_it_is_late(tmp_path: Path) -> None:
    encoder = load(save(tmp_path))
    with pytest.raises(LogchordError) as caught:
        encoder.logits("beam", ["dump"], 0.0)
    assert caught.value.error_code == "branch_timeout"


def test_a_folder_without_a_model_is_refused_by_its_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no whole model"):
        load(tmp_path)
    with pytest.raises(ModuleNotEnabledError, match="No cross-encoder"):
        cross_encoders.load(RerankingSettings(), {})
    assert not cross_encoders.is_named(RerankingSettings().model, {})
    assert cross_encoders.is_named(f"onnx:{tmp_path}", {})

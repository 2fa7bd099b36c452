"""A folder of one's own with a graph and a tokenizer is a model, too."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from shared.embedding.load_model import load_encoder
from shared.embedding.vectors import chunks
from shared.errors import ConfigurationError

WORDS = ["[UNK]", "[CLS]", "[SEP]", "beam", "dump", "quench", "valve"]
WIDTH = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A graph that gives each piece a vector, as an export without pooling does."""
    numbers = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(10)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    rows = np.random.default_rng(7).normal(size=(len(WORDS), WIDTH))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(rows.astype(np.float32), "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    onnx.save(model, str(tmp_path / "model.onnx"))
    return tmp_path


def test_its_pieces_are_averaged_to_one_vector_of_length_one(folder: Path):
    encoder = load_encoder(f"onnx:{folder}", folder)

    found = encoder.encode(["beam dump", "quench", ""])

    assert (encoder.dimension, encoder.max_tokens) == (WIDTH, 8)
    assert found.shape == (3, WIDTH)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(found, encoder.encode(["beam dump", "quench", ""]))
    assert not np.allclose(found[0], found[1])


def test_a_longer_text_is_cut_to_what_its_tokenizer_says_that_it_reads(folder: Path):
    encoder = load_encoder(f"onnx:{folder}", folder)

    found = chunks.cut("beam dump quench valve " * 8, encoder, overlap=2)

    assert len(found) > 3
    assert all(encoder.count_tokens(one.text) <= 8 for one in found)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_refused_by_its_name(folder: Path, file: str):
    (folder / file).unlink()

    with pytest.raises(ConfigurationError, match=folder.name):
        load_encoder(f"onnx:{folder}", folder)


def test_a_graph_that_cannot_be_read_is_refused_with_the_reason(folder: Path):
    (folder / "model.onnx").write_bytes(b"no graph")

    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        load_encoder(f"onnx:{folder}", folder)

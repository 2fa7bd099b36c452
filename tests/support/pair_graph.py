"""Models that read question and text, small enough to be made by a test."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

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


# Of each word a vector, of any length.
PIECES = {"[UNK]": (0.0, 0.0), "beam": (2.0, 0.0), "dump": (0.0, 0.5)}
PIECES |= {"valve": (0.6, 0.8)}


def save_pieces(folder: Path) -> Path:
    """Write a graph that gives a vector for each word of a text."""
    numbers = {word: number for number, word in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    rows = np.array(list(PIECES.values()), dtype=np.float32)
    wide = [1, "n", rows.shape[1]]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["pieces"])],
        "pieces",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])],
        [helper.make_tensor_value_info("pieces", TensorProto.FLOAT, wide)],
        [numpy_helper.from_array(rows, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    onnx.save(model, str(folder / "model.onnx"))
    return folder

"""Weights to a model that runs: once per cache, whole or not at all."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.quant_utils import add_pre_process_metadata

from shared.embedding.models import minilm_weights, model_folder
from shared.embedding.models.minilm_weights import Tensors, WeightFiles
from shared.embedding.models.model_folder import Progress, log_progress
from shared.embedding.models.model_names import BUILT_IN, MINILM, MINILM_FP32, TOKENS
from shared.errors import ConfigurationError

# The model reads 256 pieces, of which two mark the beginning and the end.
MAX_TOKENS = 254
INT8, FP32 = MINILM, MINILM_FP32
MODELS = (INT8, FP32, TOKENS)
# The graph of all-MiniLM-L6-v2: BERT, mean pooling, unit length.
_LAYERS = 6
_HEADS = 12
_WIDTH = 384
_HEAD_WIDTH = _WIDTH // _HEADS
_NORM_EPSILON = 1e-12
_MASK_BIAS = 10_000.0
_OPSET = 20
_IR_VERSION = 9
# The smallest length that a vector is divided by: a text is never all zeros.
_SMALLEST_NORM = 1e-12


def ensure(
    cache: Path,
    model: str = INT8,
    *,
    progress: Progress = log_progress,
    source: WeightFiles | None = None,
) -> Path:
    """Return the folder of the model, made now if it is not there whole.

    Any number of processes may call at once: one converts, the others wait for it.
    """
    if model not in MODELS:
        message = (
            f"There is no embedding model {model!r}; known: {', '.join(BUILT_IN)}."
        )
        raise ConfigurationError(message, config_key="embedding_model")
    fill = partial(_fill, model=model, source=source, progress=progress)
    return model_folder.ensure(cache, model, fill, progress)


def _fill(
    folder: Path, model: str, source: WeightFiles | None, progress: Progress
) -> None:
    progress("checking the weights", 0, 4)
    source = source or minilm_weights.installed()
    source.check()
    progress("building the graph", 1, 4)
    tensors = minilm_weights.read_safetensors(source.safetensors)
    built = _build_graph(tensors, with_tokens=model == TOKENS)
    progress("writing the model", 2, 4)
    if model != FP32:
        _quantize(built, folder / model_folder.GRAPH_FILE)
    else:
        onnx.save(built, folder / model_folder.GRAPH_FILE)
    shutil.copyfile(source.tokenizer, folder / model_folder.TOKENIZER_FILE)
    progress("writing the manifest", 3, 4)
    manifest = model_folder.Manifest(
        model=model,
        dimension=_WIDTH,
        max_tokens=MAX_TOKENS,
        source_sha256=source.safetensors_sha256,
        converter_version=model_folder.CONVERTER_VERSION,
        files=model_folder.list_hashes(folder),
    )
    model_folder.write_manifest(folder, manifest)


def _quantize(built: ModelProto, path: Path) -> None:
    # Shapes are inferred already: without this mark the quantizer warns on stderr.
    add_pre_process_metadata(built)
    quantize_dynamic(
        built,
        path,
        weight_type=QuantType.QInt8,
        per_channel=True,
        extra_options={"MatMulConstBOnly": True},
    )


@dataclass
class _Drawing:
    """Nodes and constants of a graph in the making."""

    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, TensorProto] = field(default_factory=dict)

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants[name] = numpy_helper.from_array(
            np.ascontiguousarray(value), name
        )
        return name

    def floats(self, name: str, *values: float) -> str:
        return self.constant(name, np.array(values, dtype=np.float32))

    def integers(self, name: str, *values: int) -> str:
        return self.constant(name, np.array(values, dtype=np.int64))

    def node(
        self,
        kind: str,
        inputs: Sequence[str],
        output: str,
        **attributes: float | Sequence[int],
    ) -> str:
        node = helper.make_node(kind, inputs, [output], name=output)
        node.attribute.extend(
            helper.make_attribute(name, value) for name, value in attributes.items()
        )
        self.nodes.append(node)
        return output


def _build_graph(tensors: Tensors, *, with_tokens: bool = False) -> ModelProto:
    """Return the checked fp32 graph: ids and mask in, one unit vector a text out.

    With tokens a vector for each of its pieces comes out besides.
    """
    drawing = _Drawing()
    hidden = _embeddings(drawing, tensors)
    bias = _mask_bias(drawing)
    for number in range(_LAYERS):
        hidden = _layer(drawing, tensors, number, hidden, bias)
    _pool(drawing, hidden)
    return _model(drawing, hidden if with_tokens else None)


def _model(drawing: _Drawing, tokens: str | None) -> ModelProto:
    shape = ["batch", "length"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", _WIDTH])
    ]
    if tokens is not None:
        wide: list[str | int | None] = [*shape, _WIDTH]
        outputs.append(helper.make_tensor_value_info(tokens, TensorProto.FLOAT, wide))
    graph = helper.make_graph(
        drawing.nodes,
        "all-MiniLM-L6-v2",
        inputs,
        outputs,
        list(drawing.constants.values()),
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
    checker.check_model(model, full_check=True)
    return model


def _embeddings(drawing: _Drawing, tensors: Tensors) -> str:
    """Sum of the word's vector and the place's; one sentence, so one token type."""
    places = tensors["embeddings.position_embeddings.weight"]
    first_type = tensors["embeddings.token_type_embeddings.weight"][0]
    words = drawing.constant("words", tensors["embeddings.word_embeddings.weight"])
    places_name = drawing.constant("places", places + first_type)
    drawing.integers("zero", 0)
    drawing.integers("one", 1)
    drawing.integers("two", 2)
    word = drawing.node("Gather", [words, "input_ids"], "word")
    shape = drawing.node("Shape", ["input_ids"], "shape")
    length = drawing.node("Slice", [shape, "one", "two"], "length")
    place = drawing.node("Slice", [places_name, "zero", length, "zero"], "place")
    total = drawing.node("Add", [word, place], "word_and_place")
    return _norm(drawing, tensors, "embeddings.LayerNorm", total, "embedded")


def _mask_bias(drawing: _Drawing) -> str:
    """A large negative number where the mask is zero, by head and query."""
    mask = drawing.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    drawing.integers("head_axes", 1, 2)
    wide = drawing.node("Unsqueeze", [mask, "head_axes"], "mask_wide")
    lifted = drawing.node("Sub", [wide, drawing.floats("unity", 1.0)], "mask_lifted")
    return drawing.node("Mul", [lifted, drawing.floats("far", _MASK_BIAS)], "mask_bias")


def _layer(
    drawing: _Drawing, tensors: Tensors, number: int, hidden: str, bias: str
) -> str:
    source, short = f"encoder.layer.{number}", f"layer{number}"
    attended = _attention(drawing, tensors, number, hidden, bias)
    out = f"{source}.attention.output"
    dense = _dense(drawing, tensors, f"{out}.dense", attended, f"{short}.mixed")
    total = drawing.node("Add", [dense, hidden], f"{short}.mixed_sum")
    middle = _norm(drawing, tensors, f"{out}.LayerNorm", total, f"{short}.middle")
    up = _dense(drawing, tensors, f"{source}.intermediate.dense", middle, f"{short}.up")
    bent = drawing.node("Gelu", [up], f"{short}.gelu")
    down = _dense(drawing, tensors, f"{source}.output.dense", bent, f"{short}.down")
    total = drawing.node("Add", [down, middle], f"{short}.down_sum")
    return _norm(
        drawing, tensors, f"{source}.output.LayerNorm", total, f"{short}.hidden"
    )


def _attention(
    drawing: _Drawing, tensors: Tensors, number: int, hidden: str, bias: str
) -> str:
    source, short = f"encoder.layer.{number}.attention.self", f"layer{number}"
    query = _dense(drawing, tensors, f"{source}.query", hidden, f"{short}.query")
    key = _dense(drawing, tensors, f"{source}.key", hidden, f"{short}.key")
    value = _dense(drawing, tensors, f"{source}.value", hidden, f"{short}.value")
    queries = _heads(drawing, query, (0, 2, 1, 3))
    keys = _heads(drawing, key, (0, 2, 3, 1))
    values = _heads(drawing, value, (0, 2, 1, 3))
    scores = drawing.node("MatMul", [queries, keys], f"{short}.scores")
    root = drawing.floats("root", float(np.sqrt(_HEAD_WIDTH)))
    scaled = drawing.node("Div", [scores, root], f"{short}.scaled")
    masked = drawing.node("Add", [scaled, bias], f"{short}.masked")
    shares = drawing.node("Softmax", [masked], f"{short}.shares", axis=-1)
    context = drawing.node("MatMul", [shares, values], f"{short}.context")
    turned = drawing.node(
        "Transpose", [context], f"{short}.context_turned", perm=(0, 2, 1, 3)
    )
    flat = drawing.integers("flat_shape", 0, 0, _WIDTH)
    return drawing.node("Reshape", [turned, flat], f"{short}.context_flat")


def _heads(drawing: _Drawing, name: str, order: Sequence[int]) -> str:
    shape = drawing.integers("head_shape", 0, 0, _HEADS, _HEAD_WIDTH)
    split = drawing.node("Reshape", [name, shape], f"{name}.split")
    return drawing.node("Transpose", [split], f"{name}.heads", perm=order)


def _dense(
    drawing: _Drawing, tensors: Tensors, source: str, name: str, output: str
) -> str:
    weight = drawing.constant(f"{output}.weight", tensors[f"{source}.weight"].T)
    bias = drawing.constant(f"{output}.bias", tensors[f"{source}.bias"])
    product = drawing.node("MatMul", [name, weight], f"{output}.product")
    return drawing.node("Add", [product, bias], output)


def _norm(
    drawing: _Drawing, tensors: Tensors, source: str, name: str, output: str
) -> str:
    scale = drawing.constant(f"{output}.scale", tensors[f"{source}.weight"])
    shift = drawing.constant(f"{output}.shift", tensors[f"{source}.bias"])
    return drawing.node(
        "LayerNormalization",
        [name, scale, shift],
        output,
        axis=-1,
        epsilon=_NORM_EPSILON,
    )


def _pool(drawing: _Drawing, hidden: str) -> None:
    """Mean over the real tokens, brought to length one."""
    drawing.integers("last_axis", 2)
    column = drawing.node("Unsqueeze", ["mask", "last_axis"], "mask_column")
    real = drawing.node("Mul", [hidden, column], "real_tokens")
    total = drawing.node("ReduceSum", [real, "one"], "total", keepdims=0)
    count = drawing.node("ReduceSum", ["mask", "one"], "count", keepdims=1)
    mean = drawing.node("Div", [total, count], "mean")
    length = drawing.node("ReduceL2", [mean, "one"], "norm", keepdims=1)
    floor = drawing.floats("smallest_norm", _SMALLEST_NORM)
    safe = drawing.node("Max", [length, floor], "safe_norm")
    drawing.node("Div", [mean, safe], "vector")

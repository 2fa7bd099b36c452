"""The graph of all-MiniLM-L6-v2 in ONNX: BERT, mean pooling, unit length."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

from shared.embedding.models.minilm_weights import Tensors

LAYERS = 6
HEADS = 12
WIDTH = 384
HEAD_WIDTH = WIDTH // HEADS
NORM_EPSILON = 1e-12
MASK_BIAS = 10_000.0
OPSET = 20
IR_VERSION = 9
# The smallest length that a vector is divided by: a text is never all zeros.
SMALLEST_NORM = 1e-12


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


def build(tensors: Tensors, *, with_tokens: bool = False) -> ModelProto:
    """Return the checked fp32 graph: ids and mask in, one unit vector a text out.

    With tokens a vector for each of its pieces comes out besides.
    """
    drawing = _Drawing()
    hidden = _embeddings(drawing, tensors)
    bias = _mask_bias(drawing)
    for number in range(LAYERS):
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
        helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", WIDTH])
    ]
    if tokens is not None:
        wide: list[str | int | None] = [*shape, WIDTH]
        outputs.append(helper.make_tensor_value_info(tokens, TensorProto.FLOAT, wide))
    graph = helper.make_graph(
        drawing.nodes,
        "all-MiniLM-L6-v2",
        inputs,
        outputs,
        list(drawing.constants.values()),
    )
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
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
    return drawing.node("Mul", [lifted, drawing.floats("far", MASK_BIAS)], "mask_bias")


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
    root = drawing.floats("root", float(np.sqrt(HEAD_WIDTH)))
    scaled = drawing.node("Div", [scores, root], f"{short}.scaled")
    masked = drawing.node("Add", [scaled, bias], f"{short}.masked")
    shares = drawing.node("Softmax", [masked], f"{short}.shares", axis=-1)
    context = drawing.node("MatMul", [shares, values], f"{short}.context")
    turned = drawing.node(
        "Transpose", [context], f"{short}.context_turned", perm=(0, 2, 1, 3)
    )
    flat = drawing.integers("flat_shape", 0, 0, WIDTH)
    return drawing.node("Reshape", [turned, flat], f"{short}.context_flat")


def _heads(drawing: _Drawing, name: str, order: Sequence[int]) -> str:
    shape = drawing.integers("head_shape", 0, 0, HEADS, HEAD_WIDTH)
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
        epsilon=NORM_EPSILON,
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
    floor = drawing.floats("smallest_norm", SMALLEST_NORM)
    safe = drawing.node("Max", [length, floor], "safe_norm")
    drawing.node("Div", [mean, safe], "vector")

"""Weights to a model that runs: once per cache, whole or not at all."""

import shutil
from functools import partial
from pathlib import Path

import onnx
from onnx import ModelProto
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.quant_utils import add_pre_process_metadata

from shared.embedding.models import minilm_graph, minilm_weights, model_folder
from shared.embedding.models.minilm_weights import Weights
from shared.embedding.models.model_folder import Progress, log_progress
from shared.embedding.models.model_names import BUILT_IN, MINILM, MINILM_FP32, TOKENS
from shared.errors import ConfigurationError

# The model reads 256 pieces, of which two mark the beginning and the end.
MAX_TOKENS = 254
INT8, FP32 = MINILM, MINILM_FP32
MODELS = (INT8, FP32, TOKENS)


def ensure(
    cache: Path,
    model: str = INT8,
    *,
    progress: Progress = log_progress,
    source: Weights | None = None,
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


def _fill(folder: Path, model: str, source: Weights | None, progress: Progress) -> None:
    progress("checking the weights", 0, 4)
    source = source or minilm_weights.installed()
    source.check()
    progress("building the graph", 1, 4)
    tensors = minilm_weights.read_safetensors(source.safetensors)
    built = minilm_graph.build(tensors, with_tokens=model == TOKENS)
    progress("writing the model", 2, 4)
    if model != FP32:
        _quantize(built, folder / model_folder.GRAPH_FILE)
    else:
        onnx.save(built, folder / model_folder.GRAPH_FILE)
    shutil.copyfile(source.tokenizer, folder / model_folder.TOKENIZER_FILE)
    progress("writing the manifest", 3, 4)
    manifest = model_folder.Manifest(
        model=model,
        dimension=minilm_graph.WIDTH,
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

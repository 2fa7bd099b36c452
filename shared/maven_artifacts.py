"""Files of a Maven repository: fetched once, pinned by their content.

jgo writes straight to the final name and takes a half file for the artifact, so it
resolves into an empty folder beside the cache, and only a checked file moves on.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
import tenacity
import truststore

Progress = Callable[[int, int | None], None]

# What a bundle brings along: see `local/bundle.py`.
BUNDLED = Path(__file__).resolve().parents[1] / "bundled"
# What a killed process leaves; whoever holds the cache's lock may delete it.
LEFTOVERS = ".download-*"
_TRIES = 3
_TIMEOUT_SECONDS = 30


class ArtifactError(Exception):
    """What should have come over the wire did not; says why, and names no address."""


@dataclass(frozen=True)
class Artifact:
    """One file of a Maven repository, pinned by its content."""

    group: str
    name: str
    version: str
    packaging: str
    size: int
    sha512: str

    @property
    def filename(self) -> str:
        """Its name in the repository, and in the cache."""
        return f"{self.name}-{self.version}.{self.packaging}"


def obtain(
    artifact: Artifact, cache: Path, progress: Progress, repository: str | None = None
) -> Path:
    """Return the artifact's file in the cache, downloaded and checked if need be."""
    kept = cache / artifact.filename
    for there in (kept, BUNDLED / artifact.filename):
        if is_genuine(there, artifact):
            progress(artifact.size, artifact.size)
            return there
    retry = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(_TRIES),
        wait=tenacity.wait_random_exponential(multiplier=0.5, max=5),
        retry=tenacity.retry_if_exception_type((ArtifactError, OSError)),
        reraise=True,
    )
    try:
        retry(_download, artifact, kept, progress, repository)
    except requests.RequestException as error:
        raise ArtifactError(_reason(error)) from error
    return kept


def _download(
    artifact: Artifact, kept: Path, progress: Progress, repository: str | None
) -> None:
    folder = Path(tempfile.mkdtemp(dir=kept.parent, prefix=LEFTOVERS.rstrip("*")))
    try:
        with _system_certificates():
            came = _resolve(artifact, folder, progress, repository)
        if not is_genuine(came, artifact):
            raise ArtifactError(
                f"the download of {artifact.filename} is not the file that is "
                f"expected ({came.stat().st_size} of {artifact.size} bytes, sha512)"
            )
        came.replace(kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _resolve(
    artifact: Artifact, folder: Path, progress: Progress, repository: str | None
) -> Path:
    # A sixth of a second to import, which `logchord status` need not wait for.
    from jgo.maven import MavenContext, PythonResolver

    @contextmanager
    def bar(_: str, total: int) -> Iterator[Callable[[int], None]]:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done, total)

        yield advance

    context = MavenContext(
        resolver=PythonResolver(progress_callback=bar),
        repo_cache=folder,
        remote_repos={"given": repository} if repository else None,
        timeout=_TIMEOUT_SECONDS,
    )
    component = context.project(artifact.group, artifact.name).at_version(
        artifact.version
    )
    try:
        return Path(component.artifact(packaging=artifact.packaging).resolve())
    except RuntimeError as error:  # jgo's way to say that no repository has it
        raise ArtifactError(str(error)) from error


@contextmanager
def _system_certificates() -> Generator[None]:
    """Trust what the system trusts, unless the environment names a bundle."""
    if os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE"):
        yield
        return
    truststore.inject_into_ssl()
    try:
        yield
    finally:
        truststore.extract_from_ssl()


def is_genuine(path: Path, artifact: Artifact) -> bool:
    """Tell whether a file is the artifact, byte for byte."""
    if not path.is_file() or path.stat().st_size != artifact.size:
        return False
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha512").hexdigest()
    return digest == artifact.sha512


def _reason(error: requests.RequestException) -> str:
    """Name the kind of failure; the driver's own text names addresses."""
    if isinstance(error, requests.exceptions.SSLError):
        return "the certificate was not trusted"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy did not answer"
    if isinstance(error, requests.exceptions.Timeout):
        return "there was no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was cut"
    return "there was no connection"

"""Files of a Maven repository: fetched once, pinned by their content.

What comes lies in a folder beside the cache, and only a checked file moves on.
"""

import hashlib
import os
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
import tenacity
import truststore

Progress = Callable[[int, int | None], None]

# What a killed process leaves; whoever holds the cache's lock may delete it.
LEFTOVERS = ".download-*"
_TRIES = 3
_TIMEOUT_SECONDS = 30
_CENTRAL = os.environ.get("LOGCHORD_MAVEN", "")


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
    if is_genuine(kept, artifact):
        progress(artifact.size, artifact.size)
        return kept
    retry = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(_TRIES),
        wait=tenacity.wait_random_exponential(multiplier=0.5, max=5),
        retry=tenacity.retry_if_exception_type(
            (ArtifactError, OSError, httpx2.HTTPError)
        ),
        reraise=True,
    )
    try:
        retry(_download, artifact, kept, progress, repository)
    except httpx2.HTTPError as error:
        raise ArtifactError(_reason(error)) from error
    return kept


def _download(
    artifact: Artifact, kept: Path, progress: Progress, repository: str | None
) -> None:
    prefix = LEFTOVERS.rstrip("*")
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=prefix) as folder:
        came = Path(folder) / artifact.filename
        _stream(artifact, came, progress, repository or _CENTRAL)
        if not is_genuine(came, artifact):
            message = (
                f"the download of {artifact.filename} is not the file that is "
                f"expected ({came.stat().st_size} of {artifact.size} bytes, sha512)"
            )
            raise ArtifactError(message)
        came.replace(kept)


def _stream(
    artifact: Artifact, came: Path, progress: Progress, repository: str
) -> None:
    """Write what the repository sends, as far as it may be the artifact."""
    place = "/".join((*artifact.group.split("."), artifact.name, artifact.version))
    with (
        httpx2.stream(
            "GET",
            f"{repository.rstrip('/')}/{place}/{artifact.filename}",
            follow_redirects=True,
            timeout=_TIMEOUT_SECONDS,
            verify=_trusted(),
        ) as response,
        came.open("wb") as file,
    ):
        if response.status_code != httpx2.codes.OK:
            raise ArtifactError(f"the repository answered {response.status_code}")
        for chunk in response.iter_bytes():
            file.write(chunk)
            progress(file.tell(), artifact.size)
            if file.tell() > artifact.size:
                return


def _trusted() -> ssl.SSLContext:
    """Trust what the system trusts, unless the environment names a bundle."""
    names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    bundle = next(filter(None, map(os.environ.get, names)), None)
    if bundle is not None:
        return ssl.create_default_context(cafile=bundle)
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def is_genuine(path: Path, artifact: Artifact) -> bool:
    """Tell whether a file is the artifact, byte for byte."""
    if not path.is_file() or path.stat().st_size != artifact.size:
        return False
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha512").hexdigest()
    return digest == artifact.sha512


def _reason(error: httpx2.HTTPError) -> str:
    """Name the kind of failure; the driver's own text names addresses."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "the certificate was not trusted"
    if isinstance(error, httpx2.ProxyError):
        return "the proxy did not answer"
    if isinstance(error, httpx2.TimeoutException):
        return "there was no answer in time"
    if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
        return "the connection was cut"
    return "there was no connection"

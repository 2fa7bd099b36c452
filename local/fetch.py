"""OpenSearch from its Maven artifact into the cache, checked, whole or not at all."""

import shutil
import tempfile
import zipfile
from pathlib import Path

from local import service_user
from local.place import ServerError
from shared import maven_artifacts
from shared.maven_artifacts import Artifact, ArtifactError, Progress, is_genuine

VERSION = "3.8.0"
_TEMPLATE = f"opensearch-{VERSION}-2"  # the last number grows when `_patch` changes
_UNWANTED_LINES = {
    # The vector module is absent from the wheel's Java; logs and dumps would grow.
    "config/jvm.options": ("jdk.incubator.vector", "gc.log", "HeapDump", "hs_err_pid"),
    # Two launches of Java before the server's own: its version is known here, and
    # there is no keystore, so no password of one. An unset flag means no check.
    "bin/opensearch": ("CHECK_KEYSTORE=true",),
    "bin/opensearch-env": ("java_version_checker",),
}


OPENSEARCH = Artifact(
    "org.opensearch.distribution.integ-test-zip",
    "opensearch",
    VERSION,
    "zip",
    160_542_029,
    "8470fc447309e84216f9359030db53a85b087492e161e5ce1a29276e776d4725"
    "b802f93ba8d218ea88e4a7999addadb863be93b8e1f89e9a292163e636e62de3",
)
# The Java in the wheel lacks Thai, without which no index can be created.
LOCALES = (
    Artifact(
        "com.ibm.icu",
        "icu4j",
        "79.1",
        "jar",
        15_257_985,
        "7b090000f9b8cfc2281366a3aafbb5eeec704b75c078b30ad6c8cd833d266e83"
        "7fc5a70c902824077b30c48e4df161f623e27533d627d9c691cd3c606bad7a32",
    ),
    Artifact(
        "com.ibm.icu",
        "icu4j-localespi",
        "77.1",
        "jar",
        50_797,
        "e97262906d393229a26e7be64f19d1ba4eba8dffdf8d0b1b7622e81862c05140"
        "71fb872ff8b8dcee45709d04dcadab494e9b7a3db99bd5a4bc487878f7f482c4",
    ),
)


def fetch_opensearch(
    cache: Path,
    progress: Progress,
    zip_path: Path | None = None,
    repository: str | None = None,
) -> Path:
    """Return the unpacked distribution in the cache, fetched at most once.

    A given zip is used instead of a download, with the two jars beside it if they
    are there. Two processes may call this at once: one fetches, the other waits.
    """
    template = cache / _TEMPLATE
    if template.is_dir():
        return template
    _make_cache(cache)
    with service_user.locked(cache / "opensearch.lock"):
        if not template.is_dir():
            _clear_leftovers(cache)
            files = _files(cache, progress, zip_path, repository)
            unpack(files[0], files[1:], template)
    return template


def obtain(
    artifact: Artifact, cache: Path, progress: Progress, repository: str | None = None
) -> Path:
    """Return the artifact's file in the cache, downloaded and checked if need be."""
    try:
        return maven_artifacts.obtain(artifact, cache, progress, repository)
    except ArtifactError as error:
        raise ServerError(_missing(artifact, cache, str(error))) from error
    except OSError as error:
        message = f"{artifact.filename} cannot be kept in {cache}: {error}."
        raise ServerError(message) from error


def unpack(archive: Path, jars: list[Path], template: Path) -> None:
    """Unpack and patch a distribution; the folder appears whole or not at all."""
    fresh = Path(tempfile.mkdtemp(dir=template.parent, prefix=".unpack-"))
    try:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(fresh)
        (root,) = fresh.iterdir()
        _patch(root, jars)
        root.replace(template)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _files(
    cache: Path, progress: Progress, zip_path: Path | None, repository: str | None
) -> list[Path]:
    """Gather the zip and the jars, telling the progress over all of them."""
    wanted = [OPENSEARCH, *LOCALES]
    total = sum(artifact.size for artifact in wanted)
    files: list[Path] = []
    before = 0
    for artifact in wanted:
        given = _given(artifact, zip_path)
        done = before

        def report(part: int, _: int | None, done: int = done) -> None:
            progress(done + part, total)

        files.append(given or obtain(artifact, cache, report, repository))
        before += artifact.size
        progress(before, total)
    return files


def _given(artifact: Artifact, zip_path: Path | None) -> Path | None:
    if zip_path is None:
        return None
    if artifact is not OPENSEARCH:
        beside = zip_path.with_name(artifact.filename)
        return beside if is_genuine(beside, artifact) else None
    if not zip_path.is_file():
        raise ServerError(f"There is no file {zip_path} (from OPENSEARCH_ZIP).")
    if not is_genuine(zip_path, artifact):
        raise ServerError(
            f"{zip_path} is not the file {artifact.filename} of the Maven artifact "
            f"{artifact.group}:{artifact.name}:{artifact.version}: its sha512 differs."
        )
    return zip_path


def _patch(root: Path, jars: list[Path]) -> None:
    """Make the distribution run on a trimmed Java, and print to its output only."""
    for jar in jars:
        shutil.copyfile(jar, root / "lib" / jar.name)
    for name, unwanted in _UNWANTED_LINES.items():
        file = root / name
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not any(word in line for word in unwanted)]
        file.write_text("".join(kept), encoding="utf-8")
    for path in root.rglob("*"):
        runs = path.is_dir() or path.parent.name == "bin"
        path.chmod(0o755 if runs else 0o644)
    root.chmod(0o755)


def _make_cache(cache: Path) -> None:
    try:
        service_user.make_open(cache)
    except OSError as error:
        raise ServerError(
            f"The folder for downloads, {cache}, cannot be made: {error}. Set "
            "LOGCHORD_CACHE to a folder that may be written."
        ) from error


def _clear_leftovers(cache: Path) -> None:
    """Delete what a killed process left; the lock says that nobody is at work."""
    for pattern in (".unpack-*", maven_artifacts.LEFTOVERS):
        for leftover in cache.glob(pattern):
            shutil.rmtree(leftover, ignore_errors=True)


def _missing(artifact: Artifact, cache: Path, reason: str) -> str:
    names = ", ".join(each.filename for each in (OPENSEARCH, *LOCALES))
    return (
        f"{artifact.filename} ({artifact.size / 1e6:.0f} MB, for OpenSearch) is not in "
        f"{cache} and could not be downloaded: {reason}. Try again with a network; or "
        f"give the files {names} from another machine: set OPENSEARCH_ZIP to the zip, "
        "the jars beside it; or set OPENSEARCH_URL to a server that runs already; or "
        "set OPENSEARCH_URL=off to search with Postgres alone."
    )

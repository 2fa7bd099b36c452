"""What is done with OpenSearch's files, without any network."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from local import fetch
from local.place import ServerError
from shared.maven_artifacts import Artifact

JVM_OPTIONS = """## heap
-Xms1g
-XX:+HeapDumpOnOutOfMemoryError
-XX:HeapDumpPath=data
-XX:ErrorFile=logs/hs_err_pid%p.log
9-:-Xlog:gc*,gc+age=trace:file=logs/gc.log:utctime
20-:--add-modules=jdk.incubator.vector
21-:-javaagent:agent/opensearch-agent.jar
"""


def artifact_of(path: Path) -> Artifact:
    """Pin a file as it is."""
    content = path.read_bytes()
    digest = hashlib.sha512(content).hexdigest()
    return Artifact("g", path.stem, "1", "zip", len(content), digest)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Give a distribution as it comes, in small."""
    path = tmp_path / "opensearch.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("opensearch-3/bin/opensearch", "#!/bin/sh\nexec java\n")
        opened.writestr("opensearch-3/bin/opensearch-env", "export HOSTNAME\n")
        opened.writestr("opensearch-3/config/jvm.options", JVM_OPTIONS)
        opened.writestr("opensearch-3/lib/core.jar", "core")
    return path


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """Give one jar with locale data."""
    path = tmp_path / "icu4j.jar"
    path.write_text("locales")
    return path


def test_unpacking_patches_the_options_adds_the_jars_and_sets_modes(
    tmp_path: Path, archive: Path, jar: Path
) -> None:
    template = tmp_path / "template"
    fetch.unpack(archive, [jar], template)
    options = (template / "config" / "jvm.options").read_text()
    assert options == ("## heap\n-Xms1g\n21-:-javaagent:agent/opensearch-agent.jar\n")
    assert (template / "lib" / jar.name).read_text() == "locales"
    assert (template / "bin" / "opensearch").stat().st_mode & 0o777 == 0o755
    assert (template / "lib" / "core.jar").stat().st_mode & 0o777 == 0o644


def test_a_broken_archive_leaves_no_template_and_no_leftover(tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK half")
    with pytest.raises(zipfile.BadZipFile):
        fetch.unpack(broken, [], tmp_path / "template")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.zip"]


def test_a_genuine_file_in_the_cache_is_used_without_a_network(tmp_path, archive):
    artifact = artifact_of(archive)
    kept = tmp_path / artifact.filename
    archive.rename(kept)
    told: list[tuple[int, int | None]] = []
    found = fetch.obtain(artifact, tmp_path, lambda *parts: told.append(parts))
    assert found == kept
    assert told == [(artifact.size, artifact.size)]


def test_a_given_zip_that_is_absent_or_another_file_is_refused_by_name(
    tmp_path: Path, archive: Path
) -> None:
    absent = tmp_path / "absent.zip"
    for given, reason in ((absent, "There is no file"), (archive, "sha512 differs")):
        with pytest.raises(ServerError, match=reason) as caught:
            fetch.fetch_opensearch(tmp_path / "cache", lambda *_: None, given)
        assert str(given) in str(caught.value)


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ServerError, match="LOGCHORD_CACHE"):
        fetch.fetch_opensearch(tmp_path / "file" / "cache", lambda *_: None)


@pytest.mark.requirement("SEC16")
def test_every_file_of_opensearch_is_pinned_by_its_sha512() -> None:
    for artifact in (fetch.OPENSEARCH, *fetch.LOCALES):
        assert len(bytes.fromhex(artifact.sha512)) == 64
        assert artifact.size > 0

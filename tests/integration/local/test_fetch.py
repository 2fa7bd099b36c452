"""Downloads that go wrong: cut, forged, refused, without a network, without a home."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import tenacity

from local import fetch
from local.place import ServerError
from local.server import free_port
from shared import maven_artifacts
from shared.maven_artifacts import Artifact
from tests.support.commands import run_command

CONTENT = os.urandom(300_000)
ARTIFACT = Artifact(
    "org.example",
    "thing",
    "1.0",
    "zip",
    len(CONTENT),
    hashlib.sha512(CONTENT).hexdigest(),
)
REPOSITORY = Path(fetch.__file__).parent.parent


class Repository(ThreadingHTTPServer):
    """A Maven repository that serves one artifact, as badly as it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.content = CONTENT
        self.cut_next = 0
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    """Serve the artifact; cut the connection half way as often as told."""

    server: Repository

    def do_GET(self) -> None:
        if not self.path.endswith(ARTIFACT.filename):
            self.send_error(404)
            return
        self.server.asked.append(self.path)
        content = self.server.content
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.server.cut_next:
            self.server.cut_next -= 1
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        else:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def repository() -> Iterator[Repository]:
    """Give a repository of this test."""
    with Repository() as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once; how long the pauses are is not what is tested here."""
    monkeypatch.setattr(
        tenacity, "wait_random_exponential", lambda **_: tenacity.wait_none()
    )


def obtain(cache: Path, repository: Repository) -> Path:
    """Fetch the artifact from the test's repository."""
    return fetch.obtain(ARTIFACT, cache, lambda *_: None, repository.url)


def test_a_download_tells_its_progress_and_leaves_one_file(tmp_path, repository):
    told: list[tuple[int, int | None]] = []
    found = fetch.obtain(
        ARTIFACT, tmp_path, lambda *parts: told.append(parts), repository.url
    )
    assert found.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [found]
    assert told == sorted(told)
    assert told[-1] == (ARTIFACT.size, ARTIFACT.size)
    obtain(tmp_path, repository)
    assert len(repository.asked) == 1


def test_what_a_bundle_brought_along_is_not_fetched(tmp_path, repository, monkeypatch):
    bundled = tmp_path / "bundled"
    bundled.mkdir()
    monkeypatch.setattr(maven_artifacts, "BUNDLED", bundled)
    (bundled / ARTIFACT.filename).write_bytes(bytes(len(CONTENT)))
    assert obtain(tmp_path, repository) == tmp_path / ARTIFACT.filename
    (tmp_path / ARTIFACT.filename).unlink()
    (bundled / ARTIFACT.filename).write_bytes(CONTENT)
    assert obtain(tmp_path, repository) == bundled / ARTIFACT.filename
    assert len(repository.asked) == 1


def test_a_planted_half_file_is_replaced(tmp_path, repository):
    (tmp_path / ARTIFACT.filename).write_bytes(CONTENT[: len(CONTENT) // 2])
    assert obtain(tmp_path, repository).read_bytes() == CONTENT


def test_a_planted_file_of_the_right_size_is_replaced(tmp_path, repository):
    (tmp_path / ARTIFACT.filename).write_bytes(bytes(len(CONTENT)))
    assert obtain(tmp_path, repository).read_bytes() == CONTENT


@pytest.mark.parametrize("cuts", [1, 2])
def test_a_cut_connection_is_tried_again(tmp_path, repository, cuts):
    repository.cut_next = cuts
    assert obtain(tmp_path, repository).read_bytes() == CONTENT
    assert len(repository.asked) == cuts + 1


def test_after_three_cuts_the_message_says_what_is_missing_and_how_to_give_it(
    tmp_path, repository
):
    repository.cut_next = 99
    with pytest.raises(ServerError, match="could not be downloaded") as caught:
        obtain(tmp_path, repository)
    assert len(repository.asked) == 3
    assert_says_what_to_do(str(caught.value))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("SEC16")
def test_a_forged_file_is_never_kept(tmp_path, repository):
    repository.content = bytes(len(CONTENT))
    with pytest.raises(ServerError, match="is not the file that is expected"):
        obtain(tmp_path, repository)
    assert list(tmp_path.iterdir()) == []


def test_without_network_and_cache_the_message_says_what_to_do(tmp_path):
    nobody = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ServerError, match="there was no connection") as caught:
        fetch.fetch_opensearch(tmp_path / "cache", lambda *_: None, None, nobody)
    assert_says_what_to_do(str(caught.value))
    assert nobody not in str(caught.value)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["opensearch.lock"]


def assert_says_what_to_do(message: str) -> None:
    """Check that every way out is named."""
    for way in (
        "OPENSEARCH_ZIP",
        "OPENSEARCH_URL to a server",
        "OPENSEARCH_URL=off",
        fetch.OPENSEARCH.filename,
        *(jar.filename for jar in fetch.LOCALES),
    ):
        assert way in message


def test_two_processes_fetch_once(tmp_path, repository, monkeypatch):
    monkeypatch.setattr(fetch, "OPENSEARCH", ARTIFACT)
    monkeypatch.setattr(fetch, "LOCALES", ())
    monkeypatch.setattr(
        fetch, "unpack", lambda archive, _, template: shutil.copy(archive, template)
    )
    run = partial(
        fetch.fetch_opensearch, tmp_path, lambda *_: None, None, repository.url
    )
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(repository.asked) == 1


# The smallest real artifact, from the real repository, as somebody with nothing.
FETCH_SMALLEST = textwrap.dedent("""
    import pathlib, sys
    from local import fetch
    cache = pathlib.Path(sys.argv[1])
    print(fetch.obtain(fetch.LOCALES[1], cache, lambda *_: None).name)
""")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that another user can reach, unlike the tests' own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="logchord-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.timeout(180)
def test_an_unprivileged_user_with_an_empty_environment_can_download(open_folder):
    python, become = stranger(open_folder)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    environment = [f"PYTHONPATH={REPOSITORY}:{packages}", "PYTHONDONTWRITEBYTECODE=1"]
    script = [python, "-W", "error", "-c", FETCH_SMALLEST, str(open_folder)]
    done = run_command([*become, "env", "-i", *environment, *script], cwd="/")
    if "there was no connection" in done.stderr:
        pytest.skip("no network")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == fetch.LOCALES[1].filename


def stranger(folder: Path) -> tuple[str, list[str]]:
    """Return a Python that anybody may run, and how to become nobody as root."""
    if os.geteuid() != 0:
        return sys.executable, []
    os.chown(folder, 65534, 65534)
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    reads = ["-c", "open(__import__('sys').argv[1]).close()", fetch.__file__]
    for python in (sys.executable, system):
        tried = subprocess.run(
            [*become, "env", "-i", python, *reads],
            check=False,
            cwd="/",
            capture_output=True,
        )
        if tried.returncode == 0:
            return python, become
    pytest.skip("no Python, or not this clone, can be read by another user")

"""The client as a wheel: small, quick to import, and nothing of the server in it."""

import json
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.client_wheel import ROOT, build_client_wheel
from tests.support.commands import run_command

MOST_BYTES = 60_000
MOST_IMPORT_SECONDS = 0.15


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_client_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(folder: Path, code: str) -> str:
    """Run code for which the wheel and its two dependencies can be imported."""
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); "
    return run_command([sys.executable, "-I", "-c", start + code], check=True).stdout


def test_it_is_small_and_has_one_package(wheel: Path):
    assert wheel.stat().st_size <= MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (told,) = (name for name in names if name.endswith("METADATA"))
        metadata = archive.read(told).decode()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {
        "logchord_client"
    }
    needed = [
        line for line in metadata.splitlines() if line.startswith("Requires-Dist")
    ]
    assert [line.split()[1].partition("<")[0] for line in needed] == [
        "httpx2",
        "pydantic",
    ]


def test_it_has_the_version_of_the_server():
    read = [
        tomllib.loads((ROOT / place / "pyproject.toml").read_text("utf-8"))
        for place in (".", "client_package")
    ]
    assert len({one["project"]["version"] for one in read}) == 1


@pytest.mark.requirement("U35")
def test_it_needs_nothing_of_the_server(installed: Path):
    code = (
        "import json, logchord_client, logchord_client.errors as errors;"
        "import logchord_client.models as models;"
        "built = [getattr(models, one).model_rebuild() for one in models.__all__];"
        "client = logchord_client.Client('http://127.0.0.1:9');"
        "tops = {name.partition('.')[0] for name in sys.modules};"
        "print(json.dumps([sorted(tops), len(built), errors.NotFoundError.code]))"
    )
    tops, built, code = json.loads(run(installed, code))
    assert not set(tops) & {"api", "shared", "workers", "local", "fastapi", "celery"}
    assert built > 50
    assert code == "not_found"


@pytest.mark.alone
def test_it_is_imported_at_once(installed: Path):
    # By the processor: what else runs beside says nothing of the client.
    code = (
        "import time; began = time.process_time(); import logchord_client;"
        "print(time.process_time() - began)"
    )
    assert min(float(run(installed, code)) for _ in range(3)) <= MOST_IMPORT_SECONDS

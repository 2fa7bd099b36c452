"""Which Java OpenSearch gets."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import java


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that every user can reach, unlike the tests' own."""
    path = Path(tempfile.mkdtemp(dir="/tmp", prefix="logchord-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def install(home: Path, version: str) -> Path:
    """Make a Java home whose program tells this version, as Java does, on stderr."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize("version", ["21", "21.0.2", "25-ea"])
def test_a_java_home_that_is_new_enough_is_taken(folder, monkeypatch, version) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(folder / "jdk", version)))
    assert java.java_home() == folder / "jdk"


def test_a_java_on_the_path_comes_second(folder, monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(folder / "old", "17.0.15")))
    new = install(folder / "new", "24.0.1")
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert java.java_home() == new


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_402", "nonsense"])
def test_an_old_or_broken_java_gives_way_to_the_one_in_the_wheel(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(folder / "jdk", version)))
    monkeypatch.setenv("PATH", str(folder / "nothing"))
    home = java.java_home()
    assert home.name == "java-runtime"
    assert (home / "bin" / "java").is_file()


def test_a_java_home_that_does_not_exist_is_passed_over(folder, monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(folder / "absent"))
    monkeypatch.setenv("PATH", str(folder / "nothing"))
    assert java.java_home().name == "java-runtime"

"""The checks of .ci/ find what they are there to find."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
HASH = "--hash=sha256:" + "0" * 64


def script(name: str) -> ModuleType:
    """One of the scripts of .ci/, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(tmp_path, monkeypatch):
    module = script("check")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


@pytest.fixture
def licences():
    return script("licences")


@pytest.fixture
def make_venv(tmp_path, monkeypatch):
    module = script("make_venv")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "made-from")
    (tmp_path / ".ci").mkdir()
    text = "[project]\nname = 'logchord'\n"
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    for name in (module.UV_LOCK, *module.LOCKS, ".ci/make_venv.py"):
        (tmp_path / name).write_text(name, "utf-8")
    return module


def test_every_line_of_the_real_locks_has_a_hash():
    code, said = script("check").locks()
    assert code == 0, said


@pytest.mark.parametrize(
    "bare",
    [
        "celery==5.7.0",
        "celery>=5.7 \\\n    " + HASH,
        "celery @ https://example.org/celery \\\n    " + HASH,
        "celery==5.7.0 ; python_version < '3.12'",
        "-e .",
    ],
)
def test_a_lock_line_without_pin_or_hash_is_found(check, tmp_path, bare):
    good = f"kombu==5.7.0 \\\n    {HASH}\n    # via celery\n"
    (tmp_path / "requirements.txt").write_text(f"{good}{bare}\n", "utf-8")
    code, said = check.locks()
    assert code == check.FAILED
    assert bare.split()[0] in said


def test_no_lock_at_all_is_a_failure(check):
    assert check.locks()[0] == check.FAILED


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "Apache-2.0",
        "BSD License",
        "GPL-3.0 OR MIT",
        "Apache-2.0 AND BSD-2-Clause",
    ],
)
def test_a_free_licence_is_allowed(licences, licence):
    assert licences._is_allowed(licence)


@pytest.mark.parametrize(
    "licence", ["UNKNOWN", "GPL-3.0", "MIT AND GPL-3.0", "Proprietary", "", "AGPL; MIT"]
)
def test_any_other_licence_is_not(licences, licence):
    assert not licences._is_allowed(licence)


def test_setup_without_ensurepip_names_the_package_to_install(
    make_venv, monkeypatch, capsys
):
    monkeypatch.setattr(make_venv.importlib.util, "find_spec", lambda _: None)
    assert make_venv.main() == 2
    said = capsys.readouterr().err
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in said
    assert said.count("\n") == 1


def test_setup_does_nothing_when_nothing_changed(make_venv, monkeypatch, capsys):
    whole_venv(make_venv)
    make_venv.STAMP.write_text(make_venv._fingerprint(), "utf-8")
    monkeypatch.setattr(make_venv, "_make", pytest.fail)
    assert make_venv.main() == 0
    assert "is what the locks say" in capsys.readouterr().out


def test_setup_does_nothing_when_only_a_tool_is_configured_anew(
    make_venv, tmp_path, monkeypatch
):
    whole_venv(make_venv)
    make_venv.STAMP.write_text(make_venv._fingerprint(), "utf-8")
    with (tmp_path / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("[tool.ruff]\nline-length = 88\n")
    monkeypatch.setattr(make_venv, "_make", pytest.fail)
    assert make_venv.main() == 0


@pytest.mark.parametrize("change", ["lock", "project", "command"])
def test_setup_begins_again_when_something_changed(
    make_venv, tmp_path, monkeypatch, change
):
    whole_venv(make_venv)
    make_venv.STAMP.write_text(make_venv._fingerprint(), "utf-8")
    if change == "lock":
        (tmp_path / make_venv.LOCKS[0]).write_text("another pin", "utf-8")
    elif change == "project":
        text = "[project]\nname = 'logchord'\nscripts = {lc = 'api.cli.main:main'}\n"
        (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    else:
        (make_venv.VENV / "bin" / "logchord").unlink()
    made = []
    monkeypatch.setattr(make_venv, "_make", lambda: made.append(True))
    assert make_venv.main() == 0
    assert made == [True]
    assert make_venv.STAMP.read_text("utf-8") == make_venv._fingerprint()


def whole_venv(make_venv: ModuleType) -> None:
    commands = make_venv.VENV / "bin"
    commands.mkdir(parents=True)
    (commands / "python").symlink_to(sys.executable)
    (commands / "logchord").touch()


def test_uv_is_told_where_pip_takes_packages_from(make_venv, tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    environ = {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_FIND_LINKS": f"{wheels} {tmp_path}/absent https://links.example/",
        "PIP_CERT": "/etc/certificates.pem",
    }
    found = make_venv._as_uv_reads_it(sys.executable, dict(environ))
    assert found["UV_DEFAULT_INDEX"] == "https://index.example/simple"
    assert found["UV_FIND_LINKS"] == f"{wheels},https://links.example/"
    assert found["SSL_CERT_FILE"] == "/etc/certificates.pem"


def test_what_uv_was_told_by_hand_is_kept(make_venv):
    environ = {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": "https://index.example/simple",
        "UV_DEFAULT_INDEX": "https://other.example/simple",
    }
    found = make_venv._as_uv_reads_it(sys.executable, dict(environ))
    assert found["UV_DEFAULT_INDEX"] == "https://other.example/simple"


ON_SERVERS = "tests/faults/test_poison.py::test_an_entry"


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        ([ON_SERVERS], None),
        ([f"{ON_SERVERS}[{n}]" for n in range(50)], None),
        ([f"tests/faults/test_{n}.py::test_it" for n in "abc"], None),
        (
            [f"tests/faults/test_{n}.py::test_it" for n in "abcd"],
            "tests of 4 files failed, and of up to 3 may",
        ),
        ([], "tests of 0 files failed, and of up to 3 may"),
        (
            [ON_SERVERS, "tests/unit/test_log.py::test_it"],
            "tests/unit/test_log.py::test_it has no server to wait for",
        ),
        (
            ["tests/faults/test_poison.py"],
            "tests/faults/test_poison.py could not be read",
        ),
    ],
    ids=["one", "of one file", "three", "four", "none", "of a unit", "a file"],
)
def test_only_a_few_that_need_servers_run_once_more(failed, reason):
    assert script("again").why_not(failed) == reason


@pytest.mark.parametrize("passes", [True, False], ids=["passes", "fails"])
def test_what_fails_again_fails_the_run(passes, tmp_path, monkeypatch, capsys):
    again = script("again")
    monkeypatch.setattr(again, "ROOT", tmp_path)
    monkeypatch.setattr(again, "FAILED", tmp_path / "lastfailed")
    (tmp_path / "lastfailed").write_text(json.dumps({ON_SERVERS: True}), "utf-8")
    (tmp_path / ".ci").mkdir()
    suite = tmp_path / ".ci" / "test"
    suite.write_text(f"#!/bin/sh\nexit {0 if passes else 1}\n", "utf-8")
    suite.chmod(0o700)

    code = again.main()

    told = f"failed beside others, passed by itself: {ON_SERVERS}"
    assert (code == 0, told in capsys.readouterr().out) == (passes, passes)

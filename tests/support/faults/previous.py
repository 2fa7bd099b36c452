"""The previous release, out of this checkout's own history, to run beside this one."""

import io
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fixtures.system import ROOT

# Until a release carries a tag: the first state with this file reads of the plans and
# outcomes of a newer one what it knows, and its workers serve the queues of today.
_STANDS_BESIDE = "shared/pipelines/descriptor.py"
_TAGS = "v[0-9]*"


@dataclass(frozen=True)
class Release:
    """A release whose code lies in a folder, and what its processes say they are."""

    name: str
    folder: Path
    version: str


def find() -> str | None:
    """Return the latest tag before this commit, or what stands for one, if known."""
    tag = _git("describe", "--tags", "--abbrev=0", f"--match={_TAGS}", "HEAD^")
    if tag is not None:
        return tag.decode().strip()
    # In a shallow clone its oldest commit seems to have added everything.
    added = _git("log", "-1", "--diff-filter=A", "--format=%H", "--", _STANDS_BESIDE)
    if not added:
        return None
    commit = added.decode().strip()
    known = _git("rev-parse", "--verify", "--quiet", "--short=12", f"{commit}^")
    return None if known is None else commit


def unpack(name: str, folder: Path) -> Release:
    """Write the code of a release, with what it depends on in a `.venv` of its own.

    Its entry points and version are its own, too: in the folder of the code they are
    found before those that are installed.
    """
    packed = _git("archive", "--format=tar", name)
    commit = _git("rev-parse", "--short=12", f"{name}^{{commit}}")
    assert packed is not None
    assert commit is not None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    subprocess.run([sys.executable, ".ci/make_venv.py"], cwd=folder, check=True)
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    version = f"{project['version']}+{commit.decode().strip()}"
    known = folder / f"logchord-{version}.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: logchord\nVersion: {version}\n", "utf-8"
    )
    (known / "entry_points.txt").write_text(_entry_points(project), "utf-8")
    return Release(name, folder, version)


def _entry_points(project: dict[str, Any]) -> str:
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in points.items())
        for group, points in groups.items()
    )


def _git(*words: str) -> bytes | None:
    """Return what git says; None when it does not know, or is not there."""
    try:
        found = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, check=False
        )
    except FileNotFoundError:
        return None
    return found.stdout if found.returncode == 0 else None

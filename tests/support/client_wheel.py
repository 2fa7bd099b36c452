"""The Python client built from this tree, as `make client` builds it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build_client_wheel(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT / "client_package",
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel

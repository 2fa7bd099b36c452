"""Programs that tests run to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_command(
    argv: Sequence[str | Path], *, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program, and return how it ended and what it printed."""
    return subprocess.run(argv, check=check, capture_output=True, text=True, **options)

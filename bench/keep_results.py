"""Keeps what a bench has measured, beside when and on what machine."""

import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

RESULTS = Path(__file__).parent / "results"


def keep_results(bench: str, **measured: Any) -> None:
    """Write the numbers of a bench to a file of its name, in the place of the last."""
    told = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": psutil.cpu_count(),
        "load": psutil.getloadavg(),
        **measured,
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(told, indent=2) + "\n"
    (RESULTS / f"{bench}.json").write_text(text, encoding="utf-8")

"""The line that every experiment ends in: printed, kept, and shown in one table."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

import pytest

from tests.faults import size
from tests.fix_system import ROOT

KEPT = ROOT / "test-results" / "ledger.jsonl"

_lines: list[Line] = []


@dataclass(frozen=True)
class Line:
    """What every experiment ends in."""

    experiment: str
    seed: int
    accepted: int
    lost: int
    duplicate_effects: int
    extra_runs: int
    quarantined: int
    recovery_s: float
    # Documents that are not as Postgres has them; None without OpenSearch.
    drift: int | None
    # From accepted to the end of its last stage.
    slowest_s: float
    # Pairs of entry and stage that were claimed at all: what extra runs are a share of.
    stage_runs: int

    def __str__(self) -> str:
        """Return the one line that is printed."""
        fields = asdict(self)
        del fields["experiment"]
        shown = " ".join(f"{name}={value}" for name, value in fields.items())
        return f"{self.experiment} {shown}"


def record(line: Line) -> None:
    """Print an experiment's line, and keep it for the table and for later runs."""
    print(f"\n{line}")
    _lines.append(line)
    KEPT.parent.mkdir(exist_ok=True)
    kept = {"at": round(time.time()), "full": size.FULL, **asdict(line)}
    with KEPT.open("a", encoding="utf-8") as lines:
        lines.write(f"{json.dumps(kept)}\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show every experiment's line, one below the other."""
    if not _lines:
        return
    rows = [{key: str(value) for key, value in asdict(one).items()} for one in _lines]
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    terminalreporter.section("ledgers")
    terminalreporter.write_line("  ".join(key.ljust(widths[key]) for key in widths))
    for row in rows:
        terminalreporter.write_line(
            "  ".join(row[key].ljust(widths[key]) for key in row)
        )

"""The line that every experiment ends in: printed, kept, and shown in one table."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, fields

import pytest

from tests.faults import size
from tests.fix_system import ROOT

KEPT = ROOT / "test-results" / "ledger.jsonl"

# Where this run's lines begin in the file.
_BEGINS = pytest.StashKey[int]()


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
        rest = asdict(self)
        del rest["experiment"]
        shown = " ".join(f"{name}={value}" for name, value in rest.items())
        return f"{self.experiment} {shown}"


def record(line: Line) -> None:
    """Print an experiment's line, and keep it for the table and for later runs."""
    print(f"\n{line}")
    KEPT.parent.mkdir(exist_ok=True)
    kept = {"at": round(time.time()), "full": size.FULL, **asdict(line)}
    with KEPT.open("a", encoding="utf-8") as lines:
        lines.write(f"{json.dumps(kept)}\n")


def pytest_configure(config: pytest.Config) -> None:
    """Note what the file holds of earlier runs."""
    config.stash[_BEGINS] = KEPT.stat().st_size if KEPT.exists() else 0


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show every experiment's line, one below the other, whichever lane ran it."""
    if not KEPT.exists():
        return
    with KEPT.open("rb") as lines:
        lines.seek(config.stash[_BEGINS])
        kept = [json.loads(line) for line in lines]
    if not kept:
        return
    shown = [field.name for field in fields(Line)]
    rows = [[str(one[name]) for name in shown] for one in kept]
    widths = [max(map(len, column)) for column in zip(shown, *rows, strict=True)]
    terminalreporter.section("ledgers")
    for row in (shown, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells))

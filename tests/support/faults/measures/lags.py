"""How long after it was written upstream each entry was stored, source by source."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from tests.support.faults.measures.ledger import Ledger, p95
from tests.support.faults.upstreams import Logbook
from tests.support.fixtures.system import ROOT, System
from tests.support.statements import fetch_rows

_STORED: LiteralString = """
    SELECT e.source, e.external_id, e.id::text,
           extract(epoch FROM e.received_at)::float8,
           (SELECT count(*) FROM revision r WHERE r.entry_id = e.id)::int
      FROM entry e WHERE e.deleted_at IS NULL"""


@dataclass(frozen=True)
class Stored:
    """An entry of a logbook as the store has it."""

    entry_id: str
    at: float
    revisions: int


@dataclass(frozen=True)
class Lag:
    """How late the entries of one source were, in seconds."""

    entries: int
    mean: float
    p95: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Lag:
        """Return what describes these."""
        if not seconds:
            return cls(0, 0.0, 0.0, 0.0)
        mean = statistics.fmean(seconds)
        return cls(len(seconds), mean, p95(seconds), max(seconds))

    def __str__(self) -> str:
        return f"{self.entries:7} {self.mean:6.2f} {self.p95:6.2f} {self.most:6.2f}"


def stored(system: System) -> dict[tuple[str, str], Stored]:
    """Return every entry that is stored, by source and name."""
    found: list[tuple[Any, ...]] = fetch_rows(system.database, _STORED)
    return {(row[0], row[1]): Stored(*row[2:]) for row in found}


def missing(system: System, logbooks: Sequence[Logbook]) -> set[tuple[str, str]]:
    """Return what was written and is not stored, and what is and was not."""
    written = {(one.name, name) for one in logbooks for name in one.written}
    names = {one.name for one in logbooks}
    return written ^ {key for key in stored(system) if key[0] in names}


def lags(
    system: System, logbooks: Sequence[Logbook], began: float, ended: float
) -> dict[str, list[float]]:
    """Return how late each entry was that was written between the two, by source."""
    found = stored(system)
    return {
        one.name: [
            found[one.name, name].at - at
            for name, at in one.written.items()
            if began <= at <= ended
        ]
        for one in logbooks
    }


def keep(ledger: Ledger, logbooks: Sequence[Logbook]) -> None:
    """Enter into the ledger what was written; what is not stored counts as lost."""
    found = stored(ledger.system)
    for one in logbooks:
        for name, at in one.written.items():
            kept = found.get((one.name, name))
            ledger.times[kept.entry_id if kept else _nobodys(len(ledger.times))] = at


def show(experiment: str, lines: Sequence[str]) -> None:
    """Print a table, and keep it beside the results of the tests."""
    text = "\n".join(lines)
    print(f"\n{text}")
    place = ROOT / "test-results" / f"{experiment}-lags.txt"
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"{text}\n", "utf-8")


def table(
    calm: Mapping[str, list[float]], stormy: Mapping[str, list[float]]
) -> list[str]:
    """Return a line for each source, and one for all of them."""
    columns = f"{'entries':>7} {'mean':>6} {'p95':>6} {'most':>6}"
    lines = [f"{'lag in s':12} calm: {columns}   beside: {columns}"]
    for name in calm:
        both = f"      {Lag.of(calm[name])}           {Lag.of(stormy[name])}"
        lines.append(f"{name:12} {both}")
    everybodys = f"      {Lag.of(together(calm))}           {Lag.of(together(stormy))}"
    return [*lines, f"{'all of them':12} {everybodys}"]


def together(found: Mapping[str, list[float]]) -> list[float]:
    """Return the lags of all sources as those of one."""
    return [one for seconds in found.values() for one in seconds]


def _nobodys(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012}"

"""How well copies are told from other texts of their kind, and what placing costs."""

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, islice
from pathlib import Path
from uuid import UUID

import psycopg
from rich.console import Console
from rich.table import Table

from bench import logbook, rig
from bench.keep_results import keep_results
from shared.enrich import metadata
from shared.enrich.duplicates import groups, place_entry, unlike_entries
from shared.enrich.duplicates.similarity import Shape, are_alike, shape_of
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.text.analysis.analyser import Sections, analyse
from workers.tasks.duplicates import PLACE_BATCH

REAL = Path(__file__).parents[2] / "shared/data/logbooks/nrc_events_1999.jsonl.gz"
TENANT = "default"
TEXTS, QUICK_TEXTS = 1000, 200
# What people do with a text that they write a second time.
_MISTYPED = 0.03
# Entries that are there before: what a search for copies is slower by.
_BEFORE = 20
_MORE = "Update of the day shift: seen again, the group is informed and looks at it."


@dataclass(frozen=True)
class Told:
    """Pairs of texts: which are copies, and which were found to be."""

    kind: str
    copies: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.right / max(self.found, 1)

    @property
    def recall(self) -> float:
        """The share of the copies that was found."""
        return self.right / max(self.copies, 1)


@dataclass(frozen=True)
class Rate:
    """Entries that were placed by one session, one after the other."""

    name: str
    entries: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print tables, keep the numbers as JSON."""
    asked = _options(arguments)
    count = QUICK_TEXTS if asked.quick else TEXTS
    told = [_told(kind, copy, _texts(count, asked.texts)) for kind, copy in COPIES]
    told.append(_strangers(count))
    rates = _rates(count)
    _show(told, rates)
    if asked.keep:
        keep_results(
            "duplicates",
            told=[
                {**asdict(one), "precision": one.precision, "recall": one.recall}
                for one in told
            ],
            rates=[asdict(one) for one in rates],
        )


def _verbatim(_luck: random.Random, words: list[str]) -> list[str]:
    return words


def _mistyped(luck: random.Random, words: list[str]) -> list[str]:
    return [one[1:] + one[:1] if luck.random() < _MISTYPED else one for one in words]


def _continued(_luck: random.Random, words: list[str]) -> list[str]:
    return [*words, *_MORE.split()]


def _cut(_luck: random.Random, words: list[str]) -> list[str]:
    return words[: int(len(words) * 0.9)]


Copy = Callable[[random.Random, list[str]], list[str]]
COPIES: tuple[tuple[str, Copy], ...] = (
    ("word for word", _verbatim),
    ("3 % of the words mistyped", _mistyped),
    ("a sentence added", _continued),
    ("the last tenth cut off", _cut),
)


def _told(kind: str, copy: Copy, texts: list[str]) -> Told:
    """Copy every second text once, and see which pairs stand in one group."""
    luck = random.Random(kind)  # noqa: S311 - a test's luck
    shapes: list[Shape | None] = []
    copies = set()
    for number, text in enumerate(texts):
        words = text.split()
        shapes.append(_shape(words))
        if number % 2:
            copies.add((len(shapes) - 1, len(shapes)))
            shapes.append(_shape(copy(luck, words)))
    found = _pairs(shapes)
    return Told(kind, len(copies), len(found), len(found & copies))


def _strangers(count: int) -> Told:
    """Entries of one form about different things: none is another's copy."""
    texts = [one["text"] for one in logbook.entries(count * 2, seed=9)]
    found = _pairs([_shape(text.split()) for text in texts])
    # The same words can come twice by chance; then they are copies.
    same = {
        (one, other)
        for one, other in combinations(range(len(texts)), 2)
        if texts[one] == texts[other] and (one, other) in found
    }
    return Told("none: entries of one form", len(same), len(found), len(same))


def _shape(words: list[str]) -> Shape | None:
    return shape_of(analyse(Sections(text=" ".join(words)), "en").stream)


def _pairs(shapes: Sequence[Shape | None]) -> set[tuple[int, int]]:
    """Return the pairs of one group, by bands and what they have in common."""
    group = list(range(len(shapes)))
    by_band: defaultdict[int, list[int]] = defaultdict(list)
    for number, shape in enumerate(shapes):
        if shape is None:
            continue
        near = {other for band in shape.bands for other in by_band[band]}
        for other in near:
            is_other = shapes[other]
            if is_other is not None and are_alike(shape, is_other):
                group = _merged(group, group[number], group[other])
        for band in shape.bands:
            by_band[band].append(number)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for number, part in enumerate(group):
        members[part].append(number)
    return {pair for part in members.values() for pair in combinations(part, 2)}


def _merged(group: list[int], one: int, other: int) -> list[int]:
    return [other if part == one else part for part in group]


def _rates(count: int) -> list[Rate]:
    """Place entries of real servers, in batches as the stage does."""
    unlike = [one["text"] for one in logbook.entries(count, seed=3)]
    copies = [f"{_MORE} {_MORE[::-1]} {number % 20}" for number in range(count)]
    with rig.servers() as ground, psycopg.connect(ground.url) as conn:
        first = _rate(conn, "unlike one another", unlike, "human")
        before = _add_shapes(conn, count * _BEFORE, but=unlike)
        later = [one["text"] for one in logbook.entries(count, seed=4)]
        return [
            first,
            _rate(conn, f"the same, {before:,} shapes later", later, "human"),
            _rate(conn, "twenty groups of copies", copies, "human"),
            _rate(conn, "one series of a machine", copies, "machine"),
        ]


def _add_shapes(conn: psycopg.Connection, count: int, but: Sequence[str]) -> int:
    made = (one["text"] for one in logbook.entries(count, seed=5))
    texts = dict.fromkeys(made)
    for text in but:
        texts.pop(text, None)
    found = filter(None, (_shape(text.split()) for text in texts))
    shapes = list({shape.digest: shape for shape in found}.values())
    groups.add_alone(conn, TENANT, shapes)
    conn.commit()
    return len(shapes)


def _rate(
    conn: psycopg.Connection, name: str, texts: Iterable[str], origin: str
) -> Rate:
    drafts = [
        EntryDraft("bench", f"{name} {number}", text, origin=origin)
        for number, text in enumerate(texts)
    ]
    saved = save_page(conn, TENANT, drafts, stages=[], editor="bench")
    ids = [one.entry_id for one in saved]
    for part in _parts(ids, 100):
        for content in read_entries.load_contents(conn, TENANT, part).values():
            metadata.store(conn, content, metadata.extract(content, "en"))
    conn.commit()
    began = time.perf_counter()
    for part in _parts(ids, PLACE_BATCH):
        placed = unlike_entries.place(conn, TENANT, part)
        conn.commit()
        for entry_id in part:
            if entry_id not in placed:
                place_entry.place(conn, TENANT, entry_id)
                conn.commit()
    return Rate(name, len(ids), time.perf_counter() - began)


def _parts(ids: list[UUID], size: int) -> list[list[UUID]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]


def _texts(count: int, path: Path) -> list[str]:
    if not path.exists():
        return [one["text"] for one in logbook.entries(count, seed=5)]
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["event_text"] for line in islice(lines, count)]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.duplicates", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of the texts")
    parser.add_argument(
        "--texts",
        type=Path,
        default=REAL,
        help="real texts: JSON lines with `event_text`, gzipped; else generated ones",
    )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    return parser.parse_args(arguments)


def _show(told: list[Told], rates: list[Rate]) -> None:
    table = Table(title="Copies among texts of the same kind, in pairs")
    for column in ("copied", "copies", "found", "right", "precision", "recall"):
        table.add_column(column, justify="left" if column == "copied" else "right")
    for one in told:
        numbers = (one.copies, one.found, one.right)
        shares = (f"{one.precision:.3f}", f"{one.recall:.3f}")
        table.add_row(one.kind, *(f"{number:,}" for number in numbers), *shares)
    Console().print(table)
    table = Table(title="Entries placed by one session, in batches as the stage does")
    for column in ("", "entries", "entries/s"):
        table.add_column(column, justify="right" if column else "left")
    for rate in rates:
        per_second = rate.entries / rate.seconds
        table.add_row(rate.name, f"{rate.entries:,}", f"{per_second:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()

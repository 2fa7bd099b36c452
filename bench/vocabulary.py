"""What the vocabulary costs: the stage that keeps it, the count, and being asked."""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow
from rich.console import Console
from rich.table import Table

from bench import logbook, rig
from shared.enrich import metadata, recount_vocabulary
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.postgres.pool import make_pool
from shared.text.facility.facility import PLAIN
from shared.text.words.folding import stem
from shared.vocabulary import expand, learn_words
from shared.vocabulary.expand import Want
from shared.vocabulary.learn_words import Learnt, Read, SeenWords
from shared.work import chore_records

TENANT = "default"
ENTRIES, QUICK_ENTRIES = 8_000, 1_000
SIZES, QUICK_SIZES = (100_000, 1_000_000), (10_000,)
TIMES = 7
PAGE = 500

WANTS = (
    *(Want("wildcard", text) for text in ("injecti*", "ca*", "c*", "*vity", "c*ty")),
    *(Want("wildcard", text) for text in ("SR:C??-RF*", "*:hcm3")),
    *(Want("typo", text) for text in ("cavty", "vaccuum", "klystorn", "beam")),
)

_WORDS: LiteralString = "COPY lexeme (tenant, language, surface, stem, n) FROM STDIN"
_NAMES: LiteralString = "COPY ident (tenant, ident, n) FROM STDIN"
_CONSONANTS, _VOWELS = "bcdfghklmnprstvw", "aeiou"
_ENDINGS = ("", "", "ed", "ing", "s", "er", "ion", "ity", "al")
_REAL = ("cavity", "beam", "vacuum", "injection", "klystron")


@dataclass(frozen=True)
class Cost:
    """One line of the table."""

    name: str
    value: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on a Postgres of the bench's own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything")
    quick = parser.parse_args(arguments).quick
    found: list[Cost] = []
    with rig.servers() as ground, psycopg.connect(ground.url, autocommit=True) as conn:
        found += _of_the_stage(conn, QUICK_ENTRIES if quick else ENTRIES)
        found += _of_the_count(conn, ground.url)
        for size in QUICK_SIZES if quick else SIZES:
            conn.execute("TRUNCATE lexeme, ident")
            _fill(conn, size)
            found += _of_asking(conn, size)
    table = Table("what", "came to", title="The vocabulary")
    for one in found:
        table.add_row(one.name, one.value)
    Console().print(table)


def _of_the_stage(conn: Connection[TupleRow], count: int) -> Iterator[Cost]:
    """Enrich every second entry without the vocabulary, in one run."""
    ids = [*_saved(conn, count)]
    ways: list[Callable[..., Learnt]] = [_nothing, learn_words.learn]
    seconds: list[list[float]] = [[], []]
    known = SeenWords()
    for number, entry_id in enumerate(ids):
        way = number % 2
        learn_words.learn = ways[way]
        began = time.perf_counter()
        _enrich(conn, entry_id, known)
        seconds[way].append(time.perf_counter() - began)
    learn_words.learn = ways[1]
    # The first know nothing yet; a worker lives longer than they last.
    without, with_it = (statistics.fmean(way[len(way) // 4 :]) for way in seconds)
    yield Cost("metadata stage, an entry, without", f"{without * 1000:.2f} ms")
    yield Cost("metadata stage, an entry, with", f"{with_it * 1000:.2f} ms")
    yield Cost("with to without", f"{with_it / without:.2f}")


def _nothing(
    conn: Connection[TupleRow],
    tenant: str,
    texts: Iterable[tuple[str, Read]],
    known: SeenWords,
) -> Learnt:
    del conn, tenant, texts
    return Learnt(known, 0)


def _saved(conn: Connection[TupleRow], count: int) -> Iterator[UUID]:
    drafts = [
        EntryDraft("bench", f"{number}", one["text"])
        for number, one in enumerate(logbook.entries(count, seed=11))
    ]
    for first in range(0, count, PAGE):
        page = drafts[first : first + PAGE]
        with conn.transaction():
            saved = save_page(conn, TENANT, page, stages=[], editor="bench")
        yield from (one.entry_id for one in saved)


def _enrich(conn: Connection[TupleRow], entry_id: UUID, known: SeenWords) -> None:
    content = read_entries.load_contents(conn, TENANT, [entry_id])[entry_id]
    found = metadata.extract(content, "en")
    with conn.transaction():
        learnt = metadata.store(conn, content, found, known)
    if learnt is not None:
        learnt.remember()


def _of_the_count(conn: Connection[TupleRow], url: str) -> Iterator[Cost]:
    began = time.perf_counter()
    done, cursor = 0, None
    with make_pool(url, application="bench", size=2) as pool:
        while True:
            effect = recount_vocabulary.prepare(pool, cursor, done, PLAIN)
            with conn.transaction():
                progress: chore_records.Progress = effect(conn)
            cursor, done = progress.cursor, progress.done
            if cursor is None:
                break
    took = time.perf_counter() - began
    row = conn.execute("SELECT count(*), max(n) FROM lexeme").fetchone()
    words = row[0] if row else 0
    yield Cost("the count, entries a second", f"{done / took:.0f} ({words} words)")


def _fill(conn: Connection[TupleRow], size: int) -> None:
    rng = random.Random(size)  # noqa: S311 - no secret
    words = set(_REAL)
    while len(words) < size:
        syllables = rng.choices([1, 2, 3, 4], [1, 4, 4, 2])[0]
        parts = [
            rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + rng.choice(_CONSONANTS)
            for _ in range(syllables)
        ]
        words.add("".join(parts) + rng.choice(_ENDINGS))
    with conn.cursor() as cur, cur.copy(_WORDS) as copy:
        for word in words:
            language = rng.choice(["en"] * 7 + ["de"] * 2 + ["*"])
            often = int(rng.paretovariate(1))
            copy.write_row((TENANT, language, word, stem(word, language), often))
    with conn.cursor() as cur, cur.copy(_NAMES) as copy:
        for number in range(size // 10):
            cell, kind = number // 4 % 40, ("rf", "va", "mag", "bi")[number % 4]
            copy.write_row((TENANT, f"sr:c{cell:02}-{kind}:hcm{number // 160}", 1))
    conn.execute("VACUUM ANALYZE lexeme, ident")


def _of_asking(conn: Connection[TupleRow], size: int) -> Iterator[Cost]:
    for want in WANTS:
        seconds: list[float] = []
        found: Any = None
        for _ in range(TIMES):
            began = time.perf_counter()
            (found,) = expand.expand(conn, TENANT, [want])
            seconds.append(time.perf_counter() - began)
        terms = sum(map(len, found.stems.values())) + len(found.idents)
        said = ", ".join(found.spellings) or f"{terms} terms"
        took = statistics.median(seconds) * 1000
        yield Cost(f"{size:,} words: {want.text}", f"{took:.1f} ms, {said}")


if __name__ == "__main__":
    main()

"""Entries with vectors of their own, whatever text they would stand for."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.embedding.models.encoders import Vectors
from shared.embedding.vectors import vectors
from shared.embedding.vectors.chunks import Chunk

DIMENSION = 8
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

MakeEntry = Callable[..., UUID]


@pytest.fixture
def table(conn: Connection[TupleRow]) -> str:
    return vectors.ensure_table(conn, "knowledge_base", "Tiny-Model.v1", DIMENSION)


@pytest.fixture
def make_vector_entry(conn: Connection[TupleRow], table: str) -> MakeEntry:
    """Insert an entry with its vectors, bypassing the text it stands for."""

    def make(rows: Sequence[Sequence[float]] = ((1,),), **columns: Any) -> UUID:
        entry = {
            "id": uuid4(),
            "tenant": "lab",
            "source": "olog",
            "external_id": str(uuid4()),
            "revision": 1,
            "doc_version": 1,
            "content_hash": b"",
            "access_hash": b"",
            "kind": "entry",
            "origin": "human",
            "logbooks": ["ops"],
            "authors": [],
            "tags": [],
            "metadata": "{}",
            "entry_time": NOON,
        } | columns
        names = ", ".join(entry)
        values = ", ".join(f"%({name})s" for name in entry)
        conn.execute(f"INSERT INTO entry ({names}) VALUES ({values})", entry)
        entry_id = UUID(str(entry["id"]))
        vectors.store(
            conn,
            table,
            str(entry["tenant"]),
            entry_id,
            int(str(entry["revision"])),
            chunks_of(len(rows)),
            unit(*rows),
        )
        return entry_id

    return make


def chunks_of(count: int) -> list[Chunk]:
    return [Chunk(n, n * 10, n * 10 + 12, f"chunk {n}") for n in range(count)]


def unit(*rows: Sequence[float]) -> Vectors:
    array = np.zeros((len(rows), DIMENSION), dtype=np.float32)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(array / np.where(norms == 0, 1, norms), dtype=np.float32)

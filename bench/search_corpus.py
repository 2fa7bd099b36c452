"""A logbook of any size, stored as every stage would store it, ready to be searched.

The model reads the first entries. Vectors of the others are those moved by noise: to
embed a hundred thousand texts takes long, and searching them costs the same. Of a
hundred copies of each, most cannot be reached in the graph (the index found .33 of the
nearest ten), which is nobody's logbook; of ten copies of each it finds .97.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from bench import logbook, nearest_index
from shared.embedding.vectors import embed_entry
from shared.embedding.vectors.embed_entry import Embedded
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.opensearch import aliases, bulk, documents, mapping
from shared.postgres.pool import Pool, connection
from shared.vocabulary.learn_words import SeenWords

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from shared.embedding.models.encoder_contract import Encoder
    from shared.entries.reading.read_entries import Content
    from shared.settings.settings import Settings

TENANT = "default"
PAGE = 500
# What the model reads itself, and how far the others lie from one of these: nine of ten
# at the most are moved.
_LEAST_READ, _READ = 10_000, 0.1
_NOISE = 0.35


def read_by_the_model(entries: int) -> int:
    """Return of how many entries the model makes the vectors."""
    return min(entries, max(_LEAST_READ, round(_READ * entries)))


def fill(
    settings: Settings, pool: Pool, client: OpenSearch, encoder: Encoder, count: int
) -> str:
    """Store so many entries, vectors and documents; return the table of vectors."""
    index = settings.opensearch_index
    aliases.ensure_index(client, index)
    with connection(pool) as conn:
        prefix = settings.vector_table_prefix
        table = ensure_table(conn, prefix, encoder.model, encoder.dimension)
        nearest_index.drop(conn, table)
    some = drafts(count)
    known, words = _Vectors(encoder, read_by_the_model(count)), SeenWords()
    while page := list(islice(some, PAGE)):
        with connection(pool) as conn:
            saved = save_page(conn, TENANT, page, stages=[], editor="bench")
            read = read_entries.load_contents(
                conn, TENANT, [one.entry_id for one in saved]
            )
        found = [(one, metadata.extract(one, None)) for one in read.values()]
        vectors = [(one, known.of(one)) for one in read.values()]
        with connection(pool) as conn:
            # What is left due would be live work of so many, before all others.
            learnt = metadata.store_all(conn, TENANT, found, words, following=())
            embed_entry.store_all(conn, table, TENANT, vectors)
        if learnt is not None:
            learnt.remember()
        with connection(pool) as conn:
            loaded = documents.load(conn, TENANT, list(read))
        refused = bulk.write(client, mapping.write_alias(index), loaded)
        if refused:
            message = f"OpenSearch refused {len(refused)} documents."
            raise RuntimeError(message)
    client.indices.refresh(index=mapping.read_alias(index))
    with connection(pool) as conn:
        # To store each vector beneath its index would take longer than all the rest.
        # Of a million, a graph that does not fit would be finished on the disk.
        conn.execute("SET LOCAL maintenance_work_mem = '2GB'")
        nearest_index.build(conn, table)
        # This, too, takes longer than a statement of the product may.
        conn.execute("ANALYZE")
    return table


def drafts(count: int, *, first: int = 1) -> Iterator[EntryDraft]:
    """Yield so many entries of the logbook, from that number on."""
    for one in logbook.entries(count, first=first):
        # A word that no other entry has, as a ticket's number is.
        yield EntryDraft(
            "api",
            one["id"],
            f"{one['text']} Ticket {ticket(int(one['id']))}.",
            title=one["title"],
            authors=(one["author"],),
            logbooks=tuple(one["books"]),
            tags=tuple(one["tags"]),
            entry_time=datetime.fromisoformat(one["timestamp"]),
        )


def ticket(number: int) -> str:
    """Return the word of one entry alone."""
    return f"zt{number:06d}q"


class _Vectors:
    """The model's, of the first entries; of others one of these, moved by noise."""

    def __init__(self, encoder: Encoder, read: int) -> None:
        self._encoder, self._read = encoder, read
        self._real: list[Embedded] = []
        self._luck = np.random.default_rng(1)

    def of(self, content: Content) -> Embedded:
        """Return the vectors of an entry."""
        if len(self._real) < self._read:
            self._real.append(embed_entry.embed(content, self._encoder))
            return self._real[-1]
        return self._moved(self._real[self._luck.integers(len(self._real))])

    def _moved(self, one: Embedded) -> Embedded:
        noise = self._luck.normal(0, _NOISE / 20, one.vectors.shape)
        vectors = one.vectors + noise
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return Embedded(one.chunks, (vectors / lengths).astype(np.float32))

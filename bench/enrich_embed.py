"""The stage of vectors beside the bare encoder, and what the index of vectors costs."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from bench import enrich_texts, nearest_index
from bench.enrich_site import TENANT, Site
from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.vectors import vector_tables, vectors
from shared.embedding.vectors.chunks import Chunk
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.stage_names import embed_stage
from shared.postgres.pool import connection
from workers.runtime.worker_kinds import kind_of
from workers.tasks.enhance import EMBED_BATCH, embed_entries

# What a worker of vectors has.
THREADS = kind_of(("enhance.embed",)).concurrency
# Pieces of a text and the two marks around it are what the model reads.
_MARKS = 2
# By length and way: the share of the bare encoder that is aimed at, in percent.
AIMS = {
    (256, "live index"): 90,
    (60, "live index"): 70,
    (256, "index afterwards"): 90,
    (60, "index afterwards"): 90,
}
_COME, _NEAR = "as they come", "neighbours together"
ORDERS = ((1, _COME), (8, _COME), (64, _COME), (500, _COME), (500, _NEAR))
_DIRECTIONS = 300


@dataclass(frozen=True)
class Embedding:
    """The stage on texts of one length, and the bare encoder on the same."""

    pieces: int
    way: str
    texts: int
    seconds: float
    bare_seconds: float
    # To make the index of all rows, where it is made afterwards.
    build_seconds: float
    rows: int

    @property
    def percent(self) -> float:
        """Return the stage's share of the bare encoder's rate."""
        return 100 * self.bare_seconds / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class Insert:
    """How fast vectors go into a table with a live index, so many at a commit."""

    batch: int
    order: str
    rows: int
    seconds: float


def embedding(site: Site, standing: int, texts: int) -> list[Embedding]:
    """Measure every length, with the index live and with it made afterwards."""
    table = _stand(site, standing)
    found = []
    for at, (pieces, way) in enumerate(AIMS):
        # A text of 256 pieces takes four times as long as one of 60.
        count = texts if pieces < 100 else texts // 4  # noqa: PLR2004
        found.append(_one(site, table, pieces, way, count, seed=100 + at))
    return found


def _one(
    site: Site, table: str, pieces: int, way: str, count: int, *, seed: int
) -> Embedding:
    name = f"{pieces}-{seed}"
    drafts = list(
        enrich_texts.drafts(
            site.encoder, count, pieces=pieces - _MARKS, name=name, seed=seed
        )
    )
    texts = [draft.text for draft in drafts]
    stage = embed_stage(site.model)
    site.save(iter(drafts), [stage])
    if way != "live index":
        with site.patient() as conn:
            nearest_index.drop(conn, table)
    # Half before and half after, so that a machine that slows down hurts both.
    half = len(texts) // 2
    bare = _bare(site, texts[:half])
    took = site.drained(
        stage, lambda: embed_entries(site.ctx, site.model), threads=THREADS
    )
    bare += _bare(site, texts[half:])
    build = 0.0
    if way != "live index":
        began = time.perf_counter()
        with site.patient() as conn:
            nearest_index.build(conn, table)
        build = time.perf_counter() - began
    return Embedding(pieces, way, count, took, bare, build, _rows(site, table))


def _bare(site: Site, texts: Sequence[str]) -> float:
    """Encode the texts on as many threads, and do nothing else."""
    cut = [texts[at : at + EMBED_BATCH] for at in range(0, len(texts), EMBED_BATCH)]
    began = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(site.encoder.encode, cut):
            pass
    return time.perf_counter() - began


def inserts(site: Site, rows: int) -> list[Insert]:
    """Insert as many rows one by one, in batches, and in batches of neighbours."""
    table = _stand(site, 0)
    found = []
    for at, (batch, order) in enumerate(ORDERS):
        made = _vectors(site, rows, seed=50 + at)
        if order == _NEAR:
            made = made[np.argsort(_cluster(made), kind="stable")]
        found.append(_inserted(site, table, made, batch, order))
    return found


def _inserted(site: Site, table: str, made: Vectors, batch: int, order: str) -> Insert:
    (entry_id,) = _entries(site, 1)
    total = 0.0
    for at in range(0, len(made), batch):
        some = made[at : at + batch]
        began = time.perf_counter()
        _put(site, table, entry_id, at, some)
        total += time.perf_counter() - began
        # What stands is replaced; so each batch has an entry of its own.
        (entry_id,) = _entries(site, 1)
    return Insert(batch, order, len(made), total)


def _stand(site: Site, rows: int) -> str:
    """Have a table with so many vectors in it, so that its index has some depth."""
    encoder = site.encoder
    prefix = site.ctx.settings.vector_table_prefix
    with connection(site.ctx.pool) as conn:
        table = vector_tables.ensure_table(conn, prefix, site.model, encoder.dimension)
    for at in range(0, rows, 1000):
        made = _vectors(site, min(1000, rows - at), seed=at)
        (entry_id,) = _entries(site, 1)
        _put(site, table, entry_id, 0, made)
    return table


def _put(site: Site, table: str, entry_id: UUID, first: int, made: Vectors) -> None:
    # By a connection without a time limit: the machine may be busy.
    chunks = [Chunk(first + at, 0, 1, "") for at in range(len(made))]
    with site.patient() as conn:
        one = vectors.EntryVectors(entry_id, 1, chunks, made)
        vectors.store_all(conn, table, TENANT, [one])


def _directions(dimension: int) -> Any:
    return np.random.default_rng(7).normal(size=(_DIRECTIONS, dimension))


def _vectors(site: Site, rows: int, *, seed: int) -> Vectors:
    """Return vectors near a few hundred directions, as those of a logbook are."""
    luck = np.random.default_rng(seed)
    centres = _directions(site.encoder.dimension)
    made = centres[luck.integers(_DIRECTIONS, size=rows)]
    made = made + luck.normal(0, 0.6, made.shape)
    unit: Vectors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")
    return unit


def _cluster(made: Vectors) -> Any:
    """Return to which of the directions each is nearest."""
    return np.argmax(made @ _directions(made.shape[1]).T, axis=1)


_number: Iterator[int] = iter(range(10**9))


def _entries(site: Site, count: int) -> list[UUID]:
    drafts = [EntryDraft("api", f"v-{next(_number)}", "x") for _ in range(count)]
    with connection(site.ctx.pool) as conn:
        saved = save_page(conn, TENANT, drafts, stages=[], editor="bench")
    return [one.entry_id for one in saved]


def _rows(site: Site, table: str) -> int:
    with connection(site.ctx.pool) as conn:
        return vectors.count_embedded_entries(conn, table, TENANT)

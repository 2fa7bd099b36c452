"""Each stage's task in one process, and for the index the bare client beside it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from opensearchpy import OpenSearch, helpers

from bench import enrich_texts
from bench.enrich_site import TENANT, Site
from shared.messaging.stage_names import DUPLICATES_STAGE, INDEX_STAGE, METADATA_STAGE
from shared.opensearch import documents, mapping
from shared.opensearch.documents import Document
from shared.postgres.pool import connection
from shared.work import due_work
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import INDEX_MOST, index_entries

AIM_INDEX, AIM_INDEX_PERCENT = 3_000, 50
# What is written over what is there.
AGAIN = "over those that are there"
_BARE = "bench-bare"
_BULK = 1_000
_PATIENT_SECONDS = 60

_IDS: LiteralString = """
    SELECT id FROM entry WHERE tenant = %(tenant)s AND deleted_at IS NULL
     ORDER BY id LIMIT 1000000"""


@dataclass(frozen=True)
class Rate:
    """How fast one stage, or what it is held against, went through the entries."""

    name: str
    entries: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Entries a second."""
        return self.entries / max(self.seconds, 1e-9)


def stages(site: Site, count: int) -> list[Rate]:
    """Run metadata, duplicates and index over entries as a control room writes them."""
    site.save(enrich_texts.drafts(site.encoder, count), [METADATA_STAGE])
    ctx = site.ctx
    found = [
        Rate(
            METADATA_STAGE,
            count,
            site.drained(METADATA_STAGE, lambda: extract_metadata(ctx)),
        ),
        Rate(
            DUPLICATES_STAGE,
            count,
            site.drained(DUPLICATES_STAGE, lambda: place_entries(ctx)),
        ),
    ]
    ids = _ids(site)
    # Once to have the server warm, as one is that has run for a while.
    site.drained(INDEX_STAGE, lambda: index_entries(ctx))
    known = [one for batch in _loaded(site, ids) for one in batch]
    bare, again = _bare(site, known, size=_BULK)
    like_ours, _ = _bare(site, known, size=INDEX_MOST)
    _touch(site, ids)
    took = site.drained(INDEX_STAGE, lambda: index_entries(ctx))
    after, again_after = _bare(site, known, size=_BULK)
    found.append(Rate(INDEX_STAGE, len(ids), took))
    name = f"bare helpers.bulk, {_BULK} a call"
    found.append(Rate(name, len(ids), (bare + after) / 2))
    # As the stage does here: a document that is there already costs the server more.
    found.append(Rate(f"{AGAIN}, {name}", len(ids), (again + again_after) / 2))
    found.append(Rate(f"the same, {INDEX_MOST} a call", len(ids), like_ours))
    return found


def _ids(site: Site) -> list[UUID]:
    with connection(site.ctx.pool) as conn:
        return [row[0] for row in conn.execute(_IDS, {"tenant": TENANT}).fetchall()]


def _touch(site: Site, ids: list[UUID]) -> None:
    """Have every document written once more, of a newer version, as an edit does."""
    for at in range(0, len(ids), _BULK):
        some = ids[at : at + _BULK]
        with connection(site.ctx.pool) as conn:
            conn.execute(
                "UPDATE entry SET doc_version = doc_version + 1 WHERE id = ANY(%s)",
                (some,),
            )
            due_work.add(conn, TENANT, some, [INDEX_STAGE])


def _loaded(site: Site, ids: list[UUID]) -> Iterator[list[Document]]:
    for at in range(0, len(ids), _BULK):
        with connection(site.ctx.pool) as conn:
            yield documents.load(conn, TENANT, ids[at : at + _BULK])


def _bare(site: Site, known: list[Document], *, size: int) -> tuple[float, float]:
    """Write the same documents to an index of the same mapping by the bare client.

    Returns the seconds that it takes, and those that it takes once more.
    """
    client = site.ctx.opensearch
    assert client is not None
    patient = {"request_timeout": _PATIENT_SECONDS}
    ignore = {"ignore_unavailable": "true"}
    client.indices.delete(index=_BARE, params={**ignore, **patient})
    client.indices.create(index=_BARE, body=mapping.make_index_body(), params=patient)
    return _written(client, known, size), _written(client, known, size)


def _written(client: OpenSearch, known: list[Document], size: int) -> float:
    actions: Iterator[dict[str, Any]] = (
        {"_index": _BARE, "_id": str(one.entry_id), "_source": one.body}
        for one in known
    )
    began = time.perf_counter()
    done, _ = helpers.bulk(
        client, actions, chunk_size=size, request_timeout=_PATIENT_SECONDS
    )
    took = time.perf_counter() - began
    if done != len(known):
        message = f"the bare client wrote {done} of {len(known)} documents"
        raise RuntimeError(message)
    return took

"""Logbooks whose questions have known answers, put into servers of the bench's own."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from opensearchpy import OpenSearch

from bench import quality_engines, rig
from local import sample
from shared.access.cursors import Signer
from shared.embedding.load_model import load_encoder
from shared.embedding.models.encoder_contract import Encoder
from shared.embedding.models.model_names import DEFAULT_MODEL, SECOND
from shared.embedding.vectors import embed_entry, not_embedded
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.opensearch import aliases, bulk, documents, mapping
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.tenant_languages import WrittenIn
from shared.settings.settings import Settings

DATA = Path(__file__).parents[2] / "shared/data"
# Each in a facility of its own: none answers a question about the other.
SAMPLE, EVENTS = "sample", "events"
INDEX = "answers"
_KNOWN = {one.name for one in fields(EntryDraft)}
_SIGNER = Signer(b"bench", 60)
_ZONE = ZoneInfo("America/New_York")


@contextmanager
def filled(
    shown: Callable[[str], str], *, has_events: bool = True
) -> Iterator[SearchContext]:
    """Start servers, fill them with the logbooks, and give away what asks them.

    Both encoders read them, as in an installation that has entries in German. `shown`
    is what is stored of an event's title.
    """
    settings = Settings.load({})
    names = (DEFAULT_MODEL, SECOND)
    encoders = {one: load_encoder(one, settings.cache) for one in names}
    with rig.servers() as ground, rig.with_opensearch(ground) as url:
        client = make_client(Settings.load({"OPENSEARCH_URL": url}))
        assert client is not None
        with make_pool(
            ground.url, application="bench", size=4, statement_timeout_ms=60_000
        ) as pool:
            aliases.ensure_index(client, INDEX)
            for page in sample.pages():
                drafts = [make_draft(row) for row in page]
                _store(SAMPLE, drafts, encoders.values(), pool, client)
            rows = read_events() if has_events else []
            events = [make_event_draft(row, shown) for row in rows]
            for start in range(0, len(events), quality_engines.PAGE):
                page_of = events[start : start + quality_engines.PAGE]
                _store(EVENTS, page_of, encoders.values(), pool, client)
            client.indices.refresh(
                index=mapping.read_alias(INDEX), params=quality_engines.PATIENT
            )
            yield SearchContext(
                pool=pool,
                opensearch=lambda: client,
                index=INDEX,
                encoder=encoders.__getitem__,
                signer=lambda: _SIGNER,
                speaks=lambda model: not_embedded.spoken(model, settings),
                written_in=WrittenIn(),
            )


def read_events() -> list[dict[str, Any]]:
    """Return the notifications of one year, oldest first."""
    path = DATA / "logbooks/nrc_events_1999.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return sorted(rows, key=lambda row: int(row["event_number"]))


def title_of(row: dict[str, Any]) -> tuple[str, str]:
    """Return the first line of a notification, and what follows it."""
    title, _, text = row["event_text"].partition("\n")
    return title.strip(), text


def make_draft(row: dict[str, Any]) -> EntryDraft:
    """Return a row of the sample logbook as it is stored."""
    known = {name: value for name, value in row.items() if name in _KNOWN}
    for name in ("authors", "logbooks", "tags"):
        known[name] = tuple(known.get(name, ()))
    for name in ("entry_time", "event_time"):
        if known.get(name):
            known[name] = datetime.fromisoformat(known[name])
    return EntryDraft(**known)


def make_event_draft(row: dict[str, Any], shown: Callable[[str], str]) -> EntryDraft:
    """Return a notification as it is stored, of its title what is shown."""
    title, text = title_of(row)
    written = f"{row['notification_date']}T{row['notification_time'] or '12:00'}"
    return EntryDraft(
        source="nrc",
        external_id=str(row["event_number"]),
        title=shown(title),
        text=text or title,
        kind="incident",
        entry_time=datetime.fromisoformat(written)
        .replace(tzinfo=_ZONE)
        .astimezone(UTC),
        tags=(row["facility"] or row["licensee"] or "",),
    )


def _store(
    tenant: str,
    drafts: Sequence[EntryDraft],
    encoders: Iterable[Encoder],
    pool: Pool,
    client: OpenSearch,
) -> None:
    """Store a page of entries as every stage would."""
    with connection(pool) as conn:
        saved = save_page(conn, tenant, drafts, stages=[], editor="bench")
        ids = [one.entry_id for one in saved]
        tables = {
            one: ensure_table(conn, "bench", one.model, one.dimension)
            for one in encoders
        }
        contents = read_entries.load_contents(conn, tenant, ids)
        for content in contents.values():
            metadata.store(conn, content, metadata.extract(content, None))
    # Slow work, outside every transaction.
    embedded = [
        (table, one, embed_entry.embed(one, encoder))
        for encoder, table in tables.items()
        for one in contents.values()
    ]
    with connection(pool) as conn:
        for table, content, found in embedded:
            embed_entry.store_all(conn, table, content.tenant, [(content, found)])
    with connection(pool) as conn:
        loaded = documents.load(conn, tenant, ids)
        conn.execute("ANALYZE")
    refused = quality_engines.AGAIN(
        bulk.write, client, mapping.write_alias(INDEX), loaded
    )
    assert not refused

"""Both engines filled from the same rows, and what each of them finds."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from opensearchpy import OpenSearch

from local.server import Server
from shared.access.scope import Scope
from shared.embedding.models.encoders import HashingEncoder
from shared.embedding.vectors.live_models import InUse
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.opensearch import aliases, bulk, documents, mapping
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.query.plan import Limits, Question, make_plan
from shared.search.retrieval.circuit import Circuit
from shared.search.retrieval.freshness import Freshness
from shared.search.retrieval.installed_modules import module
from shared.search.retrieval.module_contract import Ask, Found, Tools
from shared.search.retrieval.query_vectors import QueryVectors
from shared.search.retrieval.tenant_languages import WrittenIn
from shared.settings.settings import Settings
from shared.text.facility.facility import PLAIN, Facility
from shared.vocabulary.learn_words import Known

TENANT = "default"
ANYBODY = Scope(TENANT, "anna")
ENGINES = ("pg_fts", "os_bm25")
# What is found in another way than it is asked for.
WIDER = frozenset({"fuzzy_fallback", "relaxed_to_any_term"})


@dataclass(frozen=True)
class Text:
    """One entry: what it says, and the language that its source is in."""

    name: str
    text: str
    language: str = "en"
    source: str = "api"
    logbooks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    readers: tuple[str, ...] | None = None
    entry_time: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Logbook:
    """Entries in both engines, and what each finds of them."""

    def __init__(self, database: str, client: OpenSearch) -> None:
        self.pool: Pool = make_pool(database, application="test", size=2)
        self.client = client
        self.index = f"t{secrets.token_hex(5)}"
        self.facility: Facility = PLAIN
        self.names: dict[str, str] = {}
        self.written_in = WrittenIn()
        aliases.ensure_index(client, self.index)

    def write(self, texts: Sequence[Text], own: Facility = PLAIN) -> None:
        """Save, enrich and index them all at once."""
        self.facility = own
        expected = {one.name: one.language for one in texts}
        drafts = [
            EntryDraft(
                one.source,
                one.name,
                one.text,
                logbooks=one.logbooks,
                tags=one.tags,
                authors=one.authors,
                readers=one.readers,
                entry_time=one.entry_time,
                metadata=dict(one.metadata),
            )
            for one in texts
        ]
        with connection(self.pool) as conn:
            saved = save_page(conn, TENANT, drafts, stages=[], editor="test")
            ids: list[UUID] = [one.entry_id for one in saved]
            self.names |= {str(one.entry_id): one.external_id for one in saved}
            contents = read_entries.contents(conn, TENANT, ids).values()
        # Outside of the transaction: it would be idle while long texts are read.
        read = [
            (content, metadata.extract(content, expected[content.external_id], own))
            for content in contents
        ]
        with connection(self.pool) as conn:
            for content, found in read:
                metadata.store(conn, content, found, Known())
        with connection(self.pool) as conn:
            loaded = documents.load(conn, TENANT, ids)
        assert not bulk.write(self.client, mapping.write_alias(self.index), loaded)
        self.client.indices.refresh(index=mapping.read_alias(self.index))

    def found(self, engine: str, query: str) -> set[str]:
        """Return the names of what one engine finds of words as they are spelt."""
        hits, notes = self.asked(engine, query)
        return set() if "fuzzy_fallback" in notes else hits

    def exactly(self, engine: str, query: str) -> set[str]:
        """Return the names of what is found as it is asked for, and no other way."""
        hits, notes = self.asked(engine, query)
        return set() if notes & WIDER else hits

    def asked(
        self, engine: str, query: str, mode: str = "keyword"
    ) -> tuple[set[str], set[str]]:
        """Return the names of what one engine finds, and what it says of it."""
        # Wide enough for every entry there is.
        question = Question(query, mode=mode, limit=100)
        # As it is where plain words beside another branch are joined by OR.
        plan = make_plan(question, ANYBODY, Limits(any_word=True))
        found: Found = module(engine).execute(Ask.lasting(plan, 10.0), self.tools())
        notes = {note.code for note in found.diagnostics}
        return {self.names[hit.entry_id] for hit in found.hits}, notes

    def tools(self) -> Tools:
        """Return what a worker would search it with."""
        return Tools(
            pool=self.pool,
            opensearch=lambda: self.client,
            index=self.index,
            similarity_threshold=None,
            models=InUse(self.pool, time.monotonic),
            encoder=lambda _: HashingEncoder(),
            query_vectors=QueryVectors(),
            freshness=Freshness(time.monotonic),
            circuit=Circuit(time.monotonic),
            facility=self.facility,
            written_in=self.written_in,
        )


@pytest.fixture
def logbook(database: str, opensearch: Server) -> Iterator[Logbook]:
    client = make_client(Settings.load({"OPENSEARCH_URL": opensearch.url}))
    assert client is not None
    made = Logbook(database, client)
    yield made
    made.pool.close()
    client.indices.delete(index=f"{made.index}-v*")
    client.close()

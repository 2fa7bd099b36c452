"""A judged collection in every engine: ours, and the bare ones beside them."""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tenacity
from opensearchpy import OpenSearch, helpers

from bench import rig
from shared.embedding.load_model import load_encoder
from shared.embedding.models.encoder_contract import Encoder, Vectors, encode_question
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.embedding.vectors import embed_entry
from shared.embedding.vectors.chunks import Chunk
from shared.embedding.vectors.embed_entry import Embedded
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.errors import OpenSearchError
from shared.opensearch import aliases, bulk, documents, mapping
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.retrieval.search_context import SearchContext
from shared.settings.settings import Settings
from shared.times.calendar import NO_CLOCK, Clock

VECTORS = Path(__file__).parent / "results" / "vectors"
TENANT, PAGE = "default", 500
ENGLISH = "bare-english"
# Nobody waits for the bench, and its machine may be busy.
PATIENT = {"request_timeout": 60}
# A page written twice is written once.
AGAIN = tenacity.Retrying(
    retry=tenacity.retry_if_exception_type(OpenSearchError),
    stop=tenacity.stop_after_attempt(6),
    reraise=True,
)


@dataclass(frozen=True)
class Collection:
    """Texts, questions, and which texts answer which question."""

    name: str
    texts: dict[str, str]
    questions: dict[str, str]
    judged: dict[str, dict[str, int]]
    # The entries of a logbook, and when and where it is asked.
    drafts: Mapping[str, EntryDraft] = field(default_factory=dict)
    clock: Clock = NO_CLOCK

    def draft(self, key: str) -> EntryDraft:
        """Return a text as it is stored."""
        text = self.texts[key] or "-"
        return self.drafts.get(key) or EntryDraft("api", key, text)


@dataclass
class Engines:
    """Where one collection has been put."""

    pool: Pool
    context: SearchContext
    client: OpenSearch
    encoder: Encoder
    # By the id of the entry, the id that the judgements know.
    names: dict[str, str]
    # One row a chunk, and which text it is of.
    vectors: Vectors
    owners: list[str]

    def english(self, question: str, count: int) -> dict[str, float]:
        """Return what OpenSearch finds with its own analysis of English, best first."""
        answer = self.client.search(
            index=ENGLISH,
            body={"size": count, "query": {"match": {"text": question}}},
            params={"_source": "false", **PATIENT},
        )
        return {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}

    def nearest(self, question: str, count: int) -> dict[str, float]:
        """Return the texts whose best chunk is nearest, by reading them all."""
        cosines = self.cosines(question)
        names = sorted(cosines, key=lambda name: (-cosines[name], name))[:count]
        return {name: cosines[name] for name in names}

    def cosines(self, question: str) -> dict[str, float]:
        """Return the cosine of every text's best chunk."""
        products = self.vectors @ encode_question(self.encoder, question)
        best: dict[str, float] = {}
        for owner, cosine in zip(self.owners, products.tolist(), strict=True):
            best[owner] = max(cosine, best.get(owner, -1.0))
        return best


def read(folder: Path, most: int | None) -> Collection:
    """Return a collection, or its first questions alone."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {str(one["id"]): one["text"] for one in map(json.loads, lines)}
    written = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line) for line in written][:most]
    questions = {str(one["id"]): one["text"] for one in asked}
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        question, text, grade = line.split("\t")
        if question in questions:
            judged.setdefault(question, {})[text] = int(grade)
    return Collection(folder.name, texts, questions, judged)


@contextmanager
def filled(collection: Collection) -> Iterator[Engines]:
    """Start servers of the bench's own and put the collection into them."""
    cache = Settings.load({}).cache
    encoder = load_encoder(DEFAULT_MODEL, cache)
    with rig.servers() as ground, rig.with_opensearch(ground) as url:
        client = make_client(Settings.load({"OPENSEARCH_URL": url}))
        assert client is not None
        pool = make_pool(
            ground.url, application="bench", size=4, statement_timeout_ms=60_000
        )
        with pool:
            yield _fill(collection, encoder, pool, client)


def _fill(
    collection: Collection, encoder: Encoder, pool: Pool, client: OpenSearch
) -> Engines:
    index = "quality"
    aliases.ensure_index(client, index)
    file = _kept_in(collection, encoder)
    embedded = _read(collection, encoder, file) if file.exists() else {}
    names: dict[str, str] = {}
    keys = list(collection.texts)
    for start in range(0, len(keys), PAGE):
        page = keys[start : start + PAGE]
        names |= _page(collection, page, embedded, encoder, pool, client, index)
    if not file.exists():
        _keep(collection, embedded, file)
    client.indices.refresh(index=mapping.read_alias(index), params=PATIENT)
    _put_bare(client, collection)
    context = SearchContext(
        pool=pool, opensearch=lambda: client, index=index, encoder=lambda _: encoder
    )
    with connection(pool) as conn:
        conn.execute("ANALYZE")
    owners = [key for key in keys for _ in embedded[key].chunks]
    vectors = np.concatenate([embedded[key].vectors for key in keys])
    return Engines(pool, context, client, encoder, names, vectors, owners)


def _page(
    collection: Collection,
    keys: Sequence[str],
    embedded: dict[str, Embedded],
    encoder: Encoder,
    pool: Pool,
    client: OpenSearch,
    index: str,
) -> dict[str, str]:
    """Store a page of texts as every stage would, and return the names of its ids.

    What has no vectors yet is embedded, which may take long: nothing is locked by it.
    """
    drafts = [collection.draft(key) for key in keys]
    with connection(pool) as conn:
        saved = save_page(conn, TENANT, drafts, stages=[], editor="bench")
        names = {one.entry_id: one.external_id for one in saved}
        table = ensure_table(conn, "bench", encoder.model, encoder.dimension)
        contents = read_entries.load_contents(conn, TENANT, list(names))
    for content in contents.values():
        if content.external_id not in embedded:
            embedded[content.external_id] = embed_entry.embed(content, encoder)
    with connection(pool) as conn:
        for content in contents.values():
            metadata.store(conn, content, metadata.extract(content, None))
            embed_entry.store_all(
                conn, table, content.tenant, [(content, embedded[content.external_id])]
            )
    with connection(pool) as conn:
        loaded = documents.load(conn, TENANT, list(names))
        # Of tables that it takes for empty Postgres makes plans for empty tables.
        conn.execute("ANALYZE")
    refused = AGAIN(bulk.write, client, mapping.write_alias(index), loaded)
    assert not refused
    return {str(entry_id): key for entry_id, key in names.items()}


def _put_bare(client: OpenSearch, collection: Collection) -> None:
    fields = {"text": {"type": "text", "analyzer": "english"}}
    shards: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0}
    body = {"settings": shards, "mappings": {"properties": fields}}
    client.indices.create(index=ENGLISH, body=body, params=PATIENT)
    actions = (
        {"_index": ENGLISH, "_id": key, "_source": {"text": text}}
        for key, text in collection.texts.items()
    )
    helpers.bulk(client, actions, chunk_size=2000, request_timeout=60)
    client.indices.refresh(index=ENGLISH, params=PATIENT)


def _kept_in(collection: Collection, encoder: Encoder) -> Path:
    told = hashlib.sha256(json.dumps(collection.texts).encode()).hexdigest()[:12]
    return VECTORS / f"{collection.name}-{encoder.model}-{told}.npz"


def _read(collection: Collection, encoder: Encoder, file: Path) -> dict[str, Embedded]:
    """Return the vectors of every text, as they were made once."""
    with np.load(file) as kept:
        vectors, places = kept["vectors"], kept["places"]
    rows: dict[int, list[int]] = {}
    for row, (number, *_) in enumerate(places.tolist()):
        rows.setdefault(number, []).append(row)
    found = {}
    for number, key in enumerate(collection.texts):
        mine = rows.get(number, [])
        stretches = (map(int, places[row][1:]) for row in mine)
        chunks = [Chunk(one, start, end, "") for one, start, end in stretches]
        found[key] = Embedded(chunks, vectors[mine].reshape(-1, encoder.dimension))
    return found


def _keep(collection: Collection, embedded: Mapping[str, Embedded], file: Path) -> None:
    places = [
        (number, chunk.number, chunk.start, chunk.end)
        for number, key in enumerate(collection.texts)
        for chunk in embedded[key].chunks
    ]
    vectors = [embedded[key].vectors for key in collection.texts]
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, vectors=np.concatenate(vectors), places=np.array(places))

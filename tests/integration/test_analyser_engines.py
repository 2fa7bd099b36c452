"""A question means the same in Postgres and in OpenSearch, in every language."""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from opensearchpy import OpenSearch

from local.server import Server
from shared.access.scope import Scope
from shared.embedding.encoders import HashingEncoder
from shared.embedding.in_use import InUse
from shared.enrich import metadata
from shared.entries import reading
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page
from shared.opensearch import aliases, bulk, documents, mapping
from shared.opensearch.client import make_client
from shared.postgres import Pool, connection, make_pool
from shared.query.plan import Limits, Question, make_plan
from shared.retrieval.circuit import Circuit
from shared.retrieval.freshness import Freshness
from shared.retrieval.module import Ask, Tools, module
from shared.retrieval.query_vectors import QueryVectors
from shared.settings import Settings
from shared.text import facility
from shared.text.facility import PLAIN, Facility

TENANT = "default"
ANYBODY = Scope(TENANT, "anna")
ENGINES = ("pg_fts", "os_bm25")


@dataclass(frozen=True)
class Text:
    """One entry: what it says, and the language that its source is in."""

    name: str
    text: str
    language: str = "en"


class Logbook:
    """Entries in both engines, and what each finds of them."""

    def __init__(self, database: str, client: OpenSearch) -> None:
        self.pool: Pool = make_pool(database, application="test", size=2)
        self.client = client
        self.index = f"t{secrets.token_hex(5)}"
        self.facility: Facility = PLAIN
        self.names: dict[str, str] = {}
        aliases.ensure_index(client, self.index)

    def write(self, texts: Sequence[Text], own: Facility = PLAIN) -> None:
        """Save, enrich and index them all at once."""
        self.facility = own
        expected = {one.name: one.language for one in texts}
        drafts = [EntryDraft("api", one.name, one.text) for one in texts]
        with connection(self.pool) as conn:
            saved = save_page(conn, TENANT, drafts, stages=[], editor="test")
            ids: list[UUID] = [one.entry_id for one in saved]
            self.names |= {str(one.entry_id): one.external_id for one in saved}
            for content in reading.contents(conn, TENANT, ids).values():
                language = expected[content.external_id]
                found = metadata.extract(content, language, own)
                metadata.store(conn, content, found)
            loaded = documents.load(conn, TENANT, ids)
        assert not bulk.write(self.client, mapping.write_alias(self.index), loaded)
        self.client.indices.refresh(index=mapping.read_alias(self.index))

    def found(self, engine: str, query: str) -> set[str]:
        """Return the names of what one engine finds."""
        # Wide enough for every entry there is.
        question = Question(query, mode="keyword", limit=100)
        plan = make_plan(question, ANYBODY, Limits())
        found = module(engine).execute(Ask.lasting(plan, 5.0), self._tools())
        return {self.names[hit.entry_id] for hit in found.hits}

    def _tools(self) -> Tools:
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
        )


@pytest.fixture
def logbook(database: str, opensearch: Server) -> Iterator[Logbook]:
    client = make_client(Settings.load({"OPENSEARCH_URL": opensearch.url}))
    assert client is not None
    made = Logbook(database, client)
    yield made
    made.pool.close()
    client.indices.delete(index=f"{made.index}-v*")


# (language, text, what finds it, what does not)
PAIRS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("en", "Two cavities were detuned", ("cavity", "cavity\u2019s"), ("cave",)),
    ("en", "Signed by J. Müller", ("Müller", "Muller", "Mueller"), ("Miller",)),
    ("en", "Signed by H. Schroeder", ("Schröder", "schroeder"), ("Schreder",)),
    ("en", "valve off, not down", ('"not down"', "off"), ('"off down"',)),
    ("en", "the pump\u2019s seal", ("pump's", "pump", "pumps"), ("pumice",)),
    (
        "de",
        "Kühlwasserdurchfluss zu klein",
        ("Kühlwasser", "Kuehlwasser", "kuhlwasser", "Durchfluss", "Wasserdurchfluss"),
        ("Wasserdampf", "klein -Kühlwasser"),
    ),
    (
        "de",
        "Mehrere Störungen am Klystron",
        ("Störung", "Stoerung", "storung"),
        ("Zerstörung",),
    ),
    ("de", "Die Vakuum-Pumpe steht", ("Vakuumpumpe", "Pumpen"), ("Vorpumpe",)),
    ("de", "Stromausfälle in der Nacht", ("Ausfall", "Strom"), ("Abfall",)),
    (
        "fr",
        "Des défauts sur l\u2019aimant",
        ("défaut", "defaut", "aimants"),
        ("debut",),
    ),
    ("fr", "La pompe à vide s'est arrêtée", ("arrete", "l'arrêt", "vide"), ("vice",)),
    (
        "it",
        "Perdite d'acqua nell\u2019anello",
        ("perdita", "acqua", "anello"),
        ("aria",),
    ),
    ("it", "La velocità è bassa", ("velocita", "velocità"), ("vento",)),
    ("es", "Válvulas de vacío cerradas", ("valvula", "vacio", "cerrada"), ("vacuna",)),
    ("es", "El haz se perdió", ("perdio", "haz"), ("luz",)),
    ("ja", "真空漏れが発生した", ("真空", "漏れ", "漏"), ("真漏", "水漏れ")),
    ("zh", "冷却水流量过低", ("冷却水", "流量", "低"), ("冷流", "高")),
    ("ko", "진공 펌프가 정지했다", ("펌프", "진공"), ("진펌",)),
)


def test_words_of_every_language_are_found_alike_by_both_engines(
    logbook: Logbook,
) -> None:
    logbook.write(
        [Text(f"{n}", text, language) for n, (language, text, *_) in enumerate(PAIRS)]
    )
    wrong = []
    asked = 0
    for number, (_, text, finding, missing) in enumerate(PAIRS):
        for query in (*finding, *missing):
            asked += 1
            for engine in ENGINES:
                is_found = f"{number}" in logbook.found(engine, query)
                if is_found != (query in finding):
                    wrong.append((engine, query, text))
    assert wrong == []
    assert asked >= 60


@pytest.mark.requirement("I01", "C45")
def test_names_and_state_words_are_found_in_both_engines_and_near_misses_are_not(
    logbook: Logbook, tmp_path: Path
) -> None:
    file = tmp_path / "facility.yaml"
    file.write_text(
        "names:\n  - {kind: permit, pattern: 'RSR[ #-]*\\d+', ignore_zeros: true}\n"
        "glossary:\n  - [BPM, beam position monitor]\n",
        "utf-8",
    )
    rows = (
        ("reset HCM03", ("HCM 03", "HCM3", "hcm 3", "hcm-03"), ("HCM04", "HCM 33")),
        ("HCM 03 replaced", ("HCM03", "hcm3", "hcm"), ("HCM30",)),
        ("BL5.0.2 shutter", ("BL 5.0.2", "bl-5.0.2"), ("BL 5.0.3", "BL 5.0")),
        ("LOTO-2024-0312 off", ("0312", "LOTO 2024-0312"), ("LOTO-2024-0313",)),
        ("lifted RSR 0312", ("RSR-312", "rsr#0312"), ("RSR 313",)),
        ("SR:C01-RF:Trip", ("sr:c01-rf", "c01", "rf", "trip"), ("SR:C02-RF:Trip",)),
        ("beam down again", ('"beam down"', "down again"), ('"beam up"',)),
        ("2e-7 Torr at 06:45", ("2e-7", "2E-07", "6:45", "06:45"), ("7:45", "hcm645")),
        ("the beam position monitors drift", ("BPM",), ('"BPM"',)),
        ("BPM is dead", ("beam position monitor",), ('"beam position"',)),
    )
    texts = [Text(f"{n}", text) for n, (text, *_) in enumerate(rows)]
    logbook.write(texts, facility.load(file))
    wrong = [
        (engine, query, text)
        for n, (text, finding, missing) in enumerate(rows)
        for query in (*finding, *missing)
        for engine in ENGINES
        if (f"{n}" in logbook.found(engine, query)) != (query in finding)
    ]
    assert wrong == []


WORDS = (
    *("beam", "beams", "trip", "tripped", "off", "not", "the", "valve", "on", "Ventil"),
    *("Kühlwasser", "Kuehlwasserausfall", "Ausfälle", "défaut", "defauts", "l'aimant"),
    *("HCM03", "HCM 3", "hcm 03", "HCM04", "SR:C01-RF:Trip", "SR:C02-RF:Trip", "c01"),
    *("BL 5.0.2", "5.0.2", "LOTO-2024-0312", "0312", "12:30", "2e-7 Torr", "500mA"),
    *(
        "真空漏れ",
        "真空",
        "漏",
        "펌프",
        "e\u0301te\u0301",
        "😀",
        "pump\u2019s",
        "RF",
        "RF 500 MHz",
    ),
    *(
        "x" * 300,
        "Müller",
        "Mueller",
        "12.03.2024",
        "2024-03-12T05:10:00Z",
        "a_b",
        "w17",
    ),
)
ODD_TEXTS = (
    "",
    "\u200b \u202e",
    "beam " * 400 + "trip",
    " ".join(f"w{n}" for n in range(17_000)) + " last",
    "真空漏れ" * 50,
)


def random_texts(luck: random.Random, count: int) -> list[Text]:
    languages = ("en", "de", "fr", "it", "es")
    made = [" ".join(luck.choices(WORDS, k=luck.randrange(1, 9))) for _ in range(count)]
    texts = [*ODD_TEXTS, *made]
    return [Text(f"{n}", text, luck.choice(languages)) for n, text in enumerate(texts)]


def random_query(luck: random.Random) -> str:
    parts = []
    for _ in range(luck.randrange(1, 4)):
        words = " ".join(luck.choices(WORDS, k=luck.choice((1, 1, 1, 2))))
        shape = luck.choice(("{}", "{}", "{}", '"{}"', "-{}", '-"{}"', "OR {}"))
        parts.append(shape.format(words))
    return " ".join(parts)


def test_random_questions_find_the_same_of_random_texts_in_both_engines(
    logbook: Logbook,
) -> None:
    seed = int(os.environ.get("LOGCHORD_TEST_SEED", "7"))
    luck = random.Random(seed)
    logbook.write(random_texts(luck, 80))
    sizes = []
    for _ in range(150):
        query = random_query(luck)
        in_postgres, in_opensearch = (logbook.found(one, query) for one in ENGINES)
        assert in_postgres == in_opensearch, f"seed {seed}: {query}"
        sizes.append(len(in_postgres))
    # Questions that find nothing, or everything, prove nothing.
    assert sum(0 < size < 60 for size in sizes) >= 75, sizes

"""A question is compiled for the languages that there are; it finds what it did."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from opensearchpy import OpenSearch

from bench import work_rows
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.search.jobs.outcome import Candidate
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval import tenant_languages
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.tenant_languages import WrittenIn
from tests.support.fixtures.engines import ANYBODY, ENGINES, TENANT, Logbook, Text

SECONDS = 10.0
ENGLISH = [{"terms": {"language": ["en"]}}]
QUERIES = (
    "the cooling water pump",
    "Kühlwasserpumpe -Ausfall",
    "pompes OR bombas OR magnet",
    '"water pump" NOT Ventil',
    "HCM03",
    "真空",
    "насосы",
    "giraffe zebra okapi gnu antelope springbok",
)
TEXTS = [
    Text("en", "The cooling water pump of HCM03 tripped again"),
    Text("de", "Die Kühlwasserpumpe ist nach dem Ausfall gewechselt", "de"),
    Text("fr", "Les pompes de refroidissement sont en panne", "fr"),
    Text("ja", "真空漏れ"),
    Text("ru", "Насосы не работают"),
]


def hits(
    engine: str, query: str, context: SearchContext, mode: str
) -> tuple[Candidate, ...]:
    question = SearchQuery(query, mode=mode)
    plan = make_plan(question, ANYBODY, PlanLimits(any_word=mode == "hybrid"))
    found: ModuleResult = find_module(engine).execute(
        Ask.lasting(plan, SECONDS), context
    )
    return found.hits


def languages(logbook: Logbook, tenant: str = TENANT) -> tuple[str, ...]:
    return WrittenIn().load_languages(logbook.pool, tenant, 1000)


def test_the_languages_that_there_are_change_no_answer(logbook):
    for texts in (TEXTS[:1], TEXTS[1:3], TEXTS[3:]):
        logbook.write(texts)
        knowing = logbook.context()
        any_of_them = replace(knowing, written_in=None)
        for query in QUERIES:
            for engine in ENGINES:
                for mode in ("keyword", "hybrid"):
                    expected = hits(engine, query, any_of_them, mode)
                    asked = hits(engine, query, knowing, mode)
                    assert asked == expected, (engine, query, mode)
    assert languages(logbook) == ("de", "en", "fr", "ja", "unknown")


def test_an_entry_in_a_language_that_nobody_has_written_before_is_found_at_once(
    logbook,
):
    assert languages(logbook) == ()
    for engine in ENGINES:
        assert logbook.found(engine, "Ausfälle") == set()
    logbook.write([Text("en", "The cooling water pump tripped")])
    for engine in ENGINES:
        assert logbook.found(engine, "pumps") == {"en"}
        assert logbook.found(engine, "Ausfälle") == set()
    logbook.write([Text("de", "Ein Ausfall der Pumpe", "de")])
    for engine in ENGINES:
        # By its stem, which is that of its own language alone.
        assert logbook.found(engine, "Ausfälle") == {"de"}


def test_a_language_that_came_meanwhile_is_searched_beside_what_was_found(logbook):
    logbook.write([Text("en", "HCM03 tripped")])
    for engine in ENGINES:
        assert logbook.found(engine, "HCM03 OR Ausfälle") == {"en"}
    logbook.write([Text("de", "Ein Ausfall der Pumpe", "de")])
    # Its process has not met the language yet.
    for engine in ENGINES:
        assert logbook.found(engine, "HCM03 OR Ausfälle") == {"en", "de"}


class Noting:
    """The client as it is, with the languages that it was asked for."""

    def __init__(self, client: OpenSearch) -> None:
        self._client = client
        self.ways: list[dict[str, Any]] = []

    def search(self, **given: Any) -> Any:
        self.ways = given["body"]["query"]["bool"]["should"]
        return self._client.search(**given)


@pytest.mark.parametrize(
    ("texts", "filters"),
    [(TEXTS[:1], ENGLISH), (TEXTS[3:], [{"terms": {"language": ["ja", "unknown"]}}])],
    ids=["one", "none with a stemmer"],
)
def test_the_index_is_asked_in_the_languages_that_there_are(logbook, texts, filters):
    logbook.write(texts)
    client = Noting(logbook.client)
    context = replace(logbook.context(), opensearch=lambda: client)
    hits("os_bm25", "pump", context, "keyword")
    assert [way["bool"]["filter"] for way in client.ways] == [filters]


def test_a_language_that_was_seen_is_searched_until_the_process_ends(logbook):
    logbook.write(TEXTS[:2])
    known = logbook.written_in
    assert known.load_languages(logbook.pool, TENANT, 1000) == ("de", "en")
    with connection(logbook.pool) as conn:
        conn.execute("DELETE FROM entry_text WHERE language = 'de'")
    # The index has not heard of it.
    assert known.load_languages(logbook.pool, TENANT, 1000) == ("de", "en")
    assert languages(logbook) == ("en",)


def test_each_tenant_has_languages_of_its_own(logbook):
    logbook.write(TEXTS)
    with connection(logbook.pool) as conn:
        conn.execute(
            "UPDATE entry_text SET tenant = 'elsewhere'"
            " WHERE language IN ('de', 'unknown')"
        )
    assert languages(logbook) == ("en", "fr", "ja")
    assert languages(logbook, "elsewhere") == ("de", "unknown")
    assert languages(logbook, "nowhere") == ()


def test_languages_are_looked_up_by_the_index_in_a_logbook_of_any_size(database):
    ids = work_rows.ensure_entries(database, 5000)
    with psycopg.connect(database) as conn:
        conn.execute(
            "INSERT INTO entry_text (entry_id, tenant, revision, language,"
            " analyser_version, stream, idents, tsv)"
            " SELECT id, %(tenant)s, 1, 'en', 1, '', '{}', ''"
            "   FROM unnest(%(ids)s::uuid[]) AS id",
            {"tenant": work_rows.TENANT, "ids": ids},
        )
        # As it was planned while there was nothing yet.
        conn.execute("DELETE FROM pg_statistic WHERE starelid = 'entry_text'::regclass")
        conn.execute(tenant_languages._BY_INDEX, {"ms": "1000"})
        values = {"tenant": work_rows.TENANT}
        explain = f"EXPLAIN (COSTS OFF) {tenant_languages._LANGUAGES}"
        plan = "\n".join(str(row[0]) for row in conn.execute(explain, values))
        found = conn.execute(tenant_languages._LANGUAGES, values).fetchall()
    assert plan.count("Index Only Scan using entry_text_language") == 2
    assert "Sort" not in plan
    assert found == [("en",)]


def test_no_more_tenants_are_remembered_than_the_limit(logbook, monkeypatch):
    monkeypatch.setattr(tenant_languages, "_KEPT_TENANTS", 2)
    logbook.write(TEXTS[:1])
    known = WrittenIn()
    for tenant in (TENANT, "a", "b"):
        known.load_languages(logbook.pool, tenant, 1000)
    assert known._seen.keys() == {"a", "b"}


def test_where_the_index_refused_an_entry_every_language_is_asked_for(logbook):
    logbook.write(TEXTS[:1])
    assert languages(logbook) == ("en",)
    with connection(logbook.pool) as conn:
        conn.execute(
            "INSERT INTO quarantine (id, tenant, entry_id, stage, error)"
            " SELECT gen_random_uuid(), tenant, entry_id, 'index', '{}' FROM entry_text"
        )
    # Its document may be in the language that it had before.
    assert languages(logbook) == ()
    assert languages(logbook, "elsewhere") == ()


def test_languages_that_cannot_be_read_in_time_fail_no_search(logbook):
    logbook.write(TEXTS[:1])
    with connection(logbook.pool) as conn:
        conn.execute("LOCK TABLE quarantine")
        assert languages(logbook) == ()
    assert languages(logbook) == ("en",)


def test_languages_that_are_not_told_beside_the_hits_are_all_searched(logbook):
    logbook.write(TEXTS[:1])
    client = Noting(logbook.client)
    context = replace(logbook.context(), opensearch=lambda: client)
    expected = hits("os_bm25", "pump", context, "keyword")
    narrow = client.ways
    with connection(logbook.pool) as conn:
        conn.execute("LOCK TABLE entry_text")
        assert hits("os_bm25", "pump", context, "keyword") == expected
    assert client.ways != narrow


def test_a_tenant_that_had_no_entries_is_asked_in_few_languages_soon(logbook):
    client = Noting(logbook.client)
    context = replace(logbook.context(), opensearch=lambda: client)
    assert hits("os_bm25", "pump", context, "keyword") == ()
    logbook.write(TEXTS[:1])
    (found,) = hits("os_bm25", "pump", context, "keyword")
    every = client.ways
    # The search before has heard in which languages there are entries by now.
    assert hits("os_bm25", "pump", context, "keyword") == (found,)
    assert client.ways != every
    assert [one["bool"]["filter"] for one in client.ways] == [ENGLISH]


def test_hits_of_every_language_on_a_page_are_marked(asking):
    asking.write(
        EntryDraft("api", "en", "The cooling pump of the klystron tripped again"),
        EntryDraft("api", "de", "Die Pumpen sind wieder ausgefallen", language="de"),
    )
    told = asking.ask("Pumpe OR pumps")["results"]
    marked = {one["external_id"]: one["highlights"] for one in told}
    assert "<b>pump</b>" in marked["en"][0]
    assert "<b>Pumpen</b>" in marked["de"][0]

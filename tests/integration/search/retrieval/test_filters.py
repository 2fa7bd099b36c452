"""Filters on what is known of entries: the same ones pass in every branch."""

import json
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.access.scope import Scope
from shared.adapter_contract.entry import AttachmentRef
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import embed_entry
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.opensearch import aliases, bulk, documents, mapping
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.search_context import SearchContext
from shared.text.facility import facility
from shared.text.facility.facility import Facility
from shared.text.reading.typed_metadata import Declared
from shared.times.calendar import Clock

TENANT = "default"
ANNA = Scope(TENANT, "anna")
ENCODER = HashingEncoder()
BRANCHES = ("pg_fts", "os_bm25", "semantic", "newest")

THINGS = """name,kind,system,aliases
HCM03,device,Magnets,horizontal corrector 3
HCM04,device,Magnets,
Klystron 2,device,RF,tube 2
RF,system,,radio frequency
Magnets,system,,
"""
PEOPLE = "name,aliases\nJavier Ruiz,jruiz\nZoë Müller,Z. Mueller\n"
SHIFTS = """things: things.csv
people: people.csv
shifts:
  - {name: owl, begins: '00:00'}
  - {name: day, begins: '08:00'}
  - {name: swing, begins: '16:00'}
"""


def at(hour: int) -> datetime:
    return datetime(2026, 3, 2, hour, tzinfo=UTC)


# Each says `beam`, so that every branch finds all of them without a filter.
ENTRIES = (
    EntryDraft(
        source="api",
        external_id="corrector",
        text="beam lost, reset hcm 3 twice, current 300 mA",
        authors=("Ruiz, Javier",),
        level="Trip",
        tags=("Orbit",),
        entry_time=at(3),
        event_time=at(1),
        metadata={
            "serial": 7,
            "installed": "2023-06-01 10:00",
            "run": 42,
            "beam": {"energy": "3 GeV", "on": True},
            "a=b~c": "x%",
        },
    ),
    EntryDraft(
        source="api",
        external_id="klystron",
        text="beam back, tube 2 conditioned at 1e-7 Torr",
        authors=("Z. Mueller", "jruiz"),
        level="info",
        kind="maintenance",
        entry_time=at(9),
        reply_to="corrector",
        metadata={
            "run": ["42.0", "Night  Shift"],
            "log": "0042",
            "big": 10**40,
            "turns": 7,
            "serial": "007",
            "installed": "01.02.2024",
        },
    ),
    EntryDraft(
        source="api",
        external_id="both",
        text="beam scraped by HCM04; radio frequency fine, current 0.2 A",
        authors=("Otto_100%",),
        category="it's \\ odd",
        shift="Night crew",
        entry_time=at(17),
        attachments=(AttachmentRef("plot", "plot.png"),),
    ),
    EntryDraft(
        source="api",
        external_id="plain",
        title="WARN: vacuum",
        level="Warning",
        text="Owl shift: beam as ever, checked at 17:40",
        logbooks=("ops",),
        origin="machine",
        entry_time=at(18),
    ),
)
DECLARED = Declared((("serial", "number"), ("installed", "date")), "Europe/Zurich")
EVERYTHING = {draft.external_id for draft in ENTRIES}


@pytest.fixture
def own(tmp_path: Path) -> Facility:
    path = tmp_path / "facility.yaml"
    path.write_text(SHIFTS, "utf-8")
    (tmp_path / "things.csv").write_text(THINGS, "utf-8")
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    return facility.load(path, "UTC")


@pytest.fixture
def pool(database: str) -> Iterator[Pool]:
    with make_pool(database, application="test", size=4) as made:
        yield made


@pytest.fixture
def found(pool, own, search_client, own_index) -> Callable[..., set[str]]:
    with connection(pool) as conn:
        saved = save_page(conn, TENANT, ENTRIES, stages=[], editor="test")
        ids = [one.entry_id for one in saved]
        table = ensure_table(conn, "test", ENCODER.model, ENCODER.dimension)
        for content in read_entries.load_contents(conn, TENANT, ids).values():
            read = metadata.extract(content, "en", own, declared=DECLARED)
            metadata.store(conn, content, read)
            embed_entry.store_all(
                conn,
                table,
                content.tenant,
                [(content, embed_entry.embed(content, ENCODER))],
            )
        loaded = documents.load(conn, TENANT, ids)
        assert not bulk.write(search_client, mapping.write_alias(own_index), loaded)
    search_client.indices.refresh(index=mapping.read_alias(own_index))
    names = {str(one.entry_id): one.external_id for one in saved}
    with connection(pool) as conn:
        (thread,) = conn.execute(
            "SELECT DISTINCT thread_id FROM entry WHERE thread_id IS NOT NULL"
        ).fetchall()
    context = SearchContext(
        pool=pool,
        opensearch=lambda: search_client,
        index=own_index,
        similarity_threshold=-1.0,
        encoder=lambda _: ENCODER,
    )

    def found(
        branch: str, filters: dict[str, Any], fields: str = "", word: str = "beam"
    ) -> set[str]:
        text = fields if branch == "newest" else f"{word} {fields}"
        told = json.dumps([text, filters]).replace(THREAD, str(thread[0]))
        text, filters = json.loads(told)
        question = SearchQuery(text, filters=filters)
        clock = Clock(at(20), "Europe/Zurich", shifts=own.shifts)
        plan = make_plan(question, ANNA, PlanLimits(), clock)
        # As it travels to the worker.
        plan = Plan.from_json(plan.to_json())
        hits = find_module(branch).execute(Ask.lasting(plan, 5.0), context).hits
        return {names[hit.entry_id] for hit in hits}

    return found


# Stands for the id of the thread that one entry begins and another answers in.
THREAD = "00000000-0000-0000-0000-000000000001"
NOBODYS = "00000000-0000-0000-0000-000000000002"

ASKED: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({}, EVERYTHING),
    ({"source": {"in": ["api", "olog"]}}, EVERYTHING),
    ({"source": "olog"}, set()),
    ({"logbook": "ops"}, {"plain"}),
    ({"date_to": "2026-03-02"}, EVERYTHING),
    ({"device": "HCM03"}, {"corrector"}),
    ({"device": "hcm-03"}, {"corrector"}),
    ({"device": "Horizontal Corrector 3"}, {"corrector"}),
    ({"device": "klystron 2"}, {"klystron"}),
    ({"device": {"in": ["HCM03", "HCM04"]}}, {"corrector", "both"}),
    ({"device": "HCM"}, set()),
    ({"system": "magnets"}, {"corrector", "both"}),
    ({"system": "Radio frequency"}, {"klystron", "both"}),
    ({"system": {"in": ["RF"], "not": ["Magnets"]}}, {"klystron"}),
    ({"system": {"not": ["RF", "Magnets"]}}, {"plain"}),
    ({"system": "RF", "device": "HCM04"}, {"both"}),
    ({"author": "ruiz"}, {"corrector", "klystron"}),
    ({"author": "JRUIZ"}, {"corrector", "klystron"}),
    ({"author": {"contains": "zoe m"}}, {"klystron"}),
    ({"authors": {"in": ["otto", "Müller"]}}, {"klystron", "both"}),
    # What means something to an engine is a letter of the name here.
    ({"author": "o_1"}, {"both"}),
    ({"author": "o%1"}, set()),
    ({"author": "o*1"}, set()),
    ({"author": "0%"}, {"both"}),
    ({"level": "trip"}, {"corrector"}),
    ({"level": {"not": ["trip"]}}, {"klystron", "both", "plain"}),
    # As its text says, where the source says none.
    ({"level": "warning"}, {"plain"}),
    ({"level": "WARNING"}, {"plain"}),
    ({"category": "it's \\ odd"}, {"both"}),
    ({"category": "' | '"}, set()),
    ({"kind": "maintenance"}, {"klystron"}),
    ({"origin": "machine"}, {"plain"}),
    ({"language": "en"}, EVERYTHING),
    ({"tags": "orbit"}, {"corrector"}),
    ({"shift": "owl"}, {"corrector", "plain"}),
    ({"shift": "Day"}, {"klystron"}),
    # Its source knows better than the clock.
    ({"shift": "night crew"}, {"both"}),
    # And the text knows better, too.
    ({"shift": "swing"}, set()),
    ({"quantity": {"unit": "A", "gte": 0.3}}, {"corrector"}),
    ({"quantity": {"unit": "mA", "gte": 200, "lte": 300}}, {"corrector", "both"}),
    ({"quantity": {"unit": "mA", "gte": 1, "name": "voltage"}}, set()),
    ({"quantity": {"unit": "A", "lte": 1, "name": "Current"}}, {"corrector", "both"}),
    ({"quantity": {"unit": "mbar", "lte": 1e-6}}, {"klystron"}),
    ({"quantity": "<= 1e-6 mbar"}, {"klystron"}),
    ({"quantity": "200..300 mA"}, {"corrector", "both"}),
    ({"quantity": "current < 300 mA"}, {"both"}),
    ({"source": "api", "origin": "human", "shift": "owl"}, {"corrector"}),
    # What its source does not say is read in the text, by the clocks of the source.
    ({"event_from": "2026-03-02T01:00Z"}, {"corrector", "plain"}),
    ({"event_from": "2026-03-02T01:01Z"}, {"plain"}),
    ({"event_from": "2026-03-02T16:40Z", "event_to": "2026-03-02T16:40Z"}, {"plain"}),
    ({"event_from": "2026-03-02T16:41Z"}, set()),
    ({"event_to": "2026-03-02T16:39Z"}, {"corrector"}),
    ({"event_to": "2026-03-02T00:59Z"}, set()),
    ({"has_attachment": True}, {"both"}),
    ({"has_attachment": "false"}, EVERYTHING - {"both"}),
    ({"date_from": "2026-03-02T09:00Z"}, {"klystron", "both", "plain"}),
    ({"date_to": "2026-03-02T09:00Z", "level": "info"}, {"klystron"}),
    ({"date_to": "2026-03-01"}, set()),
    ({"time_range": ["2026-03-02", "today"]}, EVERYTHING),
    ({"metadata.run": 42}, {"corrector", "klystron"}),
    ({"metadata.run": "4.2e1"}, {"corrector", "klystron"}),
    ({"metadata.run": {"in": [41, "night shift"]}}, {"klystron"}),
    ({"metadata.run": {"not": [42]}}, {"both", "plain"}),
    ({"metadata.Run": 42}, set()),
    ({"metadata.beam.energy": "3 gev"}, {"corrector"}),
    ({"metadata.beam": "3 gev"}, set()),
    ({"metadata.beam.on": True}, {"corrector"}),
    ({"metadata.a=b~c": "x%"}, {"corrector"}),
    ({"metadata.a": "b~c=x%"}, set()),
    ({"metadata.log": 42}, set()),
    ({"metadata.log": "0042", "metadata.run": 42}, {"klystron"}),
    ({"metadata.big": 10**40}, {"klystron"}),
    ({"metadata.big": 10**40 + 1}, set()),
    ({"metadata.run": {"gte": 42}}, {"corrector", "klystron"}),
    ({"metadata.run": {"gte": 41.5, "lte": "42"}}, {"corrector", "klystron"}),
    ({"metadata.run": {"gte": 43}}, set()),
    ({"metadata.run": {"lte": 50, "not": ["night shift"]}}, {"corrector"}),
    ({"metadata.run": {"gte": 1}, "metadata.turns": {"lte": 7}}, {"klystron"}),
    (
        {"metadata.run": {"gte": 1}, "quantity": {"unit": "A", "gte": 0.3}},
        {"corrector"},
    ),
    ({"metadata.beam.energy": {"gte": 1}}, set()),
    # As their source declares them.
    ({"metadata.serial": 7}, {"corrector", "klystron"}),
    ({"metadata.serial": "007"}, {"klystron"}),
    ({"metadata.serial": {"gte": 7, "lte": 7}}, {"corrector", "klystron"}),
    ({"metadata.installed": {"gte": "2024-01-01"}}, {"klystron"}),
    ({"metadata.installed": {"lte": "2024-02-01"}}, {"corrector", "klystron"}),
    (
        {"metadata.installed": {"gte": "2023-06-01 10:00", "lte": "2023-06"}},
        {"corrector"},
    ),
    ({"metadata.installed": {"gte": "2024-02-02"}}, set()),
    ({"metadata.installed": {"gte": 2023}}, set()),
    ({"metadata.installed": "2024-02-01"}, {"klystron"}),
    ({"metadata.installed": "01.02.2024"}, {"klystron"}),
    ({"thread_id": THREAD}, {"corrector", "klystron"}),
    ({"thread_id": {"in": [THREAD, NOBODYS]}}, {"corrector", "klystron"}),
    ({"thread_id": NOBODYS}, set()),
    # What is not wanted.
    ({"source": {"not": ["api", "olog"]}}, set()),
    ({"source": {"not": ["olog"]}}, EVERYTHING),
    ({"logbook": {"not": ["ops"]}}, EVERYTHING - {"plain"}),
    ({"author": {"not": ["ruiz"]}}, {"both", "plain"}),
    ({"author": {"not": ["o_1", "ZOE"]}}, {"corrector", "plain"}),
    ({"author": {"not": ["o%1", "o*1"]}}, EVERYTHING),
    ({"author": {"in": ["ruiz"], "not": ["müller"]}}, {"corrector"}),
    ({"author": {"contains": "r", "not": ["ruiz"]}}, set()),
    ({"thread_id": {"not": [THREAD]}}, {"both", "plain"}),
    ({"thread_id": {"not": [NOBODYS]}}, EVERYTHING),
    ({"thread_id": {"in": [THREAD], "not": [NOBODYS]}}, {"corrector", "klystron"}),
    # Parts of what is said.
    ({"source": {"contains": "AP"}}, EVERYTHING),
    ({"source": {"contains": "_p"}}, set()),
    ({"source": {"contains": "a", "not": ["api"]}}, set()),
    ({"logbook": {"contains": "Ps"}}, {"plain"}),
    ({"logbook": {"contains": "o%s"}}, set()),
    ({"logbook": {"contains": "o*"}}, set()),
    ({"category": {"contains": "ODD"}}, {"both"}),
    ({"category": {"contains": "' | '"}}, set()),
    ({"category": {"contains": "\\ o"}}, {"both"}),
    ({"level": {"contains": "i"}}, {"corrector", "klystron", "plain"}),
    ({"level": {"contains": "i", "not": ["info"]}}, {"corrector", "plain"}),
    ({"level": {"contains": "rip"}}, {"corrector"}),
    ({"tags": {"contains": "rbi"}}, {"corrector"}),
    ({"device": {"contains": "HCM"}}, {"corrector", "both"}),
    ({"device": {"contains": "corrector 3"}}, {"corrector"}),
    ({"system": {"contains": "radio f"}}, {"klystron", "both"}),
    ({"system": {"contains": "magnet"}, "kind": {"contains": "main"}}, set()),
    ({"metadata.run": {"contains": "NIGHT s"}}, {"klystron"}),
    ({"metadata.run": {"contains": "4"}}, {"corrector", "klystron"}),
    ({"metadata.run": {"gte": 1, "contains": "shift"}}, {"klystron"}),
    ({"metadata.ru": {"contains": "4"}}, set()),
    ({"metadata.beam.energy": {"contains": "gev"}}, {"corrector"}),
    ({"metadata.a=b~c": {"contains": "%"}}, {"corrector"}),
    ({"metadata.a": {"contains": "b"}}, set()),
)


@pytest.mark.requirement("I13", "C14", "S1-09", "S1-61", "U17", "S0-37")
def test_every_branch_lets_the_same_entries_pass(found):
    wrong = [
        (branch, filters, got)
        for filters, expected in ASKED
        for branch in BRANCHES
        if (got := found(branch, filters)) != expected
    ]
    assert wrong == []


# It is 21:00 in Zurich, an hour ahead of the times above.
TYPED: tuple[tuple[str, set[str]], ...] = (
    ("author:ruiz", {"corrector", "klystron"}),
    ("author:JRUIZ", {"corrector", "klystron"}),
    ("author:MÜLLER", {"klystron"}),
    ("author:o_1", {"both"}),
    ("author:100%", {"both"}),
    ('author:"zoe m" level:info', {"klystron"}),
    ("device:hcm-03", {"corrector"}),
    ("system:Magnets origin:human since:2026-03-02T12:00Z", {"both"}),
    ("source:api logbook:nowhere", set()),
    ("has:attachment since:2026", {"both"}),
    ("has:picture has:attachment", {"both"}),
    ("-has:pictures", EVERYTHING - {"both"}),
    ("id:klystron", {"klystron"}),
    ("id:KLYSTRON", set()),
    ("date:today", EVERYTHING),
    ("date:2026-03-02 kind:maintenance", {"klystron"}),
    ("date:2026-03", EVERYTHING),
    ("date:yesterday", set()),
    ("date:2026-03-02 10:00", {"klystron"}),
    ('date:"2026-03-02 09:00"', set()),
    ("date:<2026-03-02", set()),
    ("since:2026-03-02T09:00Z", {"klystron", "both", "plain"}),
    ("after:2026-03-02T09:00Z", {"both", "plain"}),
    ("before:2026-03-02T09:00Z", {"corrector"}),
    ("date:2026-03-02T03:00Z..2026-03-02T17:00Z", EVERYTHING - {"plain"}),
    ("since:last 3 hours", {"both", "plain"}),
    ("date:yesterday..today tag:orbit", {"corrector"}),
    ("metadata.run:42", {"corrector", "klystron"}),
    ('metadata.beam.energy:"3 GeV"', {"corrector"}),
    ("-metadata.run:42", {"both", "plain"}),
    ("quantity:>=0.3A", {"corrector"}),
    ("quantity:>300 mA", set()),
    ("quantity:<300mA -quantity:>1kA", {"both"}),
    ("(quantity:<1e-6mbar OR quantity:>=300mA) -author:o_1", {"corrector", "klystron"}),
    ("\u2264 300 mA", {"corrector", "both"}),
    ("(metadata.log:0042 OR device:hcm04)", {"klystron", "both"}),
    ("metadata.run:>41", {"corrector", "klystron"}),
    ("metadata.run:>42", set()),
    ("-metadata.run:..42", {"both", "plain"}),
    ("metadata.serial:1..7 metadata.turns:>=7", {"klystron"}),
    ("(metadata.turns:<8 OR has:attachment)", {"klystron", "both"}),
    ("(device:hcm04 OR metadata.installed:<2024) -kind:maintenance", {"both"}),
    ("(device:hcm04 OR -metadata.installed:<2024-01)", EVERYTHING - {"corrector"}),
    ("metadata.installed:>2024-02-01", set()),
    ("metadata.installed:>2024-01-31", {"klystron"}),
    ("metadata.beam.energy:>1", set()),
    # Times among the words: two that are apart, and nothing between them.
    ("around 04:00 +-30 min", {"corrector"}),
    ("since 2026-03-02 12:00", {"both", "plain"}),
    ("around 04:00 on 2 march or around 19:00 on 2 march", {"corrector", "plain"}),
    ("happened around 02:00 +-10 min", {"corrector"}),
    ("happened around 19:00 +-10 min", {"plain"}),
    ("happened around 17:40 +-10 min", {"plain"}),
    (f"thread:{THREAD}", {"corrector", "klystron"}),
    (f"-thread:{THREAD}", {"both", "plain"}),
    (f"(thread:{THREAD} OR has:attachment) -device:hcm03", {"klystron", "both"}),
)


@pytest.mark.requirement("S0-16", "S0-17")
def test_fields_of_a_question_mean_the_same_in_every_branch(found):
    wrong = [
        (branch, fields, got)
        for fields, expected in TYPED
        for branch in BRANCHES
        if (got := found(branch, {}, fields)) != expected
    ]
    assert wrong == []


# As a question writes a range, and as a filter has it.
SAME: tuple[tuple[str, dict[str, Any]], ...] = (
    ("metadata.run:>=42", {"metadata.run": {"gte": 42}}),
    ("metadata.run:41.5..42", {"metadata.run": {"gte": 41.5, "lte": "42"}}),
    ("metadata.run:43..", {"metadata.run": {"gte": 43}}),
    ("metadata.serial:=7", {"metadata.serial": {"gte": 7, "lte": 7}}),
    ("metadata.serial:<= 7", {"metadata.serial": {"lte": 7}}),
    ("metadata.installed:2024-01-01..", {"metadata.installed": {"gte": "2024-01-01"}}),
    ("metadata.installed:>=2023", {"metadata.installed": {"gte": 2023}}),
    (
        "metadata.installed:2023-06-01 10:00..2023-06",
        {"metadata.installed": {"gte": "2023-06-01 10:00", "lte": "2023-06"}},
    ),
    ("metadata.installed:<=today", {"metadata.installed": {"lte": "today"}}),
)


@pytest.mark.requirement("S1-09", "S0-28")
def test_a_range_of_metadata_in_a_question_is_that_of_the_filter_in_every_branch(found):
    passed: set[str] = set()
    for fields, filters in SAME:
        for branch in BRANCHES:
            by_filter = found(branch, filters)
            passed |= by_filter
            assert found(branch, {}, fields) == by_filter, (branch, fields)
            without = found(branch, {}, f"-{fields}")
            assert without == EVERYTHING - by_filter, (branch, fields)
    assert passed == {"corrector", "klystron"}


# What the request says of times and filters, what the question says, what is left.
BOTH: tuple[tuple[dict[str, Any], str, set[str]], ...] = (
    ({"date_from": "2026-03-02T09:00Z"}, "author:ruiz", {"klystron"}),
    ({"date_to": "2026-03-02T08:59Z"}, "author:ruiz", {"corrector"}),
    (
        {"time_range": ["2026-03-02", "today"]},
        "system:Magnets tag:orbit",
        {"corrector"},
    ),
    ({"time_range": ["2026-03-03", None]}, "author:ruiz", set()),
    ({"date_from": "2026-03-02T09:00Z", "origin": "human"}, "-author:ruiz", {"both"}),
    ({"level": "trip"}, "since:2026-03-02T09:00Z", set()),
)


@pytest.mark.requirement("S0-28")
def test_times_of_the_request_and_fields_of_the_question_hold_together_everywhere(
    found,
):
    wrong = [
        (branch, word, filters, fields, got)
        for filters, fields, expected in BOTH
        for branch in BRANCHES
        # Misspelt, it is found as what it may be meant for.
        for word in ("beam", "beamm")
        if (got := found(branch, filters, fields, word)) != expected
    ]
    assert wrong == []


def test_what_is_known_is_kept_with_how_it_was_found(pool, found):
    assert found("newest", {"device": "HCM03"}) == {"corrector"}
    with connection(pool) as conn:
        (facts,) = conn.execute(
            "SELECT f.facts FROM entry_finding f JOIN entry e ON e.id = f.entry_id"
            " WHERE e.external_id = 'klystron' AND f.stage = 'metadata'"
        ).fetchone() or ([],)
        (entities,) = conn.execute(
            "SELECT m.entities FROM entry_metadata m JOIN entry e ON e.id = m.entry_id"
            " WHERE e.external_id = 'klystron'"
        ).fetchone() or ([],)
    kept = {(one["field"], one["value"], one["how"]) for one in facts}
    assert kept >= {
        ("device", "Klystron 2", "alias"),
        ("system", "RF", "part"),
        ("author", "Zoë Müller", "alias"),
        ("author", "Javier Ruiz", "alias"),
        ("shift", "day", "plan"),
        ("kind", "maintenance", "said"),
    }
    shown = [one for one in entities if one["canonical"] == "Klystron 2"]
    assert [(one["name"], one["how"]) for one in shown] == [("tube 2", "alias")]


def test_another_revision_is_known_by_what_it_says(pool, own, found):
    assert found("newest", {"device": "HCM03"}) == {"corrector"}
    draft = EntryDraft("api", "corrector", "beam lost to HCM04 at 5 kV", level="info")
    with connection(pool) as conn:
        (saved,) = save_page(conn, TENANT, [draft], stages=[], editor="test")
        content = read_entries.load_contents(conn, TENANT, [saved.entry_id])[
            saved.entry_id
        ]
        metadata.store(conn, content, metadata.extract(content, "en", own))
    assert found("pg_fts", {"device": "HCM03"}) == set()
    assert found("pg_fts", {"device": "HCM04"}) == {"corrector", "both"}
    assert found("pg_fts", {"author": "ruiz"}) == {"klystron"}
    assert found("pg_fts", {"quantity": {"unit": "V", "gte": 1}}) == {"corrector"}
    assert found("pg_fts", {"quantity": {"unit": "A", "gte": 0.3}}) == set()


def test_what_another_list_says_is_shown_anew(pool, own, found):
    assert found("newest", {"device": "HCM03"}) == {"corrector"}

    def doc_version() -> int:
        row = conn.execute(
            "SELECT doc_version FROM entry WHERE external_id = 'corrector'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    with connection(pool) as conn:
        row = conn.execute("SELECT id FROM entry WHERE external_id = 'corrector'")
        (entry_id,) = row.fetchone() or (None,)
        content = read_entries.load_contents(conn, TENANT, [entry_id])[entry_id]
        before = doc_version()
        read = metadata.extract(content, "en", own, declared=DECLARED)
        metadata.store(conn, content, read)
        assert doc_version() == before
        # Without any list a device is what is written like one.
        metadata.store(
            conn, content, metadata.extract(content, "en", declared=DECLARED)
        )
        assert doc_version() == before + 1
    assert found("pg_fts", {"system": "Magnets"}) == {"both"}


@pytest.mark.timeout(300)
def test_an_index_of_before_learns_the_fields_of_this_release(search_client):
    client = search_client
    base = f"t{secrets.token_hex(5)}"
    older = mapping.make_index_body()
    del older["mappings"]["_meta"]
    for name in ("facts", "people", "quantities"):
        del older["mappings"]["properties"][name]
    behind: dict[str, Any] = {mapping.read_alias(base): {}}
    behind[mapping.write_alias(base)] = {}
    client.indices.create(
        index=f"{base}-v1-1",
        body={**older, "aliases": behind},
        params={"request_timeout": 30},
    )
    assert aliases.ensure_index(client, base).older == [f"{base}-v1-1"]
    known = client.indices.get_mapping(index=f"{base}-v1-1")[f"{base}-v1-1"]
    assert set(mapping.make_index_body()["mappings"]["properties"]) == set(
        known["mappings"]["properties"]
    )
    assert known["mappings"]["_meta"] == {"version": mapping.MAPPING_VERSION}
    client.indices.delete(index=f"{base}-v*")

"""What is not embedded: marked with its reason, and due again when that is gone."""

import inspect
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from shared.access.scope import Scope
from shared.embedding.vectors import model_registry, not_embedded, vector_tables
from shared.enrich import reanalyse
from shared.entries.reading import read_entries
from shared.entries.saving.save import tombstone
from shared.ids import uuid7
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.postgres.pool import connection, make_pool
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask
from shared.work import chore_records, due_work
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_entry
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.enhance import embed_entries, extract_metadata

TENANT, MODEL = "default", "here:tiny"
GERMAN = "Die Kühlwasserpumpe im Ring ist heute Nacht zweimal ausgefallen"
ENGLISH = "The cooling water pump of the ring has failed twice during the night"
Make = Callable[..., Context]


@pytest.fixture
def make(make_english_context: MakeContext) -> Make:
    # What the second model does for other languages: test_second_model.
    alone = {"LOGCHORD_EMBED_OTHER_LANGUAGES": "false"}
    return lambda **given: make_english_context(**{**alone, **given})


def save(conn: Connection, name: str, text: str, origin: Any) -> UUID:
    stages = [embed_stage(MODEL), METADATA_STAGE]
    return save_entry(conn, name, text, stages=stages, origin=origin)


def work(ctx: Context) -> None:
    embed_entries(ctx, MODEL)
    extract_metadata(ctx)


def renewed(ctx: Context, conn: Connection) -> list[str]:
    """Carry out the chore, and return whose vectors it has made due."""
    chore_records.open_chore(conn, chore_records.RENEW_TEXTS)
    chores.renew_texts(ctx)
    assert chore_records.list_unfinished(conn) == []
    found = conn.execute(
        "SELECT e.external_id, w.class FROM work w JOIN entry e ON e.id = w.entry_id"
        " WHERE w.stage = %s ORDER BY 1",
        (embed_stage(MODEL),),
    ).fetchall()
    assert {work_class for _, work_class in found} <= {due_work.BULK}
    return [name for name, _ in found]


def embedded(conn: Connection) -> set[str]:
    table = vector_tables.find_live_model(conn)
    assert table is not None
    found = conn.execute(
        f"SELECT e.external_id FROM {table.table_name} v"
        " JOIN entry e ON e.id = v.entry_id"
    )
    return {name for (name,) in found}


def shown(conn: Connection, entry_id: UUID) -> dict[str, str]:
    entry = read_entries.load_entry(conn, Scope(TENANT, "anna"), entry_id)
    assert entry is not None
    return entry.skipped_stages


def test_what_machines_write_has_no_vector_where_that_is_set_and_says_so(
    make, committing
):
    ctx = make(LOGCHORD_EMBED_MACHINE_ENTRIES="false")
    alarm = save(committing, "alarm", ENGLISH, "machine")
    note = save(committing, "note", ENGLISH, "human")
    work(ctx)

    assert embedded(committing) == {"note"}
    assert shown(committing, alarm) == {embed_stage(MODEL): "machine"}
    assert shown(committing, note) == {}
    assert not_embedded.count_skipped(committing, MODEL, TENANT) == {
        "language": 0,
        "machine": 1,
    }
    assert renewed(ctx, committing) == []
    (standing,) = model_registry.list_models(committing)
    assert (standing.entries, standing.missing) == (1, 0)

    # Set otherwise, just these are due; and back again, these once more.
    on = make()
    assert renewed(on, committing) == ["alarm"]
    work(on)
    assert embedded(committing) == {"alarm", "note"}
    assert shown(committing, alarm) == {}
    assert renewed(ctx, committing) == ["alarm"]
    work(ctx)
    assert embedded(committing) == {"note"}


@pytest.mark.parametrize("origin", ["human", "machine"])
def test_a_language_that_the_model_does_not_speak_is_marked_and_not_embedded(
    make, committing, origin
):
    ctx = make()
    german = save(committing, "german", GERMAN, origin)
    save(committing, "english", ENGLISH, origin)
    work(ctx)

    assert embedded(committing) == {"english"}
    assert shown(committing, german) == {embed_stage(MODEL): "language"}
    assert renewed(ctx, committing) == []

    # A model of every language is one setting.
    spoken = make(LOGCHORD_API__PROVIDERS__HERE__EMBEDDING_LANGUAGES="[]")
    assert renewed(spoken, committing) == ["german"]
    work(spoken)
    assert embedded(committing) == {"english", "german"}


def test_an_edit_is_judged_anew_and_a_deletion_leaves_no_reason(make, committing):
    ctx = make()
    entry = save(committing, "one", ENGLISH, "human")
    work(ctx)
    save(committing, "one", GERMAN, "human")
    work(ctx)
    assert embedded(committing) == set()
    assert shown(committing, entry) == {embed_stage(MODEL): "language"}

    save(committing, "one", ENGLISH, "human")
    assert shown(committing, entry) == {}, "the reason is that of an older text"
    work(ctx)
    assert embedded(committing) == {"one"}
    save(committing, "one", GERMAN, "human")
    work(ctx)
    stages = [embed_stage(MODEL)]
    tombstone(committing, TENANT, entry, reason=None, stages=stages)
    work(ctx)
    assert not_embedded.count_skipped(committing, MODEL, TENANT) == {
        "language": 0,
        "machine": 0,
    }


def asked(ctx: Context, text: str) -> tuple[str | None, int]:
    """Ask by meaning; return why that was skipped, and how many were found."""
    question = SearchQuery(query=text, mode="semantic")
    plan = make_plan(question, Scope(TENANT, "anna"), PlanLimits(opensearch=False))
    context = ctx.search_context
    found = find_module("semantic").execute(Ask.lasting(plan, 5.0), context)
    return found.skipped, len(found.hits)


def test_a_question_in_such_a_language_is_searched_by_words_alone(make, committing):
    ctx = make()
    save(committing, "english", ENGLISH, "human")
    work(ctx)

    german = "Warum ist die Kühlwasserpumpe im Ring ausgefallen"
    assert asked(ctx, german) == ("language", 0)
    assert asked(ctx, "why has the cooling water pump of the ring failed")[0] is None


def test_few_words_count_as_the_language_of_the_model(make, committing):
    ctx = make(LOGCHORD_API__PROVIDERS__HERE__EMBEDDING_LANGUAGES='["de"]')
    save(committing, "german", GERMAN, "human")
    work(ctx)

    assert asked(ctx, "Pumpe defekt")[0] is None
    english = "why has the cooling water pump of the ring failed"
    assert asked(ctx, english) == ("language", 0)


def test_few_words_of_an_entry_count_as_the_language_of_the_model_for_good(
    make, committing
):
    ctx = make(LOGCHORD_API__PROVIDERS__HERE__EMBEDDING_LANGUAGES='["de"]')
    save(committing, "short", "Pumpe defekt", "human")
    english = save(committing, "english", ENGLISH, "human")
    work(ctx)

    assert embedded(committing) == {"short"}
    assert shown(committing, english) == {embed_stage(MODEL): "language"}
    # Read as English, it is judged as the stage has judged it all the same.
    assert renewed(ctx, committing) == []


@pytest.mark.parametrize("reading", ["as it is read now", "read otherwise then"])
def test_few_words_that_an_older_release_left_out_are_due_again(
    make, committing, reading
):
    ctx = make(LOGCHORD_API__PROVIDERS__HERE__EMBEDDING_LANGUAGES='["de"]')
    save(committing, "short", "Pumpe defekt", "human")
    save(committing, "english", ENGLISH, "human")
    work(ctx)
    # That release took few words for English.
    committing.execute(
        "INSERT INTO embedding_skipped (tenant, entry_id, model, revision, reason)"
        " SELECT tenant, id, %s, revision, 'language' FROM entry"
        "  WHERE external_id = 'short'",
        (MODEL,),
    )
    if reading == "read otherwise then":
        # So its metadata is due in the same walk.
        committing.execute(
            "UPDATE entry_text SET analyser_version = analyser_version - 1"
        )

    assert renewed(ctx, committing) == ["short"]
    work(ctx)
    assert renewed(ctx, committing) == []


@pytest.mark.parametrize(
    "setting",
    [
        "LOGCHORD_SOURCES__API__LANGUAGE",
        "LOGCHORD_TENANTS__DEFAULT__LANGUAGE",
        "LOGCHORD_ANALYSER__LANGUAGE",
    ],
)
def test_few_words_whose_expected_language_becomes_another_have_a_vector_no_more(
    make, committing, setting
):
    short = save(committing, "short", "RF defekt", "human")
    save(committing, "english", ENGLISH, "human")
    work(make())
    assert embedded(committing) == {"short", "english"}

    german = make(**{setting: "de"})
    assert renewed(german, committing) == ["short"]
    work(german)
    assert embedded(committing) == {"english"}
    assert shown(committing, short) == {embed_stage(MODEL): "language"}
    assert renewed(make(), committing) == ["short"]


def test_nobody_is_judged_anew_before_settings_say_otherwise(
    make, committing, monkeypatch
):
    ctx = make()
    save(committing, "german", GERMAN, "human")
    save(committing, "english", ENGLISH, "human")
    work(ctx)
    judged: list[str] = []
    reason = not_embedded.reason

    def judge(content: Any, *given: Any) -> Any:
        judged.append(content.external_id)
        return reason(content, *given)

    monkeypatch.setattr(not_embedded, "reason", judge)
    # The first walk has none before it, which could have judged them.
    assert renewed(ctx, committing) == []
    assert judged == ["german"]
    assert renewed(ctx, committing) == []
    assert judged == ["german"]
    assert renewed(make(LOGCHORD_SOURCES__API__LANGUAGE="de"), committing) == []
    assert judged == ["german", "german", "english"]


def test_what_is_judged_is_read_some_at_a_time_and_with_no_connection_held(
    make, committing, database, monkeypatch
):
    ctx = make(LOGCHORD_API__PROVIDERS__HERE__EMBEDDING_LANGUAGES='["de"]')
    for name in "abcde":
        save(committing, name, "Pumpe defekt", "human")
    work(ctx)
    read: list[int] = []
    contents, reason = read_entries.load_contents, not_embedded.reason

    def count(conn: Connection, tenant: str, ids: list[UUID]) -> Any:
        read.append(len(ids))
        return contents(conn, tenant, ids)

    def judge(*given: Any) -> Any:
        with connection(pool):
            return reason(*given)

    monkeypatch.setattr(not_embedded, "_READ_AT_ONCE", 2)
    monkeypatch.setattr(read_entries, "load_contents", count)
    monkeypatch.setattr(not_embedded, "reason", judge)
    with make_pool(database, application="test", size=1) as pool:
        not_embedded.prepare(pool, ctx.settings, {"embedded_to": None}, 0)
    assert read == [2, 2, 1]


def test_a_worker_that_knows_of_no_vectors_ends_the_chore_where_they_begin(
    make, committing
):
    ctx = make()
    save(committing, "one", ENGLISH, "human")
    work(ctx)
    chore = chore_records.Chore(
        uuid7(), chore_records.RENEW_TEXTS, uuid7(), None, 0, None, 0, 15.0
    )
    prepare = inspect.getclosurevars(chores.renew_texts).nonlocals["prepare"]
    cursor = prepare(ctx, chore)(committing).cursor
    assert cursor is not None
    assert "embedded_to" in cursor

    as_before = reanalyse.prepare(ctx.pool, ctx.settings, cursor, 1, ctx.facility)
    assert as_before(committing).cursor is None

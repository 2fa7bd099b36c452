"""An installation keeps the model that it began with, whatever the default is now."""

from uuid import UUID

import pytest
from psycopg import Connection

from shared.embedding.models.model_names import BGE, DEFAULT_MODEL, MINILM
from shared.embedding.switch import reembed
from shared.embedding.vectors import live_models, vector_tables, vectors
from shared.messaging.stage_names import embed_stage
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.work.chore_records import REEMBED_MODEL
from tests.support import watched_chores
from tests.support.saving import save_entry
from tests.support.watched_chores import Watched, due_now
from workers.tasks import chores
from workers.tasks.enhance import embed_entries

pytestmark = pytest.mark.timeout(240)


class Reembedding(Watched):
    kind, begins = REEMBED_MODEL, next(iter(reembed.PHASES))


def save(conn: Connection, settings: Settings, name: str) -> UUID:
    stages = entry_stages.list_entry_stages(settings)
    return save_entry(conn, name, f"The RF cavity tripped: {name}", stages=stages)


def due(conn: Connection, entry_id: UUID) -> set[str]:
    rows = conn.execute(
        "SELECT stage FROM work WHERE entry_id = %s AND stage LIKE 'embed:%%'",
        (entry_id,),
    )
    return {stage for (stage,) in rows}


def count_vectors(conn: Connection, model: str) -> int:
    found = vector_tables.find_model(conn, model)
    if found is None:
        return 0
    return vectors.count_embedded_entries(conn, found.table_name, "default")


def test_minilm_is_kept_until_it_is_reembedded_and_bge_is_what_follows(
    make_context, committing, database, place
):
    cache = {"LOGCHORD_CACHE": str(place.cache)}
    before = make_context(EMBEDDING_MODEL="all-MiniLM-L6-v2", **cache)
    save(committing, before.settings, "before")
    embed_entries(before, MINILM)

    # The new release, whose settings name none.
    after = make_context(Reembedding, EMBEDDING_MODEL="", **cache)
    assert isinstance(after, Watched)
    assert DEFAULT_MODEL == BGE
    assert live_models.find_model_name(after.settings, database) == MINILM
    later = save(committing, after.settings, "after")
    assert due(committing, later) == {embed_stage(MINILM)}
    # A nudge by the name of the default is passed on, and makes no table.
    embed_entries(after, BGE)
    embed_entries(after, MINILM)
    assert (count_vectors(committing, MINILM), count_vectors(committing, BGE)) == (2, 0)

    def turn() -> None:
        due_now(committing)
        chores.reembed_model(after)
        for model in (MINILM, BGE):
            if vector_tables.find_model(committing, model):
                embed_entries(after, model)

    chore = reembed.ask(committing, BGE, activate=True)
    result = watched_chores.finish(committing, chore, turn)

    assert (result["live"], result["missing"]) == (True, 0)
    assert count_vectors(committing, BGE) == 2
    assert live_models.find_model_name(after.settings, database) == BGE


def test_who_has_no_vectors_yet_begins_with_what_settings_name(database):
    assert live_models.find_model_name(Settings.load({}), database) == BGE
    minilm = Settings.load({"EMBEDDING_MODEL": "all-MiniLM-L6-v2"})
    assert live_models.find_model_name(minilm, database) == MINILM
    away = "postgresql://nobody@127.0.0.1:1/none"
    assert live_models.find_model_name(minilm, away) == MINILM


def test_the_first_model_is_known_as_soon_as_it_is_there(
    make_context, committing, place
):
    context = make_context(EMBEDDING_MODEL=MINILM, LOGCHORD_CACHE=str(place.cache))
    # No second passes for it.
    in_use = live_models.InUse(context.pool, lambda: 1.0)
    assert in_use.live() is None
    save(committing, context.settings, "first")
    embed_entries(context, MINILM)
    live = in_use.live()
    assert live is not None
    assert live.model == MINILM

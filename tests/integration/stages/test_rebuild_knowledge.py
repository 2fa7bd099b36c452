"""What is derived in Postgres is made anew, then the index, and searches go on."""

from typing import Any
from uuid import UUID

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone
from shared.errors import ConflictError
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.opensearch import aliases, mapping, rebuild
from shared.stages import derived_data
from shared.work import chore_records, due_work
from shared.work.chore_records import REBUILD_INDEX, REBUILD_KNOWLEDGE
from tests.support.watched_chores import Watched, due_now, finish
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import embed_entries, extract_metadata
from workers.tasks.index import index_entries

pytestmark = pytest.mark.timeout(240)
MODEL = "hashing-384"
STAGES = [METADATA_STAGE, embed_stage(MODEL)]
TENANTS = ("default", "other")
DUE = """
    SELECT e.tenant || ':' || e.external_id, w.stage, w.class FROM work w
      JOIN entry e ON e.id = w.entry_id ORDER BY 1, 2"""


class Rebuilding(Watched):
    kind, begins = REBUILD_INDEX, "create"


@pytest.fixture
def ctx(make_indexing_context) -> Watched:
    return make_indexing_context(Rebuilding)


@pytest.fixture
def filled(committing, ctx, monkeypatch) -> None:
    """Five entries of each of two facilities, the first of them deleted."""
    monkeypatch.setattr(derived_data, "STEP_ENTRIES", 3)
    for number in range(5):
        for tenant in TENANTS:
            draft = EntryDraft("api", f"{number}", f"klystron {number} tripped")
            save_page(committing, tenant, [draft], stages=STAGES, editor="test")
    first = "SELECT id, tenant FROM entry WHERE external_id = '0'"
    for entry_id, tenant in committing.execute(first).fetchall():
        tombstone(committing, tenant, entry_id, reason="test", stages=STAGES)
    work(ctx)
    assert committing.execute(DUE).fetchall() == []


def work(ctx: Context) -> None:
    extract_metadata(ctx)
    embed_entries(ctx, MODEL)
    place_entries(ctx)
    index_entries(ctx)


def everything() -> list[tuple[str, str, int]]:
    """What is due once all of it is to be made anew, and nothing of what is gone."""
    named = [f"{tenant}:{n}" for tenant in TENANTS for n in range(1, 5)]
    return sorted((name, stage, due_work.BULK) for name in named for stage in STAGES)


def step(ctx: Context, conn: Any) -> None:
    due_now(conn)
    chores.rebuild_knowledge(ctx)
    due_now(conn)
    chores.rebuild_index(ctx)


def found(ctx: Context) -> int:
    """How many entries a search finds now; it never fails."""
    client, alias = ctx.opensearch, mapping.read_alias(ctx.settings.opensearch_index)
    assert client is not None
    client.indices.refresh(index=alias)
    body = {"query": {"match": {"stream": "klystron"}}}
    answer = client.search(index=alias, body=body)
    assert answer["_shards"]["failed"] == 0
    return int(answer["hits"]["total"]["value"])


@pytest.mark.requirement("S4-71")
@pytest.mark.usefixtures("filled")
def test_texts_are_read_and_vectors_made_anew_and_the_index_asked_for_waits(
    ctx, committing
):
    first: UUID = derived_data.ask(committing)
    with pytest.raises(ConflictError):
        derived_data.ask(committing)
    then = rebuild.ask(committing)

    step(ctx, committing)
    assert committing.execute(DUE).fetchall() == everything()
    # What vectors are of is forgotten: else they would stay as they are.
    assert committing.execute("SELECT FROM embedding_input").fetchall() == []
    for stage in (extract_metadata, lambda c: embed_entries(c, MODEL)):
        step(ctx, committing)
        one, other = (chore_records.find(committing, each) for each in (first, then))
        assert (one.phase, other.phase) == ("reading", "create")
        assert found(ctx) == 8
        stage(ctx)
    ended = finish(committing, first, lambda: step(ctx, committing))
    assert ended == {"entries": 8, "stages": sorted(STAGES)}

    def turn() -> None:
        step(ctx, committing)
        work(ctx)
        assert found(ctx) == 8

    finish(committing, then, turn)
    one, other = (chore_records.find(committing, each) for each in (first, then))
    assert one.ended_at is not None
    assert other.ended_at is not None
    assert one.ended_at < other.ended_at
    assert one.kind == REBUILD_KNOWLEDGE
    assert set(ctx.done[ctx.done.index("open") :]).isdisjoint({"read", "reading"})


@pytest.mark.requirement("S4-71")
@pytest.mark.usefixtures("filled")
def test_a_full_rebuild_makes_vectors_too_before_it_makes_the_index(ctx, committing):
    chore = rebuild.ask(committing, full=True)
    old = aliases.look(ctx.opensearch, ctx.settings.opensearch_index).read

    step(ctx, committing)
    assert committing.execute(DUE).fetchall() == everything()
    extract_metadata(ctx)
    step(ctx, committing)
    assert chore_records.find(committing, chore).phase == "reading"

    def turn() -> None:
        work(ctx)
        step(ctx, committing)
        assert found(ctx) == 8

    finish(committing, chore, turn)
    order = list(dict.fromkeys(ctx.done))
    assert order[:4] == ["read", "reading", "create", "open"]
    assert aliases.look(ctx.opensearch, ctx.settings.opensearch_index).read != old

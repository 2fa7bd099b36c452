"""What OpenSearch refuses of a batch: each kind has its own end, real ones all."""

from uuid import UUID

import pytest

from shared.entries.draft import EntryDraft
from shared.messaging.stage_names import METADATA_STAGE
from shared.opensearch import documents, mapping
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_drafts
from workers.runtime.context import Context
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries

pytestmark = pytest.mark.timeout(180)
TENANT = "default"


@pytest.fixture
def ctx(make_indexing_context: MakeContext) -> Context:
    made = make_indexing_context()
    body = mapping.make_index_body()
    # A number where entries have words: the server itself refuses those that have one.
    body["mappings"]["properties"]["shift"] = {"type": "integer"}
    base = made.settings.opensearch_index
    body["aliases"] = {mapping.read_alias(base): {}, mapping.write_alias(base): {}}
    made.opensearch.indices.create(  # type: ignore[union-attr]
        index=f"{base}-v{mapping.MAPPING_VERSION}-1-a",
        body=body,
        params={"request_timeout": 30},
    )
    return made


@pytest.fixture
def save(committing, ctx):
    def save(*shifts: str | None) -> list[UUID]:
        drafts = [
            EntryDraft("api", f"{number}", "RF trip", shift=shift)
            for number, shift in enumerate(shifts)
        ]
        with committing.transaction():
            found = save_drafts(committing, drafts, stages=[METADATA_STAGE])
        extract_metadata(ctx)
        return found

    return save


def held(ctx: Context) -> set[str]:
    alias = mapping.read_alias(ctx.settings.opensearch_index)
    assert ctx.opensearch is not None
    ctx.opensearch.indices.refresh(index=alias)
    found = ctx.opensearch.search(index=alias, body={"size": 100, "_source": False})
    return {hit["_id"] for hit in found["hits"]["hits"]}


def due(conn) -> list[tuple[UUID, int, str | None]]:
    return conn.execute(
        "SELECT entry_id, attempts, last_error->>'code' FROM work"
        " WHERE stage = 'index' ORDER BY entry_id"
    ).fetchall()


def aside(conn) -> list[tuple[UUID, str]]:
    return conn.execute(
        "SELECT entry_id, error->>'code' FROM quarantine ORDER BY entry_id"
    ).fetchall()


def block(ctx: Context, name: str, *, on: bool) -> None:
    assert ctx.opensearch is not None
    ctx.opensearch.indices.put_settings(
        index=mapping.read_alias(ctx.settings.opensearch_index),
        body={name: True if on else None},
        params={"request_timeout": 30},
    )


@pytest.mark.requirement("F24", "P7")
def test_400_puts_aside_that_entry_alone(ctx, committing, save):
    ids = save(None, "Owl", "3", None, "Day")

    index_entries(ctx)

    assert held(ctx) == {str(ids[number]) for number in (0, 2, 3)}
    assert aside(committing) == [
        (ids[number], "opensearch_refused") for number in (1, 4)
    ]
    assert due(committing) == []
    paused = committing.execute("SELECT count(*) FROM stage_pause").fetchone()
    assert paused == (0,)


@pytest.mark.requirement("F17", "P2")
def test_409_is_success(ctx, committing, save):
    (one,) = save(None)
    newer = documents.version_of(0, 7)
    ctx.opensearch.index(
        index=mapping.write_alias(ctx.settings.opensearch_index),
        id=str(one),
        body={"tenant": TENANT},
        params={"version": newer, "version_type": "external"},
    )

    index_entries(ctx)

    assert (due(committing), aside(committing)) == ([], [])
    alias = mapping.read_alias(ctx.settings.opensearch_index)
    assert ctx.opensearch.get(index=alias, id=str(one))["_version"] == newer


@pytest.mark.requirement("F24", "P7")
@pytest.mark.parametrize(
    "name", ["index.blocks.read_only_allow_delete", "index.blocks.write"]
)
def test_429_and_403_of_every_item_rest_the_stage_and_cost_no_attempt(
    ctx, committing, save, name
):
    ids = save(None, None, None)
    block(ctx, name, on=True)

    index_entries(ctx)

    assert due(committing) == [
        (one, 0, "opensearch_unavailable") for one in sorted(ids)
    ]
    assert aside(committing) == []
    pauses = committing.execute("SELECT stage, code FROM stage_pause").fetchall()
    assert pauses == [("index", "opensearch_unavailable")]

    block(ctx, name, on=False)
    committing.execute("UPDATE stage_pause SET until = now()")
    committing.execute("UPDATE work SET due_at = now()")
    # One row tries whether the pause may end; the others follow.
    index_entries(ctx)
    committing.execute("UPDATE work SET due_at = now()")
    index_entries(ctx)

    assert held(ctx) == set(map(str, ids))
    assert (due(committing), aside(committing)) == ([], [])
    assert committing.execute("SELECT count(*) FROM stage_pause").fetchone() == (0,)

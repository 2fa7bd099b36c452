"""A worker reads texts by what is said of a source now, not when it has started."""

import pytest
from psycopg import Connection

from shared.messaging.stage_names import METADATA_STAGE
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records
from shared.sources.runs import sync_config
from shared.work import chore_records, schedule
from tests.support.saving import save_entry
from workers.tasks import chores
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import extract_metadata
from workers.upkeep import main


def reload(conn: Connection, **said: object) -> None:
    """Take over a configuration of one source, as `logchord source reload` does."""
    source = SourceSettings.model_validate(
        {"adapter": "olog", "base_url": "http://127.0.0.1:9", **said}
    )
    assert not sync_config.arrange(conn, Settings(sources={"ring": source})).invalid


@pytest.fixture
def language(committing):
    def read() -> str:
        row = committing.execute("SELECT language FROM entry_text").fetchone()
        return str(row[0])

    return read


def test_a_changed_language_is_read_by_without_a_restart(
    make_context, committing, language
):
    ctx = make_context()
    main.arrange_chores(committing)
    renewal = schedule.INSTALLATION, chore_records.RENEW_TEXTS
    committing.execute(
        "UPDATE source_schedule SET next_run_at = now() + interval '1 h'"
        " WHERE source = %s AND kind = %s",
        renewal,
    )
    # Nothing is said of it yet, and the process of the worker has long begun.
    save_entry(committing, "1", "Strahlen weg", stages=[METADATA_STAGE], source="ring")
    reload(committing, language="de")
    extract_metadata(ctx)
    place_entries(ctx)
    assert language() == "de"
    assert chore_records.RENEW_TEXTS not in due(committing)

    # A change makes what is stored due to be read anew: now, not within the hour.
    reload(committing, language="en", rate_per_second=1)
    assert chore_records.RENEW_TEXTS in due(committing)
    main.schedule_chores(committing)
    chores.renew_texts(ctx)
    extract_metadata(ctx)
    assert language() == "en"

    # What says nothing of texts has none of them read.
    reload(committing, language="en", rate_per_second=2)
    assert chore_records.RENEW_TEXTS not in due(committing)


def due(conn: Connection) -> list[str]:
    return schedule.list_due_kinds(conn, schedule.INSTALLATION)


def test_changed_readers_have_what_is_here_read_anew(committing):
    def is_due(**readers: list[str] | None) -> bool:
        args = {"logbooks": ["RF"], **({"readers": readers} if readers else {})}
        reload(committing, adapter="elog_http", args=args)
        kinds = schedule.list_due_kinds(committing, "ring")
        committing.execute(
            "UPDATE source_schedule SET next_run_at = 'infinity' WHERE kind = 'reparse'"
        )
        return run_records.REPARSE in kinds

    assert not is_due()
    assert is_due(RF=["rf"])
    assert not is_due(RF=["rf"])
    assert is_due(RF=None)

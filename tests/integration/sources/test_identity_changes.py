"""Settings that would name every record of a source anew wait to be confirmed."""

from pathlib import Path
from typing import Any

import pytest

from shared.errors import LogchordError
from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records, source_state
from shared.sources.runs import sync_config
from shared.sources.runs.sync_config import Arranged
from tests.support.fixtures.sources import TENANT, Runtime

NAME = "sheet"
COLUMNS = {"entry_time": "Day", "text": "What", "category": "Unit"}
SHEET = (
    "id,Day,Unit,What\n1,2024-06-10,A,trip\n2,2024-06-11,B,leak\n3,2024-06-12,C,arc\n"
)


def arranged(runtime: Runtime, file: Path, *, confirm: bool, **args: Any) -> Arranged:
    source = SourceSettings(
        adapter="generic_csv",
        path=str(file),
        timezone="UTC",
        require_initial_ingest=False,
        args={"columns": COLUMNS, **args},
    )
    settings = runtime.settings.model_copy(update={"sources": {NAME: source}})
    with connection(runtime.pool) as conn:
        return sync_config.arrange(conn, settings, confirm_identity=confirm)


def wrong(found: Arranged) -> list[LogchordError]:
    return list(found.invalid.values())


@pytest.fixture
def file(runtime: Runtime, tmp_path: Path) -> Path:
    path = tmp_path / "sheet.csv"
    path.write_text(SHEET, "utf-8")
    assert arranged(runtime, path, confirm=False).added == [NAME]
    return path


def test_what_would_double_a_source_says_so_and_changes_nothing_before(runtime, file):
    assert runtime.run(NAME).added == 3
    given: dict[str, Any] = {"id_columns": ["Unit", "Day"], "complete_snapshot": True}

    (refused,) = wrong(arranged(runtime, file, confirm=False, **given))

    for part in (
        *("'Unit' and 'Day'", "no longer by 'id'", "beside the 3 that are here"),
        *("--confirm-identity", "--confirm-prune", f"logchord purge {NAME}/ID"),
    ):
        assert part in refused.message
    with connection(runtime.pool) as conn:
        standing = source_state.load_source_state(conn, TENANT, NAME)
    assert standing is not None
    assert "id_columns" not in standing.settings.args
    assert runtime.run(NAME).seen == 0

    # What it says is true: they come a second time, and its advice removes the first.
    assert arranged(runtime, file, confirm=True, **given).changed == [NAME]
    assert runtime.run(NAME).added == 3
    assert len(runtime.texts(NAME)) == 6
    assert wrong(arranged(runtime, file, confirm=False, **given)) == []
    assert runtime.run(NAME, run_records.RECONCILE, confirm_prune=True).deleted == 3
    assert sorted(runtime.texts(NAME)) == [
        "A/2024-06-10",
        "B/2024-06-11",
        "C/2024-06-12",
    ]


def test_what_names_records_as_before_or_names_none_is_taken_over_at_once(
    runtime, file
):
    # Nothing is here yet.
    assert arranged(runtime, file, confirm=False, id_columns=["Day"]).changed == [NAME]
    assert arranged(runtime, file, confirm=False).changed == [NAME]
    assert runtime.run(NAME).added == 3
    for same in (
        {"id_columns": ["id"]},
        {"map": {"external_id": "id"}},
        {"map": {"id": ["id"]}, "id_columns": ["Day"]},
        {"columns": {**COLUMNS, "external_id": "id", "title": "Unit"}},
    ):
        assert arranged(runtime, file, confirm=False, **same).changed == [NAME]
    for other in (
        {"map": {"external_id": "Day"}},
        {"columns": {**COLUMNS, "id": "Day"}},
        {"id_columns": ["id", "Day"]},
    ):
        assert len(wrong(arranged(runtime, file, confirm=False, **other))) == 1


def test_settings_that_this_release_has_no_more_keep_nobody_from_being_arranged(
    runtime, file
):
    assert runtime.run(NAME).added == 3
    with connection(runtime.pool) as conn:
        conn.execute("""UPDATE source_state SET config = config || '{"gone": 1}'""")
    assert len(wrong(arranged(runtime, file, confirm=False, id_columns=["Day"]))) == 1
    given = {"columns": {**COLUMNS, "title": "Unit"}}
    assert arranged(runtime, file, confirm=False, **given).changed == [NAME]

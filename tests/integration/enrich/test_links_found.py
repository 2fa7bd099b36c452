"""What a text names of other entries is resolved when it is shown, within rights."""

import pytest

from shared.access.scope import Scope
from shared.entries.reading import findings_shown, read_entries
from shared.entries.saving.save import tombstone
from shared.messaging.stage_names import LINKS_STAGE
from shared.stages import entry_stages
from tests.support.saving import save_entry
from workers.tasks.stages import run_stage

TENANT = "default"
ANNA = Scope(TENANT, "anna")


@pytest.fixture
def ctx(make_context):
    return make_context(LOGCHORD_STAGES='{"links": {"enabled": true}}')


@pytest.fixture
def save(conn, ctx):
    def save(external_id: str, text: str, *, tenant: str = TENANT, **more):
        due = entry_stages.list_entry_stages(ctx.settings)
        given = {"source": "ops", "stages": due, "tenant": tenant, **more}
        entry_id = save_entry(conn, external_id, text, **given)
        conn.commit()
        run_stage(ctx, LINKS_STAGE)
        return entry_id

    return save


def meant(conn, entry_id, scope: Scope = ANNA) -> list[tuple[str, str | None]]:
    conn.rollback()
    shown = findings_shown.load_findings(conn, scope, entry_id, 1).get(LINKS_STAGE, [])
    return [(one["external_id"], one["entry_id"]) for one in shown]


def test_an_entry_is_linked_once_it_is_there_and_no_thread_comes_of_it(conn, save):
    naming = save("1", "In reply to entry 2, and see entries 3 and 4")
    assert meant(conn, naming) == [("2", None), ("3", None), ("4", None)]

    second, third = save("2", "beam lost"), save("3", "beam back")
    save("4", "of another logbook", source="maintenance")
    save("4", "of another facility", tenant="other")

    expected = [("2", str(second)), ("3", str(third)), ("4", None)]
    assert meant(conn, naming) == expected
    tombstone(conn, TENANT, third, reason="test", stages=[])
    conn.commit()
    assert meant(conn, naming) == [("2", str(second)), ("3", None), ("4", None)]
    entry = read_entries.load_entry(conn, ANNA, naming)
    assert entry is not None
    assert (entry.thread_id, entry.reply_to) == (None, None)


def test_who_may_not_see_an_entry_is_not_told_which_it_is(conn, save):
    naming = save("1", "see entries 2, 3")
    save("2", "for the rf group", readers=("rf-group",))
    third = save("3", "for everybody", logbooks=("vacuum",))

    assert meant(conn, naming) == [("2", None), ("3", str(third))]
    narrow = Scope(TENANT, "anna", logbooks=("rf",))
    assert meant(conn, naming, narrow) == [("2", None), ("3", None)]
    member = Scope(TENANT, "jo", groups=("rf-group",))
    assert [one[1] is not None for one in meant(conn, naming, member)] == [True, True]
    assert findings_shown.load_findings(conn, Scope("other", "anna"), naming, 1) == {}

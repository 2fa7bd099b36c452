"""Saving what a source says: versions, deletions, payloads, attachments, access."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.adapter_contract import payload_codec
from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.removal import retention
from shared.entries.saving import attachment_rows, payloads
from shared.entries.saving.save import save_page, tombstone_many

TENANT = "default"
STAGES = ["metadata", "embed:test"]
GRAVE_STAGES = ["embed:test", "index"]
THEN = datetime(2024, 5, 14, 6, 12, tzinfo=UTC)


@pytest.fixture
def save(conn):
    def save(*drafts: EntryDraft, **options):
        return save_page(
            conn, TENANT, drafts, stages=STAGES, editor="source:olog", **options
        )

    return save


def draft(external_id: str = "A-1", text: str = "RF trip", **fields) -> EntryDraft:
    fields.setdefault("entry_time", THEN)
    return EntryDraft(source="olog", external_id=external_id, text=text, **fields)


def row(conn, columns: str, external_id: str = "A-1"):
    return conn.execute(
        f"SELECT {columns} FROM entry WHERE external_id = %s", (external_id,)
    ).fetchone()


def work_of(conn, external_id: str = "A-1") -> list[str]:
    rows = conn.execute(
        "SELECT w.stage FROM work w JOIN entry e ON e.id = w.entry_id"
        " WHERE e.external_id = %s ORDER BY w.stage",
        (external_id,),
    )
    return [one[0] for one in rows]


@pytest.mark.parametrize(
    ("stored", "delivered"),
    [
        ({"version": "10"}, {"version": "9"}),
        ({"modified_at": THEN}, {"modified_at": THEN - timedelta(seconds=1)}),
        # A version that is no number says nothing; the clock does.
        (
            {"version": "c0ffee", "modified_at": THEN},
            {"version": "badcab", "modified_at": THEN - timedelta(days=1)},
        ),
    ],
)
def test_an_older_delivery_is_dropped(conn, save, stored, delivered):
    save(draft(text="new", **stored))

    (result,) = save(draft(text="old", **delivered))

    assert (result.status, result.revision) == ("unchanged", 1)
    assert conn.execute("SELECT text FROM revision").fetchall() == [("new",)]


@pytest.mark.parametrize(
    ("stored", "delivered"),
    [
        ({"version": "9"}, {"version": "10"}),
        ({"version": "9", "modified_at": THEN}, {"version": "10"}),
        ({"modified_at": THEN}, {"modified_at": THEN + timedelta(seconds=1)}),
        ({"modified_at": THEN}, {}),
        ({}, {}),
    ],
)
def test_a_newer_delivery_or_one_of_unknown_age_is_an_edit(
    conn, save, stored, delivered
):
    save(draft(text="new", **stored))

    (result,) = save(draft(text="newer", **delivered))

    assert (result.status, result.revision) == ("updated", 2)


def test_an_edit_back_to_the_old_text_is_a_revision_too(conn, save):
    save(draft(text="one"))
    save(draft(text="two"))

    (result,) = save(draft(text="one"))

    assert (result.status, result.revision) == ("updated", 3)


def test_what_only_the_source_counts_is_noted_without_work_or_revision(conn, save):
    save(draft(stamp="a", version="1", parsed_by=1))
    before = row(conn, "doc_version, changed_xid")
    conn.execute("DELETE FROM work")
    conn.execute("UPDATE entry SET missing_since = now()")
    conn.commit()

    (result,) = save(draft(stamp="b", version="2", parsed_by=2, modified_at=THEN))

    assert result.status == "unchanged"
    assert row(conn, "stamp, version, parsed_by, source_modified_at") == (
        "b",
        "2",
        2,
        THEN,
    )
    assert row(conn, "missing_since IS NULL, doc_version, changed_xid") == (
        True,
        *before,
    )
    assert work_of(conn) == []
    assert conn.execute("SELECT count(*) FROM revision").fetchone() == (1,)


def test_a_delivery_without_a_stamp_leaves_the_one_that_is_known(conn, save):
    save(draft(stamp="a"))
    save(draft(text="edited"))

    assert row(conn, "stamp, revision") == ("a", 2)


@pytest.mark.parametrize(
    "aside",
    [{"url": "https://log.example.org/1"}, {"origin": "machine"}, {"readers": ("jo",)}],
)
def test_address_origin_and_readers_make_the_index_due_and_no_revision(
    conn, save, aside
):
    save(draft())
    conn.execute("DELETE FROM work")

    (result,) = save(draft(**aside))

    assert (result.status, result.revision) == ("updated", 1)
    assert work_of(conn) == ["index"]
    assert row(conn, "doc_version") == (2,)


def test_an_editor_of_the_source_is_the_editor_of_the_revision(conn, save):
    save(draft())
    save(draft(text="edited", editor="mkoval"))

    editors = conn.execute("SELECT editor FROM revision ORDER BY number").fetchall()
    assert editors == [("source:olog",), ("mkoval",)]


def test_what_a_source_has_no_more_is_deleted_and_comes_back_as_a_revision(conn, save):
    first, other = save(draft(), draft("A-2"))
    conn.execute("DELETE FROM work")

    gone = tombstone_many(
        conn, TENANT, "olog", ["A-1", "unknown"], reason="pruned", stages=GRAVE_STAGES
    )

    assert gone == [first.entry_id]
    assert row(conn, "deleted_at IS NULL, delete_reason, change") == (
        False,
        "pruned",
        "deleted",
    )
    assert row(conn, "deleted_at", "A-2") == (None,)
    assert work_of(conn) == GRAVE_STAGES
    again = tombstone_many(
        conn, TENANT, "olog", ["A-1"], reason="pruned", stages=GRAVE_STAGES
    )
    assert again == []
    assert other.entry_id

    (back,) = save(draft())

    assert (back.entry_id, back.status, back.revision) == (first.entry_id, "updated", 2)
    assert row(conn, "deleted_at, delete_reason, change") == (None, None, "edited")


def test_an_older_delivery_does_not_bring_a_deleted_entry_back(conn, save):
    save(draft(version="3"))
    tombstone_many(conn, TENANT, "olog", ["A-1"], reason="pruned", stages=[])

    (result,) = save(draft(version="2"))

    assert result.status == "unchanged"


def test_what_retention_has_deleted_stays_deleted_although_its_source_has_it(
    conn, save
):
    save(draft())
    tombstone_many(conn, TENANT, "olog", ["A-1"], reason="retention", stages=[])

    (result,) = save(draft(text="edited"))

    assert result.status == "unchanged"
    assert row(conn, "deleted_at IS NULL") == (False,)


def test_what_was_purged_is_skipped_whoever_sends_it(conn, save):
    conn.execute(
        "INSERT INTO purged (tenant, source, external_id)"
        " VALUES ('default', 'olog', 'A-1'), ('other', 'olog', 'A-2')"
    )

    purged, kept = save(draft(), draft("A-2"))

    assert (purged.status, kept.status) == ("purged", "created")
    assert row(conn, "id") is None


def test_every_revision_keeps_what_was_received(conn, save):
    first = {"id": 1, "title": "lone \ud800 surrogate", "n": 1.5}
    save(draft(raw=RawItem("A-1", first, url="https://log.example.org/api/1")))
    save(
        draft(
            text="edited",
            raw=RawItem(
                "A-1", b"\xff\x00raw", "text/plain", "latin-1", fetched_at=THEN
            ),
        )
    )

    rows = conn.execute(
        "SELECT revision, payload FROM raw_payload ORDER BY revision"
    ).fetchall()
    assert [(number, payload_codec.unpack(packed)) for number, packed in rows] == [
        (1, first),
        (2, b"\xff\x00raw"),
    ]
    (kept,) = payloads.current(conn, TENANT, "olog", limit=10)
    assert kept.raw() == RawItem(
        "A-1", b"\xff\x00raw", "text/plain", "latin-1", fetched_at=THEN
    )
    after = payloads.current(conn, TENANT, "olog", limit=10, after=kept.entry_id)
    assert after == []


def test_an_unchanged_delivery_keeps_no_second_payload(conn, save):
    save(draft(raw=RawItem("A-1", {"n": 1})))
    save(draft(raw=RawItem("A-1", {"n": 1, "seen": 2})))

    assert conn.execute("SELECT count(*) FROM raw_payload").fetchone() == (1,)


@pytest.mark.parametrize(
    ("text_format", "text", "read"),
    [
        ("html", "<p>Pump <b>7</b> tripped</p>", "Pump 7 tripped"),
        ("elcode", "Pump [b]7[/b] tripped", "Pump 7 tripped"),
        # What only looks like markup stays as it was written.
        ("plain", "<p>Pump <b>7</b>", "<p>Pump <b>7</b>"),
    ],
)
def test_stages_read_the_text_without_its_marks_and_the_original_is_kept(
    conn, save, text_format, text, read
):
    (saved,) = save(draft(text=text, text_format=text_format))

    content = read_entries.load_contents(conn, TENANT, [saved.entry_id])[saved.entry_id]
    assert (content.text, content.text_format) == (read, "plain")
    assert conn.execute("SELECT text, text_format FROM revision").fetchone() == (
        text,
        text_format,
    )


def pump(**fields) -> AttachmentRef:
    return AttachmentRef(
        **{"id": "1", "filename": "pump.png", "bytes": 10, "url": "/1", **fields}
    )


def test_attachments_are_due_where_there_is_something_to_fetch(conn, save):
    with_file, without = save(
        draft(attachments=(pump(), AttachmentRef("2", "log.txt"))), draft("A-2")
    )

    assert work_of(conn) == ["attachments", *sorted(STAGES)]
    assert work_of(conn, "A-2") == sorted(STAGES)
    found = attachment_rows.load_attachments(
        conn, TENANT, [with_file.entry_id, without.entry_id]
    )
    assert [
        (one.external_id, one.filename, one.state)
        for one in found.pop(with_file.entry_id)
    ] == [("1", "pump.png", "due"), ("2", "log.txt", "due")]
    assert found == {}


def test_attachments_that_are_only_linked_make_nothing_due(conn, save):
    (saved,) = save(draft(attachments=(pump(),)), fetch_attachments=False)

    assert work_of(conn) == sorted(STAGES)
    (one,) = attachment_rows.load_attachments(conn, TENANT, [saved.entry_id])[
        saved.entry_id
    ]
    assert one.state == "linked"


def test_an_edit_keeps_what_is_stored_fetches_what_is_new_and_drops_what_is_gone(
    conn, save
):
    two = AttachmentRef("2", "log.txt")
    (saved,) = save(draft(attachments=(pump(), two)))
    conn.execute("UPDATE attachment SET state = 'stored', sha256 = 'x'")
    conn.execute("DELETE FROM work")

    save(draft(attachments=(AttachmentRef("3", "new.txt"), pump(url="/moved"))))

    found = attachment_rows.load_attachments(conn, TENANT, [saved.entry_id])[
        saved.entry_id
    ]
    assert [(one.external_id, one.state, one.url) for one in found] == [
        ("3", "due", None),
        ("1", "stored", "/moved"),
    ]
    assert "attachments" in work_of(conn)


def test_an_attachment_of_another_size_is_another_file(conn, save):
    (saved,) = save(draft(attachments=(pump(),)))
    conn.execute("UPDATE attachment SET state = 'stored', sha256 = 'x'")

    (edited,) = save(draft(attachments=(pump(bytes=11),)))

    assert edited.revision == 2
    (one,) = attachment_rows.load_attachments(conn, TENANT, [saved.entry_id])[
        saved.entry_id
    ]
    assert one.state == "due"


def test_two_attachments_of_one_id_are_two(conn, save):
    (saved,) = save(draft(attachments=(pump(), pump(filename="other.png"))))

    found = attachment_rows.load_attachments(conn, TENANT, [saved.entry_id])[
        saved.entry_id
    ]
    assert [one.external_id for one in found] == ["1", "1#2"]


def test_who_could_read_an_entry_is_remembered_when_it_is_closed(conn, save):
    save(draft(logbooks=("Ops",)))
    save(draft(logbooks=("Ops",), readers=("rf",)))
    save(draft(logbooks=("RF",), readers=("rf",)))

    assert row(conn, "past_readers, past_logbooks, change") == (
        ["*", "rf"],
        ["Ops"],
        "edited",
    )


def test_what_is_closed_under_an_embargo_was_nobodys_to_read(conn, save):
    """Marked all the same: the index may see the embargo end first."""
    embargo = datetime(2199, 1, 1, tzinfo=UTC)
    save(draft(visible_from=embargo))
    save(draft(visible_from=embargo, text="edited"))
    assert row(conn, "past_readers") == ([],)

    save(draft(visible_from=embargo, readers=("rf",)))
    save(draft(visible_from=embargo, readers=("ops",)))

    assert row(conn, "past_readers, past_logbooks") == (["-"], [])


def test_an_access_change_is_one_although_the_text_changes_too(conn, save):
    save(draft())
    save(draft(text="edited", readers=("rf",)))

    assert row(conn, "past_readers, change, revision") == (["*"], "access", 2)


def test_what_is_older_than_its_source_may_be_kept_is_deleted_in_steps(conn, save):
    now = datetime.now(UTC)
    ages = {"old": 40, "older": 50, "young": 20}
    save(*(draft(n, entry_time=now - timedelta(days=d)) for n, d in ages.items()))
    conn.execute("DELETE FROM work")

    steps = [
        retention.expire(conn, TENANT, "olog", days=30, stages=GRAVE_STAGES, limit=1)
        for _ in range(3)
    ]

    assert [len(gone) for gone in steps] == [1, 1, 0]
    # The oldest goes first.
    assert steps[0] == [row(conn, "id", "older")[0]]
    assert row(conn, "deleted_at, change", "young") == (None, "created")
    assert row(conn, "delete_reason, change", "old") == ("retention", "deleted")
    assert work_of(conn, "old") == GRAVE_STAGES
    classes = conn.execute("SELECT DISTINCT class FROM work").fetchall()
    assert classes == [(1,)]

"""The files of entries, fetched from a source by the task as a worker runs it."""

import hashlib
import secrets
import subprocess
import tempfile
import threading
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
import pytest

from shared.adapter_contract.entry import AttachmentRef
from shared.enrich.attachments import attachment_states, keep_files
from shared.enrich.attachments.file_store import FileStore, open_store
from shared.entries.draft import EntryDraft
from shared.entries.saving.attachment_rows import Attached, load_attachments
from shared.entries.saving.save import save_page, tombstone
from shared.errors import SourceUnreachableError
from shared.ids import uuid7
from shared.messaging.celery_app import make_app
from shared.messaging.stage_names import ATTACHMENTS_STAGE, METADATA_STAGE
from shared.settings.settings import Settings
from shared.sources.runs import sync_config
from shared.stages import installed_stages
from shared.stages.stage_contract import StageDescriptor
from shared.work import chore_records
from shared.work import due_work as work
from tests.contract.stubs.serving import LOGIN_PAGE, StubAnswer, StubServer
from tests.support import attached
from tests.support.saving import save_entry
from workers.runtime.context import Context, Resources
from workers.tasks import attachments, chores
from workers.tasks.enhance import extract_metadata

TENANT = "default"
PNG = attached.png()
SCREEN = attached.screen()


class Files(StubServer):
    """A server of files by their path."""

    def __init__(self) -> None:
        super().__init__(self._found)
        self.files: dict[str, bytes] = {}
        self.while_asked = lambda: None

    def _found(self, request) -> StubAnswer:
        self.while_asked()
        body = self.files.get(unquote(request.path))
        if body is None:
            return StubAnswer(b"not here", 404, "text/plain")
        return StubAnswer(body, media_type="application/octet-stream")


@pytest.fixture
def server():
    server = Files()
    yield server
    server.close()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of sixteen pages."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
    if subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted as root only")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def elsewhere():
    server = Files()
    yield server
    server.close()


@pytest.fixture
def make_context(database, valkey, server, tmp_path):
    made = []

    def make(**source) -> Context:
        lab = {
            "adapter": "olog",
            "base_url": server.base_url,
            "rate_per_second": 100,
            "max_retries": 0,
            "request_timeout_seconds": 3,
            "max_attachment_bytes": 10_000,
            **source,
        }
        settings = Settings.model_validate(
            {
                "home": tmp_path,
                "database_url": database,
                "broker_url": valkey.url,
                "sources": {"api": {}, "lab": lab},
            }
        )
        with psycopg.connect(database) as conn:
            sync_config.arrange(conn, settings)
        ctx = Context(Resources(settings, make_app(settings), "test"), {})
        made.append(ctx)
        return ctx

    yield make
    for ctx in made:
        ctx._resources.close()


def ref(server: Files, name: str, body: bytes | None, **fields) -> AttachmentRef:
    path = f"/files/{secrets.token_hex(4)}"
    if body is not None:
        server.files[path] = body
    return AttachmentRef(name, name, f"{server.base_url}{path}", **fields)


def save(conn, *refs: AttachmentRef, text: str = "see file"):
    given: dict[str, Any] = {"entry_time": datetime.now(UTC), "attachments": refs}
    entry_id = save_entry(conn, "1", text, source="lab", **given)
    conn.commit()
    return entry_id


def save_and_fetch(ctx: Context, conn, *refs: AttachmentRef, text: str = "see file"):
    entry_id = save(conn, *refs, text=text)
    attachments.extract_attachment(ctx, [entry_id])
    return entry_id


def found(conn, entry_id) -> dict[str, Attached]:
    conn.rollback()
    listed = load_attachments(conn, TENANT, [entry_id])[entry_id]
    return {one.filename: one for one in listed}


def states(conn, entry_id) -> dict[str, str]:
    return {name: one.state for name, one in found(conn, entry_id).items()}


def due_stages(conn) -> list[str]:
    """What is due but the reading of what the files say."""
    conn.rollback()
    found = conn.execute(
        "SELECT stage FROM work WHERE stage <> %s ORDER BY stage", (METADATA_STAGE,)
    )
    return [row[0] for row in found]


def make_due_now(conn) -> None:
    conn.execute("UPDATE work SET due_at = now(), leased_until = NULL")
    conn.commit()


def files_of(home: Path) -> list[Path]:
    return [one for one in (home / "attachments").rglob("*") if one.is_file()]


def test_what_a_file_says_is_searched_with_its_entry(conn, ctx, server):
    entry_id = save_and_fetch(
        ctx, conn, ref(server, "scan.txt", b"the wiggler whistled at noon")
    )
    conn.rollback()
    assert conn.execute("SELECT stage FROM work").fetchall() == [(METADATA_STAGE,)]

    extract_metadata(ctx, [entry_id])

    conn.rollback()
    (stream,) = conn.execute("SELECT stream FROM entry_text").fetchone()
    # A section of its own: no phrase runs from the text into a file.
    assert stream.split("\n") == ["see file", "scan txt the wiggler whistl at noon"]


def test_files_are_fetched_sniffed_stored_by_content_and_read(
    conn, ctx, server, tmp_path
):
    entry_id = save(
        conn,
        ref(server, "trip.txt", PNG, declared_type="text/plain"),
        ref(server, "report.docx", attached.docx()),
        ref(server, "empty.log", b""),
    )
    assert due_stages(conn) == [ATTACHMENTS_STAGE]

    attachments.extract_attachment(ctx, [entry_id])

    assert due_stages(conn) == []
    kept = found(conn, entry_id)
    assert list(kept) == ["trip.txt", "report.docx", "empty.log"]
    assert {one.state for one in kept.values()} == {"stored"}
    assert kept["trip.txt"].media_type == "image/png"
    assert kept["trip.txt"].declared_type == "text/plain"
    assert kept["report.docx"].text_extracted
    assert not kept["empty.log"].text_extracted
    for one in kept.values():
        assert one.sha256 is not None
        name = one.sha256.hex()
        path = tmp_path / "attachments" / name[:2] / name[2:4] / name
        assert path.stat().st_size == one.size
    text = conn.execute("SELECT text FROM attachment WHERE filename LIKE '%docx'")
    assert "IPM4A07" in text.fetchone()[0]


def test_files_of_a_source_that_was_added_after_the_worker_began_are_fetched(
    conn, make_context, server
):
    ctx = make_context()
    lab = ctx.settings.sources["lab"]
    began_without = ctx.settings.model_copy(update={"sources": {}})
    ctx._resources.settings = began_without
    later = Settings(sources={"hall": lab})
    sync_config.arrange(conn, later)
    draft = EntryDraft(
        "hall", "1", "see file", attachments=(ref(server, "a.txt", b"whistled"),)
    )
    (saved,) = save_page(conn, TENANT, [draft], stages=[], editor="test")
    conn.commit()

    attachments.extract_attachment(ctx, [saved.entry_id])

    assert found(conn, saved.entry_id)["a.txt"].state == "stored"
    sync_config.arrange(conn, Settings(sources={}))
    conn.commit()


def test_files_are_fetched_by_the_login_that_their_source_has_by_now(
    conn, make_context, server, monkeypatch
):
    monkeypatch.setenv("FIRST", "first")
    monkeypatch.setenv("SECOND", "second")
    wanted = "first"

    def guarded(request) -> StubAnswer:
        login = b64encode(f"reader:{wanted}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {login}":
            return StubAnswer(b"", 401, "text/plain")
        return server._found(request)

    server.answer = guarded
    login = {"kind": "basic", "user": "reader", "secret": "FIRST"}
    ctx = make_context(auth=login)
    before = save(conn, ref(server, "a.txt", b"whistled"))
    attachments.extract_attachment(ctx, [before])
    assert states(conn, before) == {"a.txt": "stored"}

    wanted = "second"
    lab = ctx.settings.sources["lab"].model_dump()
    changed = {**lab, "auth": {**login, "secret": "SECOND"}}
    sync_config.arrange(conn, Settings.model_validate({"sources": {"lab": changed}}))
    after = save(conn, ref(server, "b.txt", b"hummed"))
    attachments.extract_attachment(ctx, [after])

    assert states(conn, after) == {"b.txt": "stored"}


def test_a_page_is_not_kept_for_a_file_that_by_its_name_is_none(conn, ctx, server):
    page = b"<html><head><title>404 Not Found</title></head><body>gone</body></html>"
    entry_id = save_and_fetch(
        ctx,
        conn,
        ref(server, "trip_report.pdf", page),
        ref(server, "notes.txt", page),
        ref(server, "saved.html", page),
    )

    assert states(conn, entry_id) == {
        "trip_report.pdf": "failed",
        "notes.txt": "stored",
        "saved.html": "stored",
    }
    error = found(conn, entry_id)["trip_report.pdf"].error
    assert error is not None
    assert error["details"]["reason"] == "page_instead"


def test_what_was_only_linked_is_fetched_once_its_source_is_known(conn, ctx, server):
    settings = ctx.settings
    sync_config.arrange(conn, Settings(sources={}))
    entry_id = save_and_fetch(
        ctx,
        conn,
        ref(server, "a.txt", b"whistled"),
        ref(server, "large.bin", b"x", bytes=20_000),
    )
    assert {one.state for one in found(conn, entry_id).values()} == {"linked"}

    sync_config.arrange(conn, settings)
    conn.commit()

    assert due_stages(conn) == [ATTACHMENTS_STAGE]
    attachments.extract_attachment(ctx, [entry_id])
    assert states(conn, entry_id) == {"a.txt": "stored", "large.bin": "linked"}
    sync_config.arrange(conn, settings)
    assert due_stages(conn) == []


def test_what_was_too_large_or_too_many_is_fetched_once_it_may_be(conn, ctx, server):
    small = ctx.settings.model_copy(update={"max_attachments_per_entry": 2})
    of_small = Context(Resources(small, make_app(small), "test"), {})
    entry_id = save(
        conn,
        ref(server, "a.txt", b"one"),
        ref(server, "large.bin", b"two", bytes=20_000),
        ref(server, "third.txt", b"three"),
    )
    attachments.extract_attachment(of_small, [entry_id])
    of_small._resources.close()
    kept = found(conn, entry_id)
    assert {name: one.state for name, one in kept.items()} == {
        "a.txt": "stored",
        "large.bin": "linked",
        "third.txt": "linked",
    }
    told = {name: (one.error or {}).get("message", "") for name, one in kept.items()}
    assert "said to have 20000 bytes" in told["large.bin"]
    assert "the first 2 are fetched" in told["third.txt"]

    sync_config.arrange(conn, ctx.settings)
    conn.commit()
    attachments.extract_attachment(ctx, [entry_id])
    kept = found(conn, entry_id)
    assert kept["third.txt"].state == "stored"
    assert kept["large.bin"].state == "linked"


def test_the_task_twice_asks_once_and_the_same_content_lies_once(
    conn, ctx, server, tmp_path
):
    entry_id = save_and_fetch(ctx, conn, ref(server, "a", PNG), ref(server, "b", PNG))
    attachments.extract_attachment(ctx, [entry_id])

    assert len(server.requests()) == 2
    assert len(files_of(tmp_path)) == 1
    assert {one.sha256 for one in found(conn, entry_id).values()} == {
        found(conn, entry_id)["a"].sha256
    }


@pytest.mark.requirement("ADP22")
def test_each_file_comes_to_its_own_end(conn, ctx, server, elsewhere):
    name = 'x/../"q"\r\nÖl.txt'
    large = ref(server, "large.bin", b"x" * 10_001)
    save_and_fetch(
        ctx,
        conn,
        ref(server, "same.txt", b"one"),
        AttachmentRef("second", "same.txt", ref(server, "", b"two").url),
        ref(server, "missing.txt", None),
        large,
        ref(server, "declared.bin", b"x", bytes=10_001),
        ref(server, "limit.bin", b"x" * 10_000),
        ref(server, name, b"three"),
        ref(elsewhere, "foreign.txt", b"four"),
        AttachmentRef("nowhere", "nowhere.jpg"),
    )

    assert due_stages(conn) == []
    conn.rollback()
    ended = conn.execute(
        "SELECT filename, state, error ->> 'code', error -> 'details' ->> 'reason'"
        " FROM attachment ORDER BY position"
    ).fetchall()
    assert ended[:2] == [("same.txt", "stored", None, None)] * 2
    code = "attachment_fetch_failed"
    assert ended[2] == ("missing.txt", "failed", code, "refused")
    assert ended[3] == ("large.bin", "linked", code, "too_large")
    assert ended[4] == ("declared.bin", "linked", code, "declared_too_large")
    assert ended[5][:2] == ("limit.bin", "stored")
    assert ended[6][:2] == (name, "stored")
    assert ended[7][:2] == ("foreign.txt", "linked")
    assert elsewhere.requests() == ()
    # Olog's adapter asks by the id where there is no address.
    assert ended[8][1] == "failed"


@pytest.mark.requirement("B12", "B13")
def test_an_unsafe_archive_fails_alone_and_is_not_kept(conn, make_context, server):
    ctx = make_context(max_attachment_bytes=5_000_000)
    entry_id = save_and_fetch(
        ctx,
        conn,
        ref(server, "bomb.zip", attached.bomb(50)),
        ref(server, "out.zip", attached.one_member(b"../../etc/x", b"x", 1)),
        ref(server, "good.txt", b"good"),
    )

    kept = found(conn, entry_id)
    assert [one.state for one in kept.values()] == ["failed", "failed", "stored"]
    errors = [one.error and one.error["code"] for one in kept.values()]
    assert errors == ["unsafe_archive", "unsafe_archive", None]
    assert len(files_of(ctx.settings.home)) == 1


def test_a_source_that_is_away_is_asked_again_and_harms_nobody(conn, ctx, server):
    entry_id = save(conn, ref(server, "a.txt", b"a"), ref(server, "b.txt", b"b"))
    server.fault("429")

    attachments.extract_attachment(ctx, [entry_id])

    assert due_stages(conn) == [ATTACHMENTS_STAGE]
    assert len(server.requests()) == 1
    assert conn.execute("SELECT count(*) FROM stage_pause").fetchone() == (0,)
    assert conn.execute("SELECT strikes FROM work").fetchone() == (0,)
    error = found(conn, entry_id)["a.txt"].error
    assert error is not None
    assert error["code"] == "source_unreachable"

    # It is left alone for a while.
    make_due_now(conn)
    attachments.extract_attachment(ctx, [entry_id])
    assert len(server.requests()) == 1

    ctx.kept("resting", dict).clear()
    conn.execute("UPDATE source_state SET next_request_at = now()")
    make_due_now(conn)
    attachments.extract_attachment(ctx, [entry_id])
    assert due_stages(conn) == []
    kept = found(conn, entry_id)
    assert {(one.state, one.error is None) for one in kept.values()} == {
        ("stored", True)
    }


def test_one_child_at_a_time_waits_for_files(conn, ctx, server):
    entry_id = save(conn, ref(server, "a.txt", b"a"))
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        assert attachments.FETCHING_TURN.take(60)
        taken.set()
        over.wait(60)
        attachments.FETCHING_TURN.give_back()

    another = threading.Thread(target=hold)
    another.start()
    assert taken.wait(10)
    attachments.extract_attachment(ctx, [entry_id])
    over.set()
    another.join(10)

    assert len(server.requests()) == 0
    assert due_stages(conn) == [ATTACHMENTS_STAGE]
    assert conn.execute("SELECT attempts FROM work").fetchone() == (0,)

    attachments.extract_attachment(ctx, [entry_id])
    assert states(conn, entry_id) == {"a.txt": "stored"}
    assert due_stages(conn) == []


def test_one_broken_file_does_not_hold_up_the_next(conn, ctx, server):
    entry_id = save(conn, ref(server, "a.txt", b"a"), ref(server, "b.txt", b"b"))
    server.fault("500")

    attachments.extract_attachment(ctx, [entry_id])

    assert states(conn, entry_id) == {"a.txt": "due", "b.txt": "stored"}
    assert due_stages(conn) == [ATTACHMENTS_STAGE]


def test_what_is_asked_for_often_enough_is_given_up(conn, ctx, server):
    entry_id = save(conn, ref(server, "a.txt", b"a"))
    conn.execute("UPDATE work SET attempts = 99")
    conn.commit()
    server.fault("500")

    attachments.extract_attachment(ctx, [entry_id])

    assert due_stages(conn) == []
    one = found(conn, entry_id)["a.txt"]
    assert one.state == "failed"
    assert one.error is not None
    assert one.error["code"] == "attachment_fetch_failed"


def test_no_file_is_given_up_while_its_source_gives_none(conn, ctx, server):
    entry_id = save(conn, ref(server, "a.txt", b"a"))
    conn.execute("UPDATE work SET attempts = 99")
    conn.commit()
    server.fault("429")
    for _ in range(3):
        # The second and third time it is left alone.
        make_due_now(conn)
        attachments.extract_attachment(ctx, [entry_id])
    assert states(conn, entry_id) == {"a.txt": "due"}
    assert conn.execute("SELECT attempts, strikes FROM work").fetchone() == (99, 0)


def test_a_login_page_is_not_taken_for_the_file(conn, ctx, server):
    entry_id = save_and_fetch(ctx, conn, ref(server, "a.png", LOGIN_PAGE))

    one = found(conn, entry_id)["a.png"]
    assert one.state == "due"
    assert one.error is not None
    assert one.error["details"] == {"reason": "login_required"}
    assert files_of(ctx.settings.home) == []


def test_nothing_is_fetched_where_links_are_enough_or_the_entry_is_gone(
    conn, make_context, server
):
    ctx = make_context(attachments="link")
    entry_id = save_and_fetch(ctx, conn, ref(server, "a.txt", b"a"))
    assert states(conn, entry_id) == {"a.txt": "linked"}

    entry_id = save(conn, ref(server, "b.txt", b"b"), text="edited")
    tombstone(conn, TENANT, entry_id, reason=None, stages=[])
    conn.commit()
    attachments.extract_attachment(make_context(), [entry_id])

    assert due_stages(conn) == []
    assert server.requests() == ()


def test_a_file_elsewhere_is_fetched_once_its_origin_is_allowed(
    conn, ctx, make_context, elsewhere
):
    entry_id = save_and_fetch(ctx, conn, ref(elsewhere, "far.txt", b"far"))
    assert states(conn, entry_id) == {"far.txt": "linked"}
    # Another start with the same settings asks for nothing.
    make_context()
    assert ATTACHMENTS_STAGE not in due_stages(conn)

    allowed = make_context(allowed_origins=[elsewhere.base_url])
    assert ATTACHMENTS_STAGE in due_stages(conn)
    attachments.extract_attachment(allowed, [entry_id])
    assert states(conn, entry_id) == {"far.txt": "stored"}


def test_a_file_elsewhere_is_fetched_whose_origin_is_allowed_while_its_entry_is_read(
    conn, ctx, make_context, server, elsewhere
):
    entry_id = save(
        conn, ref(server, "near.txt", b"near"), ref(elsewhere, "far.txt", b"far")
    )
    # It commits before the worker, which reads by the settings of before, is done.
    server.while_asked = lambda: make_context(allowed_origins=[elsewhere.base_url])

    attachments.extract_attachment(ctx, [entry_id])

    assert {one.state for one in found(conn, entry_id).values()} == {"stored"}
    assert due_stages(conn) == []


def test_a_store_that_is_full_pauses_the_stage_and_loses_nothing(
    conn, make_context, server, tmp_path
):
    (tmp_path / "attachments").write_text("a file where the folder should be")
    ctx = make_context()
    entry_id = save_and_fetch(ctx, conn, ref(server, "a.txt", b"a"))

    assert due_stages(conn) == [ATTACHMENTS_STAGE]
    paused = conn.execute("SELECT stage FROM stage_pause").fetchone()
    assert paused == (ATTACHMENTS_STAGE,)
    assert states(conn, entry_id) == {"a.txt": "due"}


@pytest.mark.parametrize("lacks", ["a folder", "room"])
def test_a_machine_without_room_for_temporary_files_quarantines_nothing(
    conn, ctx, server, monkeypatch, small_disk, lacks
):
    folder = small_disk if lacks == "room" else small_disk / "gone"
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    if lacks == "room":
        (folder / "other").write_bytes(bytes(60_000))
    entry_id = save_and_fetch(ctx, conn, ref(server, "a.txt", b"a" * 9000))

    assert due_stages(conn) == [ATTACHMENTS_STAGE]
    paused = conn.execute("SELECT stage FROM stage_pause").fetchone()
    assert paused == (ATTACHMENTS_STAGE,)
    assert states(conn, entry_id) == {"a.txt": "due"}


def test_what_was_killed_in_between_is_done_again_and_leaves_no_half(
    conn, ctx, server, monkeypatch, tmp_path
):
    entry_id = save(conn, ref(server, "a.txt", b"whole"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    class Killed(BaseException):
        pass

    def die(name: str, *_ids) -> None:
        if name == "after_fetch":
            raise Killed

    monkeypatch.setattr(ctx, "checkpoint", die, raising=False)
    with pytest.raises(Killed):
        attachments.extract_attachment(ctx, [entry_id])
    assert states(conn, entry_id) == {"a.txt": "stored"}
    assert due_stages(conn) == [ATTACHMENTS_STAGE]

    monkeypatch.undo()
    make_due_now(conn)
    attachments.extract_attachment(ctx, [entry_id])

    assert due_stages(conn) == []
    assert len(server.requests()) == 1
    (path,) = files_of(tmp_path)
    assert path.read_bytes() == b"whole"


def test_an_edit_while_the_file_is_fetched_makes_it_due_anew(conn, ctx, server):
    before = ref(server, "a.txt", b"before")
    entry_id = save(conn, before)
    with psycopg.connect(conn.info.dsn, password=conn.info.password) as other:
        (claim,) = work.claim(other, ATTACHMENTS_STAGE, limit=1)
    (due,) = attachment_states.list_due_files(conn, TENANT, entry_id)
    after = AttachmentRef("a.txt", "a.txt", before.url, bytes=3)
    save(conn, after, text="edited")

    stored = attachment_states.FileContents("text/plain", b"\0" * 32, "before", 6)
    assert not attachment_states.end(conn, due, "stored", stored=stored)
    work.finish(conn, claim)
    conn.commit()

    assert due_stages(conn) == [ATTACHMENTS_STAGE]
    assert states(conn, entry_id) == {"a.txt": "due"}


def test_a_newer_reader_reads_what_is_stored_and_asks_nobody(
    conn, ctx, server, monkeypatch
):
    def renew() -> list[str]:
        chore_records.open_chore(conn, chore_records.RENEW_TEXTS)
        conn.commit()
        for _ in range(10):
            chores.renew_texts(ctx)
            conn.rollback()
            if not chore_records.list_unfinished(conn):
                break
        return [one for one in due_stages(conn) if one == ATTACHMENTS_STAGE]

    def fetch_and_read() -> None:
        # On a busy machine one turn ends between two files, or two pages.
        for _ in range(10):
            attachments.extract_attachment(ctx)
            if ATTACHMENTS_STAGE not in due_stages(conn):
                break
            make_due_now(conn)

    entry_id = save(
        conn,
        ref(server, "a.docx", attached.docx()),
        ref(server, "b", PNG),
        ref(server, "c.png", SCREEN),
    )
    fetch_and_read()
    assert found(conn, entry_id)["c.png"].has_thumbnail
    gone = found(conn, entry_id)["b"].sha256
    assert gone is not None
    open_store(ctx.settings).delete(gone)
    extract_metadata(ctx, [entry_id])
    conn.execute(
        "UPDATE attachment SET text = 'as an older one read it', thumbnail = NULL"
    )
    conn.execute("DELETE FROM work")
    assert renew() == []

    known = dict(installed_stages.load_descriptors())
    old = known[ATTACHMENTS_STAGE]
    assert isinstance(old, StageDescriptor)
    known[ATTACHMENTS_STAGE] = replace(old, version=old.version + 1)
    monkeypatch.setattr(installed_stages, "load_descriptors", lambda: known)
    assert renew() == [ATTACHMENTS_STAGE]
    fetch_and_read()

    assert ATTACHMENTS_STAGE not in due_stages(conn)
    texts = conn.execute("SELECT filename, text FROM attachment ORDER BY filename")
    (_, read), (_, kept), _ = texts.fetchall()
    assert "IPM4A07" in read
    assert kept == "as an older one read it"
    assert found(conn, entry_id)["c.png"].has_thumbnail
    assert len(server.requests()) == 3
    stages = conn.execute("SELECT stage FROM work").fetchall()
    assert (METADATA_STAGE,) in stages
    assert renew() == []


def test_a_content_is_removed_once_nobody_names_it(conn, ctx, server):
    save_and_fetch(ctx, conn, ref(server, "a", PNG), ref(server, "b", PNG))
    store = open_store(ctx.settings)
    sha256 = hashlib.sha256(PNG).digest()

    conn.execute("DELETE FROM attachment WHERE filename = 'a'")
    conn.commit()
    assert not keep_files.delete_file_if_unused(ctx.pool, store, sha256)
    assert len(files_of(ctx.settings.home)) == 1

    conn.execute("DELETE FROM attachment WHERE filename = 'b'")
    conn.commit()
    assert keep_files.delete_file_if_unused(ctx.pool, store, sha256)
    assert files_of(ctx.settings.home) == []
    assert keep_files.delete_file_if_unused(ctx.pool, store, sha256)


def test_the_chore_removes_what_nobody_names_and_nothing_else(conn, ctx, server):
    save_and_fetch(ctx, conn, ref(server, "a", PNG), ref(server, "b", b"b"))
    assert len(files_of(ctx.settings.home)) == 2
    conn.execute("DELETE FROM attachment WHERE filename = 'a'")
    chore_records.open_chore(conn, chore_records.REMOVE_FILES)
    conn.commit()
    incoming = ctx.settings.home / "attachments" / "incoming"
    (incoming / "0190f0c2-0000-7000-8000-000000000000").write_bytes(b"half")
    (incoming / str(uuid7())).write_bytes(b"young")

    chores.remove_files(ctx)

    left = files_of(ctx.settings.home)
    assert {one.read_bytes() for one in left} == {b"b", b"young"}
    conn.rollback()
    ended = conn.execute("SELECT state, done FROM maintenance").fetchone()
    assert ended == ("done", 1)


def test_a_store_elsewhere_keeps_reads_and_removes(tmp_path):
    store = FileStore(f"memory://{tmp_path.name}")
    sha256 = hashlib.sha256(b"content").digest()
    with tempfile.TemporaryFile() as file:
        file.write(b"content")
        for _ in range(2):
            store.put(file, sha256, 7)

    assert store.contents(sha256.hex()[:2]) == [sha256]
    with store.open(sha256) as opened:
        assert opened.read() == b"content"
    assert store.sweep() == 0
    store.delete(sha256)
    assert not store.has(sha256, 7)
    with pytest.raises(SourceUnreachableError):
        store.open(sha256).__enter__()

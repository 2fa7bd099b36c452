"""Files beside entries over REST: sent, listed and given back as mere bytes."""

import hashlib
import io
import json
from pathlib import Path

import httpx2
import psycopg
import pytest

from shared.adapter_contract.entry import AttachmentRef
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from tests.support import attached

LAB = {"adapter": "olog", "base_url": "http://logbook.invalid"}
BOUNDARY = "multipart/form-data; boundary=x"


@pytest.fixture
def entry(caller) -> str:
    answer = caller.post("/v1/entries", json={"text": "see file", "logbook": "A"})
    return answer.json()["entry_id"]


def send(client: httpx2.Client, entry: str, data: bytes, name="trip.txt", **options):
    kind = options.pop("kind", "text/plain")
    return client.post(
        f"/v1/entries/{entry}/attachments",
        files={"file": (name, io.BytesIO(data), kind)},
        **options,
    )


def code_of(answer: httpx2.Response) -> str:
    return answer.json()["error"]["code"]


def test_a_file_is_stored_listed_and_given_back(caller, entry):
    sent = send(caller, entry, attached.docx(), "report.txt")

    assert sent.status_code == 201, sent.text
    body = sent.json()
    assert body["filename"] == "report.txt"
    assert body["declared_type"] == "text/plain"
    assert body["media_type"].endswith("wordprocessingml.document")
    assert body["bytes"] == len(attached.docx())
    assert body["sha256"] == hashlib.sha256(attached.docx()).hexdigest()
    assert (body["text_extracted"], body["caption"], body["state"]) == (
        True,
        None,
        "stored",
    )
    listed = caller.get(f"/v1/entries/{entry}/attachments").json()
    assert listed == {"items": [body], "inline": [], "next_cursor": None}
    given = caller.get(f"/v1/attachments/{body['attachment_id']}")
    assert given.content == attached.docx()
    assert given.headers["content-length"] == str(len(given.content))


def test_a_part_of_a_file_is_given_to_whoever_plays_it_or_goes_on(caller, entry):
    data = bytes(range(256)) * 2_000
    sent = send(caller, entry, data, "trip.bin").json()
    size, etag = len(data), f'"{sent["sha256"]}"'

    def read(asked: str, **headers: str) -> httpx2.Response:
        path = f"/v1/attachments/{sent['attachment_id']}"
        return caller.get(path, headers={"Range": asked, **headers})

    whole = read("")
    assert (whole.status_code, whole.headers["etag"]) == (200, etag)
    assert whole.headers["accept-ranges"] == "bytes"
    for asked, part in (
        ("bytes=0-0", range(1)),
        ("bytes=255-300000", range(255, 300_001)),
        ("bytes=511990-", range(511_990, size)),
        ("bytes=511990-9999999", range(511_990, size)),
        ("bytes=-10", range(size - 10, size)),
        ("bytes=-9999999", range(size)),
    ):
        for condition in ({}, {"If-Range": etag}):
            given = read(asked, **condition)
            assert given.status_code == 206
            told = f"bytes {part.start}-{part.stop - 1}/{size}"
            assert given.headers["content-range"] == told
            assert given.content == data[part.start : part.stop]
    # Another file's, several parts, or none that can be read: all of it.
    for asked, condition in (
        ("bytes=5-9", {"If-Range": '"other"'}),
        ("bytes=5-9", {"If-Range": "Sat, 29 Oct 1994 19:43:31 GMT"}),
        *((asked, {}) for asked in ("bytes=1-2,5-6", "bytes=9-5", "lines=1-2", "x")),
    ):
        given = read(asked, **condition)
        assert (given.status_code, given.content) == (200, data)
    for asked in (f"bytes={size}-", "bytes=-0"):
        given = read(asked)
        assert (given.status_code, code_of(given)) == (416, "range_not_satisfiable")
        assert given.headers["content-range"] == f"bytes */{size}"


def test_the_same_file_again_is_the_same_one(caller, entry):
    first, again = (send(caller, entry, b"log") for _ in range(2))
    other = send(caller, entry, b"log", "other.txt")

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert other.json()["attachment_id"] != first.json()["attachment_id"]
    assert len(caller.get(f"/v1/entries/{entry}/attachments").json()["items"]) == 2


def test_a_key_of_the_request_answers_as_before_and_refuses_another_file(caller, entry):
    key = {"Idempotency-Key": f"k-{entry}"}
    first, again = (send(caller, entry, b"log", headers=key) for _ in range(2))
    other = send(caller, entry, b"other", headers=key)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.json() == again.json()
    assert (other.status_code, code_of(other)) == (409, "idempotency_conflict")


@pytest.mark.requirement("B14")
@pytest.mark.parametrize(
    ("data", "name", "shown"),
    [
        (attached.png(), "a.html", "image/png"),
        (b"<html><script>alert(1)</script>", "a.png", None),
        (b"<svg xmlns='x' onload='alert(1)'/>", "a.svg", None),
        (b"GIF89a/*<script>alert(1)</script>*/", "a.html", "image/gif"),
        (attached.pdf(), "a.pdf", None),
        (attached.EICAR, "a.png", None),
        (attached.png(60_000, 60_000), "big.png", "image/png"),
    ],
    ids=["png", "html", "svg", "polyglot", "pdf", "eicar", "bomb"],
)
def test_whatever_a_file_is_it_is_served_as_one_to_be_saved(
    caller, entry, data, name, shown
):
    sent = send(caller, entry, data, name, kind="text/html")
    assert sent.status_code == 201, sent.text

    given = caller.get(f"/v1/attachments/{sent.json()['attachment_id']}")

    assert given.content == data
    assert given.headers["content-type"] == (shown or "application/octet-stream")
    assert given.headers["content-disposition"].startswith("attachment; filename=")
    assert given.headers["x-content-type-options"] == "nosniff"
    assert given.headers["content-security-policy"] == "sandbox"
    assert given.headers["cache-control"] == "no-store"


@pytest.mark.requirement("B14")
def test_nothing_that_reads_pictures_is_ever_loaded_into_the_api(api, caller, entry):
    assert send(caller, entry, attached.png(60_000, 60_000)).status_code == 201
    assert send(caller, entry, attached.png(), "small.png").json()["text_extracted"]

    pid = api.processes["api"].pid
    group = [
        Path(f"/proc/{one.name}")
        for one in Path("/proc").iterdir()
        if one.name.isdigit() and _leader_of(one) == pid
    ]
    assert group
    for process in group:
        maps = (process / "maps").read_text(encoding="utf-8")
        assert "_imaging" not in maps


def _leader_of(process: Path) -> int | None:
    try:
        stat = (process / "stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[3])


@pytest.mark.requirement("B12", "B13")
@pytest.mark.parametrize(
    "data",
    [
        attached.bomb(50),
        attached.overlapping(),
        attached.zipped({"inner.zip": attached.zipped({"a": "b"})}),
        attached.one_member(b"a", b"x" * 1000, 10),
        attached.one_member(b"../../etc/x", b"x", 1),
        attached.one_member(b"/etc/x", b"x", 1),
        attached.one_member(b"C:\\x", b"x", 1),
        attached.one_member(b"a\0b", b"x", 1),
        attached.one_member(b"n" * 5000, b"x", 1),
        attached.one_member(b"link", b"/etc/passwd", 11, mode=0o120777),
    ],
    ids=[
        *("bomb", "overlap", "nested", "lie", "parent", "root", "drive", "nul"),
        *("long", "link"),
    ],
)
def test_an_unsafe_archive_is_refused_and_leaves_nothing(api, caller, entry, data):
    before = _files(api.logs)

    answer = send(caller, entry, data, "a.zip")

    assert (answer.status_code, code_of(answer)) == (422, "unsafe_archive")
    assert answer.json()["error"]["details"]["reason"]
    assert caller.get(f"/v1/entries/{entry}/attachments").json()["items"] == []
    assert _files(api.logs) == before


def _files(home: Path) -> set[Path]:
    return {one for one in (home / "attachments").rglob("*") if one.is_file()}


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{}", "application/json", 415, "unsupported_media_type"),
        (b"", "", 415, "unsupported_media_type"),
        (b"", f"{BOUNDARY}; charset=undefined", 415, "unsupported_media_type"),
        (b"", "multipart/form-data", 422, "validation_failed"),
        (b"", BOUNDARY, 422, "validation_failed"),
        (b"nonsense", BOUNDARY, 422, "validation_failed"),
        (b"--x\r\n\r\n\r\n--x--\r\n", BOUNDARY, 422, "validation_failed"),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na\r\n--x--\r\n',
            BOUNDARY,
            422,
            "validation_failed",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n',
            BOUNDARY,
            422,
            "validation_failed",
        ),
    ],
)
def test_a_body_that_is_no_form_with_a_file_is_refused(
    caller, entry, body, kind, status, code
):
    answer = caller.post(
        f"/v1/entries/{entry}/attachments", content=body, headers={"Content-Type": kind}
    )

    assert (answer.status_code, code_of(answer)) == (status, code)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\logs\\a b.txt", "a b.txt"),
        ('q"uo\rte%.txt', None),
        ("Öl\u202e.txt", "Öl\u202e.txt"),
    ],
)
def test_a_name_is_only_ever_a_name(caller, entry, name, kept):
    sent = send(caller, entry, b"x", name)

    assert sent.status_code == 201
    if kept is not None:
        assert sent.json()["filename"] == kept
    given = caller.get(f"/v1/attachments/{sent.json()['attachment_id']}")
    shown = given.headers["content-disposition"]
    assert shown.isascii()
    assert shown.count('"') == 2
    assert "/" not in shown


def test_limits_hold_at_the_limit_and_one_beyond(make_system, tenant):
    system = make_system(
        LOGCHORD_MAX_ATTACHMENT_BYTES="1000",
        LOGCHORD_MAX_ATTACHMENTS_PER_ENTRY="2",
        LOGCHORD_MAX_ARCHIVE_MEMBERS="2",
        LOGCHORD_SOURCES=json.dumps({"api": {}, "lab": LAB}),
    )
    system.bring_up("api")
    with psycopg.connect(system.database) as conn:
        draft = EntryDraft("lab", "1", "x")
        (pulled,) = save_page(conn, tenant, [draft], stages=[], editor="test")
    with system.client(system.key(tenant=tenant)) as caller:
        pushed = caller.post("/v1/entries", json={"text": "x"}).json()
        entry = pushed["entry_id"]

        assert send(caller, entry, b"x" * 1000).status_code == 201
        large = send(caller, entry, b"x" * 1001)
        huge = send(caller, entry, b"x" * 100_000)
        for answer in (large, huge):
            assert (answer.status_code, code_of(answer)) == (413, "body_too_large")
        many = attached.zipped({"1": "", "2": "", "3": ""})
        assert code_of(send(caller, entry, many)) == "unsafe_archive"
        assert send(caller, entry, attached.zipped({"1": "", "2": ""})).is_success
        elsewhere = send(caller, str(pulled.entry_id), b"x")
        assert (elsewhere.status_code, code_of(elsewhere)) == (409, "source_is_pull")
        third = send(caller, entry, b"3")
        assert (third.status_code, code_of(third)) == (422, "validation_failed")


@pytest.mark.requirement("SEC2")
def test_a_file_is_as_closed_as_its_entry(api, caller, entry, tenant):
    sent = send(caller, entry, b"x").json()
    address = f"/v1/attachments/{sent['attachment_id']}"
    absent = caller.get("/v1/attachments/0199f0c2-0000-7000-8000-000000000000")
    assert (absent.status_code, code_of(absent)) == (404, "not_found")

    with api.client(api.key(tenant=f"{tenant}-other")) as stranger:
        for answer in (
            stranger.get(address),
            stranger.get(f"/v1/entries/{entry}/attachments"),
            send(stranger, entry, b"y"),
        ):
            assert (answer.status_code, code_of(answer)) == (404, "not_found")
            assert (
                answer.json()["error"]["message"] == (absent.json()["error"]["message"])
            )

    closed = {"external_id": "closed", "text": "x", "readers": ["somebody"]}
    hidden = caller.post("/v1/entries", json=closed).json()["entry_id"]
    assert send(caller, hidden, b"y").status_code == 404
    with api.client(api.key(tenant=tenant, scopes=("read",))) as reader:
        assert reader.get(address).content == b"x"
        assert send(reader, entry, b"y").status_code == 403


def test_a_deleted_entry_takes_its_files_along(caller, entry):
    sent = send(caller, entry, b"x").json()
    caller.delete(f"/v1/entries/{entry}")

    for answer in (
        caller.get(f"/v1/attachments/{sent['attachment_id']}"),
        caller.get(f"/v1/entries/{entry}/attachments"),
        send(caller, entry, b"y"),
    ):
        assert (answer.status_code, code_of(answer)) == (410, "entry_deleted")


def test_what_was_sent_survives_an_edit_of_its_entry(caller, entry):
    sent = send(caller, entry, b"x").json()
    pushed = {"external_id": f"e-{entry}", "text": "one"}
    second = caller.post("/v1/entries", json=pushed).json()["entry_id"]
    kept = send(caller, second, b"x").json()

    caller.post("/v1/entries", json={**pushed, "text": "two"})

    listed = caller.get(f"/v1/entries/{second}/attachments").json()["items"]
    assert listed == [kept]
    assert kept["sha256"] == sent["sha256"]


def test_a_file_that_is_not_here_says_where_it_is(api, caller, entry, tenant):
    where = "http://logbook.invalid/a.png"
    draft = EntryDraft(
        "api", "with-file", "x", attachments=(AttachmentRef("a", "a.png", where),)
    )
    with psycopg.connect(api.database) as conn:
        (saved,) = save_page(conn, tenant, [draft], stages=[], editor="test")
    listed = caller.get(f"/v1/entries/{saved.entry_id}/attachments").json()["items"]
    assert [(one["state"], one["url"]) for one in listed] == [("due", where)]
    address = f"/v1/attachments/{listed[0]['attachment_id']}"
    stage = f"attachment:{listed[0]['attachment_id']}"
    whole = caller.get(f"/v1/entries/{saved.entry_id}").json()
    assert whole["attachments"] == listed
    assert whole["stages"][stage] == "due"
    assert "attachments" not in whole["stages"]

    due = caller.get(address)
    with psycopg.connect(api.database) as conn:
        conn.execute(
            "UPDATE attachment SET state = 'linked' WHERE entry_id = %s",
            (saved.entry_id,),
        )
    linked = caller.get(address)
    whole = caller.get(f"/v1/entries/{saved.entry_id}").json()
    assert whole["stages"][stage] == "done"

    assert (due.status_code, code_of(due)) == (502, "source_unreachable")
    assert due.json()["error"]["severity"] == "RETRIABLE"
    assert linked.status_code == 502
    assert linked.json()["error"]["severity"] == "CRITICAL"
    assert where in linked.json()["error"]["message"]

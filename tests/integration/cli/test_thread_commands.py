"""`logchord show`, `thread` and `jobs`, and the routes behind them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest

from shared.access.scope import Scope
from shared.cards import incident
from tests.support.fixtures.system import System
from tests.support.typed import Run


def push(caller: httpx2.Client, *entries: dict[str, Any]) -> None:
    for minute, entry in enumerate(entries):
        time = f"2026-03-02T05:{minute:02}:00Z"
        body = {"source": "api", "entry_time": time, **entry}
        answer = caller.post("/v1/entries", json=body)
        assert answer.status_code in {200, 201}, answer.text


def at(clock: str) -> str:
    return f"2026-03-02T{clock}:00Z"


def entry_id(caller: httpx2.Client, external_id: str) -> str:
    return str(caller.get(f"/e/api/{external_id}").json()["entry_id"])


TRIP = {"external_id": "OPS-77", "title": "RF trip", "text": "Cavity 2 tripped."}
REPLY = {"external_id": "OPS/78", "text": "Arc detector, reset.", "reply_to": "OPS-77"}
LAST = {"external_id": "OPS-79", "text": "Beam back.", "reply_to": "OPS/78"}


def test_an_entry_is_shown_by_whatever_it_is_called(logchord, caller, tenant) -> None:
    push(caller, TRIP, REPLY)
    entry = caller.get("/e/api/OPS%2F78").json()
    names = (
        entry["entry_id"],
        f"logchord:{tenant}/api/OPS%2F78",
        "http://there/e/api/OPS%2F78",
        "api/OPS/78",
        "OPS/78",
    )
    for name in names:
        ended = logchord("show", name, "--json")
        assert ended.returncode == 0, (name, ended.stderr)
        assert json.loads(ended.stdout)["entry_id"] == entry["entry_id"], name


def test_what_is_not_there_or_not_one_alone_is_told_apart(logchord, caller) -> None:
    push(caller, TRIP)
    for absent in ("OPS-1", str(uuid4()), "logchord:elsewhere/api/OPS-77"):
        ended = logchord("show", absent)
        assert (ended.returncode, ended.stdout) == (3, "")
        assert f"No entry is called {absent!r}." in ended.stderr


def test_an_entry_is_read_as_it_is_and_as_it_was(logchord, caller) -> None:
    push(caller, TRIP)
    push(caller, {**TRIP, "text": "Cavity 3 tripped.\x1b[2J\nReset.", "tags": ["rf"]})
    now = logchord("show", "OPS-77").stdout
    assert now.splitlines()[0] == "RF trip"
    assert "api/OPS-77" in now
    assert "revision 2" in now
    assert "Cavity 3 tripped. [2J\nReset." in now
    assert "tags        rf" in now
    then = logchord("show", "OPS-77", "--revision", "1").stdout
    assert "Cavity 2 tripped." in then
    for pinned in ("/e/api/OPS-77@1", "https://log.example.org/e/api/OPS-77@1?pane=1"):
        assert logchord("show", pinned).stdout == then
    # As an answer cites it.
    for pinned in ("OPS-77@1", "api/OPS-77@1"):
        assert logchord("show", pinned).stdout == then
    for absent in ("/e/api/OPS-77@3", "OPS-77@3"):
        gone = logchord("show", absent)
        assert gone.returncode == 3
        assert "it has no revision 3" in gone.stderr
    changes = logchord("show", "OPS-77", "--diff").stdout
    assert "-Cavity 2 tripped." in changes
    assert "+Reset." in changes


def test_the_files_of_an_entry_are_saved_and_none_is_replaced(
    logchord: Run, caller: httpx2.Client, tmp_path: Path
) -> None:
    push(caller, TRIP)
    where = f"/v1/entries/{caller.get('/e/api/OPS-77').json()['entry_id']}/attachments"
    assert logchord("show", "OPS-77", "--attachments", "none").returncode == 0
    assert not (tmp_path / "none").exists()
    for name, data in (("../trip.txt", b"one"), ("trip.txt", b"two")):
        sent = caller.post(where, files={"file": (name, data, "text/plain")})
        assert sent.status_code == 201, sent.text
    (tmp_path / "files").mkdir()
    mine = tmp_path / "files" / "trip.txt"
    mine.write_bytes(b"mine")

    ended = logchord("show", "OPS-77", "--attachments", "files", "--json")

    assert ended.returncode == 0, ended.stderr
    saved = [Path(one["path"]) for one in json.loads(ended.stdout)["saved"]]
    assert [(tmp_path / path).read_bytes() for path in saved] == [b"one", b"two"]
    assert all(path.parent == Path("files") for path in saved)
    assert mine.read_bytes() == b"mine"
    refused = logchord("show", "OPS-77", "--attachments", "files/trip.txt")
    assert refused.returncode == 2


def test_a_thread_is_shown_from_any_of_its_entries(logchord, caller) -> None:
    push(caller, TRIP, REPLY, LAST, {"external_id": "X", "text": "elsewhere"})
    shown = [logchord("thread", name).stdout for name in ("OPS-77", "OPS/78", "OPS-79")]
    assert shown[0] == shown[1] == shown[2]
    lines = shown[0].splitlines()
    # Above them its steps are told, each with its words.
    lines = lines[lines.index("Cavity 2 tripped.") :]
    assert "    Arc detector, reset." in lines
    assert "        Beam back." in lines
    assert "elsewhere" not in shown[0]
    alone = json.loads(logchord("thread", "X", "--json").stdout)
    assert [one["external_id"] for one in alone["entries"]] == ["X"]


@pytest.mark.requirement("P10")
def test_a_thread_holds_what_the_caller_may_see_and_no_trace_of_the_rest(
    api: System, caller: httpx2.Client, tenant: str
) -> None:
    push(caller, TRIP, {**REPLY, "readers": ["group:safety"]}, LAST)
    entry = caller.get("/e/api/OPS-77").json()
    where = f"/v1/entries/{entry['entry_id']}/thread"
    thread = caller.get(where).json()
    assert [one["external_id"] for one in thread["entries"]] == ["OPS-77", "OPS-79"]
    assert [node["depth"] for node in thread["tree"]] == [0, 0]
    assert (thread["title"], thread["complete"]) == ("RF trip", True)
    by_id = caller.get(f"/v1/threads/{thread['thread_id']}").json()
    assert by_id["tree"] == thread["tree"]
    with api.client(api.key(tenant="stranger")) as stranger:
        for path in (where, f"/v1/threads/{thread['thread_id']}"):
            assert stranger.get(path).status_code == 404


@pytest.mark.requirement("I12")
def test_a_thread_is_told_as_a_state_a_timeline_and_a_tree(logchord, caller) -> None:
    # The reply first, and both before what they answer.
    push(caller, {**LAST, "text": "Beam back at 04:57.", "entry_time": at("06:05")})
    push(caller, {**REPLY, "text": "Cause: arc.", "entry_time": at("05:20")})
    push(caller, {**TRIP, "text": "Cavity 2 tripped at 04:10, beam lost."})
    found = caller.get(f"/v1/entries/{entry_id(caller, 'OPS-79')}/thread").json()
    assert [(node["depth"], node["links"]) for node in found["tree"]] == [
        (0, []),
        (1, []),
        (2, []),
    ]
    assert found["state"] == "resolved"
    assert [
        (step["time"], step["step"], step["quote"]) for step in found["timeline"]
    ] == [
        ("2026-03-02T04:10:00Z", "trip", "Cavity 2 tripped at 04:10, beam lost."),
        ("2026-03-02T04:57:00Z", "restored", "Beam back at 04:57."),
        ("2026-03-02T05:20:00Z", "cause", "Cause: arc."),
    ]
    assert found["timeline_complete"]
    texts = {one["entry_id"]: one["text"] for one in found["entries"]}
    assert all(one["quote"] in texts[one["entry_id"]] for one in found["timeline"])
    shown = logchord("thread", "OPS-77").stdout
    assert shown.startswith("state     resolved\n")
    assert "47 min later" in shown


@pytest.mark.requirement("I12")
def test_what_is_hidden_or_deleted_tells_nothing_of_an_incident(caller) -> None:
    push(caller, TRIP, {**REPLY, "text": "Cause found.", "readers": ["group:safety"]})
    push(caller, {**LAST, "readers": ["group:safety"]})
    answer = {"external_id": "OPS-80", "text": "Reset.", "reply_to": "OPS-77"}
    push(caller, {**answer, "entry_time": at("06:00")})
    trip = entry_id(caller, "OPS-77")
    found = caller.get(f"/v1/entries/{trip}/thread").json()
    assert (found["state"], [one["step"] for one in found["timeline"]]) == (
        "open",
        ["trip", "action"],
    )
    assert caller.delete(f"/v1/entries/{trip}").status_code == 204
    found = caller.get(f"/v1/threads/{found['thread_id']}").json()
    assert (found["state"], [one["quote"] for one in found["timeline"]]) == (
        "unknown",
        ["Reset."],
    )
    assert [node["parent_id"] for node in found["tree"]] == [None]


@pytest.mark.requirement("I12")
def test_replies_stand_under_what_took_their_parents_place(caller) -> None:
    push(caller, {"external_id": "note", "text": "Plot."}, TRIP, REPLY)
    link = {"kind": "supersedes", "external_id": "OPS-77"}
    other = {"kind": "related", "external_id": "note"}
    push(caller, {"external_id": "OPS-77b", "text": "Trip.", "links": [link, other]})
    parent, reply = entry_id(caller, "OPS-77b"), entry_id(caller, "OPS%2F78")
    found = caller.get(f"/v1/entries/{reply}/thread").json()
    assert [(one["entry_id"], one["parent_id"]) for one in found["tree"]] == [
        (parent, None),
        (reply, parent),
    ]
    kinds = {one["kind"] for one in found["tree"][0]["links"]}
    assert kinds == {"supersedes", "related"}


def test_of_a_text_with_marks_the_words_are_quoted(caller: httpx2.Client) -> None:
    text = "<p>RF <b>tripped</b> at 04:10.</p><p>Beam back at 04:30.</p>"
    push(caller, {"external_id": "H", "text": text, "text_format": "html"})
    found = caller.get(f"/v1/entries/{entry_id(caller, 'H')}/thread").json()
    quotes = [one["quote"] for one in found["timeline"]]
    assert quotes == ["RF tripped at 04:10.", "Beam back at 04:30."]
    assert (found["thread_id"], found["state"]) == (None, "resolved")


def test_of_a_thread_too_long_the_newest_entries_are_read(
    caller: httpx2.Client, monkeypatch: pytest.MonkeyPatch, api: System, tenant: str
) -> None:
    push(caller, TRIP, REPLY, LAST)
    first = UUID(entry_id(caller, "OPS-77"))
    scope = Scope(tenant=tenant, subject="operator", allowed=frozenset({"read"}))
    monkeypatch.setattr(incident, "MAX_ENTRIES", 2)
    monkeypatch.setattr(incident, "MAX_CHARS", 4)
    with psycopg.connect(api.database) as conn:
        found = incident.of_thread(conn, scope, first, lambda _: "UTC")
    assert not found.is_complete
    assert [one.quote for one in found.timeline] == ["Arc", "Beam"]


def test_a_deleted_member_leaves_its_thread(caller: httpx2.Client) -> None:
    push(caller, TRIP, REPLY)
    first, second = (caller.get(f"/e/api/{n}").json() for n in ("OPS-77", "OPS%2F78"))
    assert caller.delete(f"/v1/entries/{second['entry_id']}").status_code == 204
    thread = caller.get(f"/v1/entries/{first['entry_id']}/thread").json()
    assert [one["external_id"] for one in thread["entries"]] == ["OPS-77"]
    gone = caller.get(f"/v1/entries/{second['entry_id']}/thread")
    assert gone.status_code == 410


def test_searches_are_listed_shown_and_cancelled(logchord, caller, api) -> None:
    # Without a worker a job stays as it is.
    accepted = caller.post("/v1/search/jobs", json={"query": "beam", "mode": "keyword"})
    job_id = accepted.json()["job_id"]
    listed = logchord("jobs", "list").stdout
    assert listed.startswith(job_id)
    assert "queued    beam" in listed
    shown = logchord("jobs", "cancel", job_id).stdout.splitlines()
    assert shown[0] == "state     failed (cancelled)"
    assert "error     The job was cancelled." in shown
    watched = logchord("jobs", "watch", job_id)
    assert watched.stdout.split()[-2:] == ["done", "failed"]
    assert (watched.returncode, "code: job_cancelled" in watched.stderr) == (1, True)
    assert json.loads(logchord("jobs", "show", job_id, "--json").stdout)["cancelled"]
    assert logchord("jobs", "show", str(uuid4())).returncode == 3
    with psycopg.connect(api.database) as conn:
        row = conn.execute("SELECT state FROM job WHERE id = %s", (job_id,)).fetchone()
    assert row == ("failed",)


def test_a_digest_is_one_line_an_item_with_its_state_its_age_and_its_revision(
    logchord: Run, caller: httpx2.Client
) -> None:
    before = datetime.now(UTC) - timedelta(days=3, minutes=1)
    broken = {**TRIP, "kind": "incident", "entry_time": before.isoformat()}
    assert caller.post("/v1/entries", json=broken).is_success
    empty = logchord("digest")
    assert caller.post("/v1/entries", json={"text": "Tour.\nOf ten."}).is_success

    shown, document = logchord("digest"), logchord("digest", "--json")

    assert empty.returncode == shown.returncode == 0, (empty.stderr, shown.stderr)
    # What stands open from before was not written in it.
    assert "Empty shift: nothing was written in it." in empty.stdout
    assert "/e/api/OPS-77@1" in empty.stdout
    assert "Empty shift" not in shown.stdout
    lines = shown.stdout.splitlines()
    (item,) = (line for line in lines if line.endswith("  /e/api/OPS-77@1"))
    assert "  [open, from before, 3 days old]  RF trip  " in item
    assert "Also written (1)" in lines
    assert any(" UTC  Tour. Of ten.  /e/api/" in line for line in lines)
    sections = json.loads(document.stdout)["sections"]
    assert sections == caller.get("/v1/digest").json()["sections"]


def test_a_digest_since_no_time_is_refused_as_usage(logchord: Run) -> None:
    assert logchord("digest", "--since", "breakfast").returncode == 2

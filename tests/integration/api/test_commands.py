"""`logchord push`, `search`, `keys` and `migrate`, as a terminal runs them."""

import json
import math
from pathlib import Path

import httpx2
import psycopg
import pytest

from local.server import Server, free_port
from tests.support.commands import run_command
from tests.support.fixtures.servers import create_database, drop_database, of_database
from tests.support.fixtures.system import BIN, System
from tests.support.typed import typist
from tests.support.written import push_found

JSONL = """{"external_id": "1", "text": "one"}
no json

{"external_id": "3", "text": "thr\\ud800ee"}
{"external_id": "4", "text": "four", "nonsense": 1}
{"external_id": "5", "text": "five"}
"""


def test_push_sends_what_is_good_and_names_each_line_that_is_not(
    api, tenant, caller, tmp_path
):
    key = {"LOGCHORD_URL": api.url, "LOGCHORD_API_KEY": api.key(tenant=tenant)}
    # A process of its own, as the pages of the documentation start all of these.
    ended = run_command(
        [str(BIN / "logchord"), "push", "-"],
        env={**api.environment, **key},
        cwd=tmp_path,
        input=JSONL,
        timeout=60,
    )

    assert ended.returncode == 1
    assert ended.stdout == "created 2, updated 0, unchanged 0, rejected 3\n"
    told = ended.stderr.splitlines()
    assert told[0].startswith("line 2: The body is not valid JSON")
    assert "(code: lone_surrogate)" in told[1]
    assert "nonsense" in told[2]
    assert caller.get("/v1/entries").json()["total"] == 2


def test_push_says_what_is_wrong_with_many_lines_a_few_times(logchord):
    lines = "\n".join(f'{{"text": "{n}", "source": "nowhere"}}' for n in range(1100))

    ended = logchord("push", "-", text=lines)

    told = ended.stderr.splitlines()
    assert len(told) == 11
    assert told[9].startswith("line 10: source is none of: api")
    assert told[10].startswith("1090 more, which --json lists: source is none of: api")
    assert ended.stdout.endswith("rejected 1100\n")
    every = json.loads(logchord("push", "--json", "-", text=lines).stdout)["rejected"]
    assert [one["place"] for one in every][-1] == "line 1100"


def test_push_twice_changes_nothing(logchord):
    logchord("push", "-", text='[{"external_id": "1", "text": "one"}]')

    again = logchord("push", "--json", "-", text='[{"external_id": "1","text":"one"}]')

    assert again.returncode == 0
    counts = {"created": 0, "updated": 0, "unchanged": 1, "rejected": 0}
    assert json.loads(again.stdout) == {"counts": counts, "rejected": []}


def test_push_reads_a_csv_file_with_its_columns(logchord, caller, tmp_path):
    rows = (
        "external_id,text,authors,tags,metadata.run,entry_time\n"
        '1,"vacuum, leak\n in sector 3",A. Roe; B. Poe,rf;vacuum,7,'
        "2026-03-02T05:10:00Z\n"
        "2,,,,,\n"
    )
    path = tmp_path / "entries.csv"
    path.write_text(rows, encoding="utf-8")

    ended = logchord("push", str(path), "--source", "operations")

    assert (ended.returncode, ended.stdout[:9]) == (0, "created 2")
    (kept,) = caller.get("/v1/entries?external_id=1").json()["items"]
    assert kept["text"] == "vacuum, leak\n in sector 3"
    assert kept["authors"] == ["A. Roe", "B. Poe"]
    assert kept["tags"] == ["rf", "vacuum"]
    assert kept["metadata"] == {"run": "7"}
    assert kept["source"] == "operations"


def test_push_says_where_a_csv_file_breaks_and_how_much_was_sent(logchord, caller):
    rows = 'text,title\none,a\ntwo\nthree,c\n"4" pipe",d\nfive,e\n'

    ended = logchord("push", "-", text=rows)

    assert ended.returncode == 1
    assert ended.stdout == "created 2, updated 0, unchanged 0, rejected 2\n"
    uneven, broken = ended.stderr.splitlines()
    assert uneven.startswith("line 3: This line has more or fewer cells")
    assert broken.startswith("line 5: This is no CSV")
    assert "Nothing behind it was read." in broken
    assert caller.get("/v1/entries").json()["total"] == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"external_id": "1", "text": "one"}',
        '{\n "external_id": "1",\n "text": "one"\n}',
        '[{"external_id": "1", "text": "one"}]',
        '{"entries": [{"external_id": "1", "text": "one"}]}',
        "\ufeff" + '{"external_id": "1", "text": "one"}',
        "external_id,text\n1,one\n",
        "text\nno id\n",
    ],
)
def test_push_tells_the_kind_of_a_file_by_its_beginning(logchord, text):
    ended = logchord("push", "-", text=text)

    assert ended.stdout.startswith("created 1,"), ended.stderr
    assert ended.returncode == 0


def test_push_splits_what_is_more_than_one_batch(logchord, caller):
    lines = "\n".join(json.dumps({"text": f"entry {n}"}) for n in range(2500))

    ended = logchord("push", "-", text=lines)

    assert ended.stdout.startswith("created 2500,"), ended.stderr
    assert caller.get("/v1/entries").json()["total"] == 2500


def test_push_atomic_is_all_or_nothing(logchord, caller):
    bad = logchord("push", "--atomic", "-", text=JSONL)
    refused = logchord(
        "push", "--atomic", "-", text='[{"text": "good"}, {"text": "x", "tags": 1}]'
    )
    many = "\n".join('{"text": "x"}' for _ in range(1001))
    too_many = logchord("push", "--atomic", "-", text=many)

    assert bad.returncode == 1
    assert "Nothing was sent" in bad.stderr
    assert refused.returncode == 2
    assert too_many.returncode == 2
    assert "at most 1000" in too_many.stderr
    assert caller.get("/v1/entries").json()["total"] == 0


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (("push", "/nonexistent"), "", 2),
        (("push", "-"), "a,b\n1,2\n", 2),
        (("push", "-"), "[1, 2", 2),
        (("push", "-"), '"text"x,title\n1,2\n', 2),
        (("push", "-"), "", 0),
        (("push", "-"), b'{"text": "\xff"}', 1),
        (("push",), "[1]", 1),
        (("search", "x", "--limit", "0"), "", 2),
        (("search", "x", "--mode", "nonsense"), "", 2),
        (("search", "x", "--filter", "nonsense=1"), "", 2),
        (("search", "x", "--filter", "source"), "", 2),
        (("search",), "", 2),
        (("keys", "revoke", "nonsense"), "", 3),
        (("keys", "create"), "", 2),
        (("keys", "create", "--name", "x", "--scope", "root"), "", 2),
        (("migrate", "--pre", "--post"), "", 2),
        (("migrate", "--check"), "", 0),
    ],
)
def test_a_command_ends_with_the_code_of_the_contract(logchord, arguments, text, code):
    ended = logchord(*arguments, text=text)

    assert ended.returncode == code, ended.stderr


def test_a_command_without_a_right_or_an_api_says_what_to_do(logchord):
    entry = '{"text": "x"}'
    wrong_key = logchord("push", "-", text=entry, LOGCHORD_API_KEY="lk_x")
    nowhere = f"http://127.0.0.1:{free_port()}"
    no_api = logchord("--url", nowhere, "push", "-", text=entry)

    assert wrong_key.returncode == 4
    assert "code: auth_invalid" in wrong_key.stderr
    assert no_api.returncode == 5
    assert "logchord up" in no_api.stderr


def test_a_key_is_created_shown_once_listed_and_revoked(logchord, api):
    created = logchord(
        "keys", "create", "--name", "rf", "--scope", "read", "--logbook", "RF",
        "--expires-in-days", "3",
    )  # fmt: skip
    token = created.stdout.strip()
    me = httpx2.get(f"{api.url}/v1/me", headers={"X-API-Key": token}).json()
    listed = json.loads(logchord("keys", "list", "--json").stdout)
    (mine,) = [row for row in listed if row["key_id"] == me["key_id"]]
    revoked = logchord("keys", "revoke", me["key_id"])
    again = logchord("keys", "revoke", me["key_id"])

    assert (me["name"], me["scopes"], me["logbooks"]) == ("rf", ["read"], ["RF"])
    assert mine["state"] == "valid"
    assert "hash" not in mine
    assert token not in json.dumps(listed)
    assert (revoked.returncode, again.returncode) == (0, 3)


def test_migrate_applies_checks_and_does_nothing_twice(logchord, postgres: Server):
    name = "migrate_command"
    create_database(postgres.url, name)
    url = of_database(postgres.url, name)
    try:
        check = logchord("migrate", "--check", DATABASE_URL=url)
        dry = logchord("migrate", "--dry-run", "--json", DATABASE_URL=url)
        applied = logchord("migrate", "--pre", DATABASE_URL=url)
        logchord("migrate", DATABASE_URL=url)
        twice = logchord("migrate", DATABASE_URL=url)
        clean = logchord("migrate", "--check", DATABASE_URL=url)
        with psycopg.connect(url) as conn:
            row = conn.execute("SELECT count(*) FROM schema_migration").fetchone()
    finally:
        drop_database(postgres.url, name)

    assert check.returncode == 1
    assert "0001_pre_create_the_spine.sql" in check.stdout
    pending = json.loads(dry.stdout)["pending"]
    assert check.stdout.split() == pending
    assert applied.stdout.split()[0] == "0001_pre_create_the_spine.sql"
    assert (twice.stdout, twice.returncode) == ("", 0)
    assert "Nothing is pending" in twice.stderr
    assert clean.returncode == 0
    assert row == (len(pending),)


def test_search_shows_results_branches_and_how_fresh_they_are(
    running: System, tenant: str, client: httpx2.Client, tmp_path: Path
):
    client.post(
        "/v1/entries?wait_for=index&wait_ms=30000",
        json={
            "external_id": "OPS-77",
            "title": "RF trip \x1b[31mred",
            "text": "SR RF cavity 2 tripped on arc.",
            "author": "J. Ruiz",
            "logbook": "Operations",
            "entry_time": "2026-03-02T05:10:00+01:00",
        },
    )
    run = typist(running, tmp_path, running.key(tenant=tenant))
    zone = {"LOGCHORD_FACILITY_TIMEZONE": "Europe/Zurich"}

    shown = run("search", "cavity", "tripped", **zone)
    # The month is that of the API's clock, its times are shown by our own.
    timed = run("search", "cavity tripped in March 2026", **zone)
    document = json.loads(run("search", "cavity", "--json", "--limit", "1").stdout)
    narrowed = run("search", "cavity", "--filter", "logbook=Vacuum")
    either = run(
        *("search", "cavity", "--mode", "keyword"),
        *("--filter", "logbook=Vacuum", "--filter", "logbook=Operations"),
    )

    assert shown.returncode == 0, shown.stderr
    assert "1. RF trip" in shown.stdout
    assert "2026-03-02 05:10 CET (04:10 UTC)" in shown.stdout
    assert "api/OPS-77" in shown.stdout
    assert "api/OPS-77" in timed.stdout
    assert (
        "written   from 2026-03-01 01:00 CET (00:00 UTC)"
        " before 2026-04-01 02:00 CEST (00:00 UTC),"
        ' read from "in March 2026"'
    ) in timed.stdout
    assert "found by os_bm25, semantic" in shown.stdout
    assert "branches  os_bm25 ok 1" in shown.stdout
    assert "as of     20" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert document["results"][0]["external_id"] == "OPS-77"
    assert narrowed.stdout.startswith("Nothing was found among 0 entries.")
    assert "api/OPS-77" in either.stdout


def test_eval_weighs_how_well_judged_questions_are_answered(
    running, tenant, client, tmp_path
):
    entries = {
        "1": "RF cavity 2 tripped on arc.",
        "2": "The chiller of hall 3 leaks glycol.",
        "3": "Door of the hutch left open.",
    }
    push_found(
        client, [{"external_id": name, "text": text} for name, text in entries.items()]
    )
    run = typist(running, tmp_path, running.key(tenant=tenant))
    questions = tmp_path / "questions.jsonl"
    asked: list[dict[str, object]] = [
        {"query": "cavity arc", "relevant": ["api/1"]},
        {"query": "glycol", "relevant": {"2": 2, "3": 1}},
        {"query": "nobody wrote of zebras", "relevant": ["api/3", "api/404"]},
    ]
    questions.write_text("\n".join(map(json.dumps, asked)))
    keyword = ("eval", str(questions), "--mode", "keyword")
    told = json.loads(run(*keyword, "--json").stdout)
    by_query = {one["query"]: one for one in told["each"]}
    assert by_query["cavity arc"]["ndcg"] == 1
    half = 2 / (2 + 1 / math.log2(3))
    assert by_query["glycol"]["ndcg"] == pytest.approx(half)
    assert by_query["glycol"]["recall"] == 0.5
    assert told["each"][0]["query"] == "nobody wrote of zebras"
    assert told["mean"] == {
        "hit": 0.6667,
        "precision": 0.0667,
        "recall": 0.5,
        "mrr": 0.6667,
        "ndcg": round((1 + half) / 3, 4),
        "stable": 1,
    }
    assert run(*keyword, "--gate", "0.5").returncode == 0
    failed = run(*keyword, "--gate", "0.9", "--each")
    assert failed.returncode == 1
    assert "nDCG is less than 0.9" in failed.stderr
    assert failed.stdout.splitlines()[0] == "0.000  hit 0  nobody wrote of zebras"
    floors = json.loads(run(*keyword, "--calibrate", "--json").stdout)["floors"]
    assert (floors["found"], floors["judged"]) == (2, 5)
    # The least of two is kept: one in twenty of them is none.
    searched = [
        client.post("/v1/search/query", json={"query": one, "mode": "keyword"}).json()
        for one in ("cavity arc", "glycol")
    ]
    least = min(one["results"][0]["relevance_score"] for one in searched)
    assert least - 0.001 < floors["min_relevance_score"] <= least
    # What is there and was not found is no mistake of the judge.
    assert told["missing"] == ["api/404"]
    assert "no entry here is called so (1)" in failed.stderr
    questions.write_text('{"query": "x"}')
    wrong = run("eval", str(questions))
    assert wrong.returncode == 2
    assert "Line 1 is no judged question" in wrong.stderr


def test_search_says_why_waits_or_not_and_takes_a_minus_for_not(
    running: System, tenant: str, client: httpx2.Client, tmp_path: Path
):
    entries = [
        {"external_id": "OPS-1", "title": "", "text": "Cavity tripped on arc."},
        {"external_id": "OPS-2", "title": "", "text": "Cavity injection."},
    ]
    push_found(client, entries)
    run = typist(running, tmp_path, running.key(tenant=tenant))

    told = run(
        *("search", "cavity", "-injection", "--mode", "keyword"),
        *("--explain", "--why", "OPS-2"),
    )
    document = json.loads(
        run("search", "cavity", "-injection", "--why", "OPS-1", "--json").stdout
    )
    left = run("search", "cavity", "--mode", "keyword", "--job")
    job = left.stdout.strip()
    found = run("search", "--job", job)
    shown = run("jobs", "show", job)
    listed = run("search", "--filter", "source=api", "--limit", "1")

    assert told.returncode == 0, told.stderr
    assert "api/OPS-1" in told.stdout
    assert "api/OPS-2" not in told.stdout
    assert "    place     1 of os_bm25" in told.stdout
    assert "\nreason    " in told.stdout
    assert "\ngate      no_match\n" in told.stdout
    assert document["why_not"]["returned"] is True
    assert (left.returncode, len(left.stdout.split())) == (0, 1)
    assert f"logchord search --job {job}" in left.stderr
    assert found.returncode == 0, found.stderr
    assert {"api/OPS-1", "api/OPS-2"} <= set(found.stdout.split())
    assert shown.stdout.startswith("state     done\nquery     cavity\n")
    assert shown.stdout.endswith(found.stdout)
    assert "shown     " in listed.stdout

"""`logchord source add --set`: whatever has no option of its own."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import yaml

from tests.contract.stubs.generic_rest import RestStub
from workers.adapters.kit.stub import StubEntry

SHEET = "Written,Text\n2005-03-20,L/H bucket cylinder leaking\n"


def test_any_other_setting_is_typed_by_its_name(run, tmp_path):
    sheet = tmp_path / "orders.csv"
    sheet.write_text(SHEET, "utf-8")
    named = (
        *(str(sheet), "--name", "shovels", "--timezone", "Australia/Perth"),
        *("--map", "text=Text", "--map", "entry_time=Written"),
    )

    of_source = run(*named, "--set", "poll_intervall_seconds=60")
    like_none = run(*named, "--set", "args.zzz=true")
    misspelt = run(*named, "--set", "args.complete_snapshots=true")
    nameless = run(*named, "--set", "true")
    inside_a_text = run(*named, "--set", "timezone.summer=true")
    done = run(
        *(*named, "--set", "args.complete_snapshot=true", "--set", "args.separator=|"),
        *("--set", 'allowed_origins=["https://files.example.org"]'),
        *("--set", "poll_interval_seconds=3600"),
    )

    assert misspelt.returncode != 0
    assert (
        "sources.shovels.args.complete_snapshots: there is no such setting; the nearest"
        " is complete_snapshot."
    ) in " ".join(misspelt.stderr.split())
    assert "poll_intervall_seconds: there is no such setting" in of_source.stderr
    assert "the nearest is poll_interval_seconds." in of_source.stderr
    assert "args.zzz: there is no such setting" in like_none.stderr
    assert nameless.returncode == 2
    assert "'true' names no setting and value" in nameless.stderr
    assert inside_a_text.returncode != 0
    assert done.returncode == 0, done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    source = written["sources"]["shovels"]
    assert source["args"]["complete_snapshot"] is True
    assert source["args"]["separator"] == "|"
    assert source["allowed_origins"] == ["https://files.example.org"]
    assert source["poll_interval_seconds"] == 3600


def test_a_server_that_nobody_knows_is_described_where_it_is_added(run, tmp_path):
    with closing(RestStub()) as stub:
        stub.add(StubEntry(7, datetime.now(UTC), "RF trip", "Cavity 2"))
        settings = stub.settings()
        args = settings["args"].items()
        pairs = [("--set", f"args.{key}={json.dumps(value)}") for key, value in args]
        done = run(
            *(settings["base_url"], "--name", "shifts", "--adapter", "generic_rest"),
            *(
                "--timezone",
                "Europe/Berlin",
                *(word for pair in pairs for word in pair),
            ),
        )

    assert done.returncode == 0, done.stderr
    assert "RF trip" in done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["shifts"]["args"] == settings["args"]


def test_a_database_is_added_by_what_holds_its_dsn(run, tmp_path):
    database = tmp_path / "log.sqlite"
    with closing(sqlite3.connect(database)) as conn, conn:
        conn.execute("CREATE TABLE log (id INTEGER, changed TEXT, said TEXT)")
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        conn.execute("INSERT INTO log VALUES (7, ?, 'Cavity 2 quenched')", (now,))
    dsn = tmp_path / "dsn"
    dsn.write_text(f"sqlite:///{database}", "utf-8")
    query = "SELECT id, changed, said FROM log WHERE changed >= :since ORDER BY changed"
    described = (
        *("--adapter", "generic_sql", "--timezone", "UTC"),
        *("--set", f"args.query={query}", "--set", "args.since_column=changed"),
        *("--map", "external_id=id", "--map", "text=said"),
        *("--map", "entry_time=changed"),
    )

    by_file = run("dsn", "--name", "shifts", *described)
    by_variable = run("SHIFT_DSN", *described, SHIFT_DSN=dsn.read_text("utf-8"))

    assert by_file.returncode == 0, by_file.stderr
    assert "Cavity 2 quenched" in by_file.stderr
    assert by_variable.returncode == 0, by_variable.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["shifts"]["args"]["dsn"] == str(dsn)
    assert "path" not in written["sources"]["shifts"]
    assert written["sources"]["shift-dsn"]["args"]["dsn"] == "SHIFT_DSN"

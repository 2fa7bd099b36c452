"""`logchord config`: what is in force, from where, and never a secret."""

import json

import pytest

from tests.support.typed import ending

pytestmark = pytest.mark.usefixtures("folder")


def test_it_prints_each_value_its_source_and_its_help(folder, capsys, monkeypatch):
    (folder / "logchord.yaml").write_text("retriever_arm: {default_limit: 20}\n")
    monkeypatch.setenv("LOGCHORD_PORT", "9001")
    assert ending("config") == 0
    printed = capsys.readouterr().out
    assert "port = 9001  [environment: LOGCHORD_PORT]\n    Port of the API." in printed
    assert "default_limit = 20  [logchord.yaml: retriever_arm.default_limit]" in printed
    assert "max_limit = 100  [default; LOGCHORD_MAX_LIMIT]" in printed


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_it_masks_every_secret(form, capsys, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:planted@host:5432/logbook")
    monkeypatch.setenv("BROKER_URL", "redis://:planted@broker/0?password=planted")
    monkeypatch.setenv("OPENAI_API_KEY", "planted")
    assert ending("config", "--changed", *form) == 0
    printed = capsys.readouterr()
    assert "planted" not in printed.out + printed.err
    assert "postgresql://me:***@host:5432/logbook" in printed.out
    assert "redis://:***@broker/0?***" in printed.out


@pytest.mark.requirement("S1-79", "S1-120")
def test_as_json_it_names_variable_and_origin_of_each_setting(capsys, monkeypatch):
    monkeypatch.setenv("LOG_QUERIES", "true")
    assert ending("config", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in printed["settings"]}
    assert rows["log_queries"]["value"] == "true"
    assert rows["log_queries"]["origin"] == "environment"
    assert rows["max_limit"]["origin"] == "default"
    assert rows["max_limit"]["variable"] == "LOGCHORD_MAX_LIMIT"
    assert any("log_queries" in told for told in printed["warnings"])


def test_changed_leaves_out_what_has_its_default(capsys):
    assert ending("config", "--changed", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["settings"]
    assert row["name"] == "home"


def test_a_good_file_passes_the_check(folder, capsys):
    (folder / "good.yaml").write_text("port: 9001\n")
    (folder / "run").mkdir()
    stack = {"port": 8000, "opensearch_url": "http://127.0.0.1:9200"}
    (folder / "run" / "stack.json").write_text(json.dumps(stack))
    assert ending("config", "check", "good.yaml", "--json") == 0
    # The port and, by the environment, the home; where a stack listens is no setting.
    assert json.loads(capsys.readouterr().out)["given"] == 2
    assert ending("config", "check", "good.yaml") == 0
    assert "can be used; 2 settings are given" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://a.example/secret", "a.example is not among `webhook_allowed_hosts`"),
        ("mailto:ops@example.org", "until an admin sets `smtp_url`"),
        ("ftp://a.example/secret", "This address cannot be used"),
    ],
)
def test_an_address_that_tells_nobody_of_problems_fails_the_check(
    url, said, folder, capsys
):
    (folder / "some.yaml").write_text(f"operations: {{webhook_url: '{url}'}}\n")
    assert ending("config", "check", "some.yaml") == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Nobody is told of problems" in told
    assert "secret" not in told


def test_the_check_names_all_that_is_wrong_at_once(folder, capsys, monkeypatch):
    monkeypatch.setenv("LOGCHORD_PROT", "9001")
    monkeypatch.setenv("LOGCHORD_MAX_LIMIT", "-1")
    (folder / "some.yaml").write_text(
        "serach: {}\noperations: {backup_hours: 0, backup_fodler: /b}\nhost: [a]\n"
        "trusted_proxies: 10.0.0.1\n"
    )
    assert ending("config", "check", "some.yaml") == 2
    told = capsys.readouterr().err.splitlines()
    wrong = (
        "serach",
        "it is a list",
        "backup_fodler",
        "LOGCHORD_PROT",
        "backup_hours",
        "host",
        "MAX",
    )
    for name in wrong:
        assert sum(name in line for line in told) == 1, name
    (folder / "some.yaml").write_text("".join(f"port{n}: 1\n" for n in range(40)))
    assert ending("config", "check", "some.yaml") == 2
    assert "30 more are wrong." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{adapter: elog_htp}", "No adapter is called 'elog_htp'"),
        ("{adapter: olog, base_url: 'http://a', args: {pasword: X}}", "args.pasword"),
        ("{adapter: generic_sql, timezone: UTC}", "args.dsn"),
    ],
)
def test_a_source_that_would_not_be_read_fails_the_check(source, said, folder, capsys):
    (folder / "some.yaml").write_text(f"sources: {{ring: {source}}}\n")
    assert ending("config", "check", "some.yaml") == 2
    printed = capsys.readouterr()
    assert "The source ring is not read: " in printed.err
    assert said in printed.err
    assert printed.out == ""
    assert ending("config", "check", "some.yaml", "--json") == 2
    assert said in json.loads(capsys.readouterr().out)["unusable"][0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot: 1\n", "Did you mean port?"),
        ("port: many\n", "port in bad.yaml"),
        ("port: [\n", "bad.yaml cannot be read"),
    ],
)
def test_a_bad_file_ends_the_check_with_2_and_the_reason(text, said, folder, capsys):
    (folder / "bad.yaml").write_text(text)
    assert ending("config", "check", "bad.yaml") == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert "configuration_invalid" in printed.err
    assert printed.out == ""


def test_a_bad_variable_ends_any_command_with_2(capsys, monkeypatch):
    monkeypatch.setenv("LOGCHORD_PROT", "1")
    assert ending("config") == 2
    assert "Did you mean LOGCHORD_PORT?" in capsys.readouterr().err

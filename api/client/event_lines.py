"""Server-sent events, put together from their lines."""

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One event of a job: its number in the stream, its name, and what it tells."""

    id: str
    name: str
    data: dict[str, Any]


@dataclass(slots=True)
class EventLines:
    """What has been heard of the event at hand."""

    _id: str = ""
    _name: str = ""
    _data: list[str] = field(default_factory=list)

    def hear(self, line: str) -> Event | None:
        """Return the event that a line ends; None: it goes on."""
        if not line:
            event = None
            if self._name:
                data = json.loads("\n".join(self._data) or "{}")
                event = Event(self._id, self._name, data)
            self._name, self._data = "", []
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        return None

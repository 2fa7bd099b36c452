"""What an adapter may have beside its questions: a source that speaks up by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable


class Talk(Protocol):
    """An open connection on which both sides send texts."""

    def send(self, text: str) -> None:
        """Say something."""

    def receive(self) -> str:
        """Wait for the next text; raise once the other side is gone."""


@runtime_checkable
class Talks(Protocol):
    """An `io.http` that can open a web socket."""

    def talk(
        self, url: str, *, protocol: str | None = None
    ) -> AbstractContextManager[Talk]:
        """Open a web socket at an http(s) address."""


@runtime_checkable
class Listens(Protocol):
    """An adapter whose source says when it has something new."""

    def listen(self) -> Iterator[None]:
        """Yield at each word of something new, until the source hangs up.

        A word only makes the tail due: it never carries an entry, and one that is
        lost costs the wait for the next poll.
        """

"""An ELOG of many messages that people go on writing in, and all that each has said."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tests.contract.stubs import elog_message
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.elog_message import Message
from tests.contract.stubs.serving import StubAnswer
from workers.adapters.kit.stub import StubEntry

BOOK = "Operations"
_HISTORY = timedelta(days=4 * 365)
_WORDS = ("klystron", "cavity", "vacuum", "interlock", "orbit", "kicker", "chiller")


class BusyElog(ElogServerStub):
    """A server whose messages are added, answered, edited and deleted by chance."""

    def __init__(self, seed: int, count: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        # Every title and text of a message in their order.
        self.said: dict[str, list[str]] = {}
        # How often a message was handed out by itself, each time as it stood.
        self.handed_out: Counter[tuple[str, bytes]] = Counter()
        self.edited = self.deleted = self.added = 0
        # A real server keeps its hashes, too.
        self._digests: dict[int, str] = {}
        began = datetime.now(UTC).replace(microsecond=0) - _HISTORY
        for number in range(1, count + 1):
            self._write(number, began + _HISTORY * number / (count + 1))

    @property
    def asked(self) -> int:
        """How many requests there have been."""
        return len(self.requests())

    def holds(self) -> dict[str, str]:
        """Return title and text of every message there is, by its id."""
        return {
            f"{BOOK}/{number}": _shown(message.entry)
            for number, message in self._book.items()
        }

    def edit_one(self) -> None:
        """Let somebody rewrite a text."""
        number = self._any()
        entry = self._book[number].entry
        self._digests.pop(number, None)
        self.edit(f"{BOOK}/{number}", text=self._new_text(number))
        assert self._book[number].entry != entry
        self._note(number)
        self.edited += 1

    def delete_one(self) -> None:
        """Let somebody remove a message, and with it every reply."""
        before = dict(self._book)
        self.delete(f"{BOOK}/{self._any()}")
        gone = before.keys() - self._book.keys()
        for number in gone:
            self._digests.pop(number, None)
            parent = before[number].entry.reply_to
            if parent is not None:
                self._digests.pop(parent, None)
        self.deleted += len(gone)

    def add_one(self) -> None:
        """Let somebody write, at times a reply; numbers of the last come again."""
        now = datetime.now(UTC).replace(microsecond=0)
        reply_to = self._any() if self._random.random() < 0.5 else None
        if reply_to is not None:
            # A reply rewrites its parent, which says nothing new by that.
            self._digests.pop(reply_to, None)
        self._write(max(self._book) + 1, now, reply_to)
        self.added += 1

    @property
    def _book(self) -> dict[int, Message]:
        return self.logbooks.books[BOOK]

    def _any(self) -> int:
        return self._random.choice(list(self._book))

    def _write(self, number: int, time: datetime, reply_to: int | None = None) -> None:
        self._digests.pop(number, None)
        title, text = f"Message {number}", self._new_text(number)
        self.add(StubEntry(number, time, title, text, reply_to=reply_to))
        self._note(number)

    def _new_text(self, number: int) -> str:
        """Return a text that no message has had before."""
        version = len(self.said.get(f"{BOOK}/{number}", ())) + 1
        words = " ".join(self._random.choices(_WORDS, k=12))
        return f"Number {number}, written {version} times: {words}."

    def _note(self, number: int) -> None:
        said = self.said.setdefault(f"{BOOK}/{number}", [])
        said.append(_shown(self._book[number].entry))

    def _listing(self, book: Mapping[int, Message]) -> StubAnswer:
        for number in book.keys() - self._digests.keys():
            self._digests[number] = elog_message.md5(book[number].block())
        lines = [
            f"ID: {number:6d} MD5:{self._digests[number]}\n" for number in sorted(book)
        ]
        return StubAnswer("".join(lines).encode(), media_type="text/plain")

    def _download(self, book: Mapping[int, Message], number: str) -> StubAnswer:
        answer = super()._download(book, number)
        if answer.body:
            self.handed_out[number, answer.body] += 1
        return answer


def _shown(entry: StubEntry) -> str:
    return f"{entry.title}|{entry.text}"

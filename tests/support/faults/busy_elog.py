"""ELOGs of many messages that people go on writing in, and all that each has said."""

import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.contract.stubs import elog_message
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.elog_message import Message
from tests.contract.stubs.serving import StubAnswer
from workers.adapters.kit.stub import StubEntry

BOOK = "Operations"
_HISTORY = timedelta(days=4 * 365)
_WORDS = ("klystron", "cavity", "vacuum", "interlock", "orbit", "kicker", "chiller")


class _BusyServer(ElogServerStub):
    """A server of many messages, which keeps its hashes as a real one does."""

    def __init__(self) -> None:
        super().__init__()
        # How often a message was handed out by itself, each time as it stood.
        self.handed_out: Counter[tuple[str, bytes]] = Counter()
        self._digests: dict[int, tuple[StubEntry, tuple[int, ...], str]] = {}

    def _listing(self, book: Mapping[int, Message]) -> StubAnswer:
        lines = [
            f"ID: {number:6d} MD5:{self._digest(number, message)}\n"
            for number, message in sorted(book.items())
        ]
        return StubAnswer("".join(lines).encode(), media_type="text/plain")

    def _digest(self, number: int, message: Message) -> str:
        known = self._digests.get(number)
        children = tuple(message.children)
        if known is None or known[0] is not message.entry or known[1] != children:
            known = (message.entry, children, elog_message.md5(message.block()))
            self._digests[number] = known
        return known[2]

    def _download(self, book: Mapping[int, Message], number: str) -> StubAnswer:
        answer = super()._download(book, number)
        if answer.body:
            self.handed_out[number, answer.body] += 1
        return answer


class BusyElog:
    """Messages that are added, answered, edited and deleted by chance."""

    def __init__(
        self, stub: ElogServerStub | ElogFolderStub, seed: int, count: int
    ) -> None:
        self.stub = stub
        self.close = stub.close
        self._random = random.Random(seed)
        # Every title and text of a message in their order.
        self.said: dict[str, list[str]] = {}
        self.edited = self.deleted = self.added = 0
        began = datetime.now(UTC).replace(microsecond=0) - _HISTORY
        for number in range(1, count + 1):
            self._write(number, began + _HISTORY * number / (count + 1))

    def settings(self) -> Mapping[str, Any]:
        """Return what a source needs to read all of this."""
        settings = self.stub.settings()
        args = {**settings.get("args", {}), "readers": {"*": None}}
        return {**settings, "args": args}

    @property
    def has_server(self) -> bool:
        """Whether it is read by its server, not by its files."""
        return isinstance(self.stub, ElogServerStub)

    @property
    def asked(self) -> int:
        """How many requests there have been; who reads files sends none."""
        if isinstance(self.stub, ElogServerStub):
            return len(self.stub.requests())
        return 0

    @property
    def handed_out(self) -> Counter[tuple[str, bytes]]:
        """How often each message was handed out by itself; files hand out none."""
        stub = self.stub
        return stub.handed_out if isinstance(stub, _BusyServer) else Counter()

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
        self.stub.edit(f"{BOOK}/{number}", text=self._new_text(number))
        assert self._book[number].entry != entry
        self._note(number)
        self.edited += 1

    def delete_one(self) -> None:
        """Let somebody remove a message, and with it every reply."""
        before = len(self._book)
        self.stub.delete(f"{BOOK}/{self._any()}")
        self.deleted += before - len(self._book)

    def add_one(self) -> None:
        """Let somebody write, at times a reply; numbers of the last come again."""
        now = datetime.now(UTC).replace(microsecond=0)
        # A reply rewrites its parent, which says nothing new by that.
        reply_to = self._any() if self._random.random() < 0.5 else None
        self._write(max(self._book) + 1, now, reply_to)
        self.added += 1

    @property
    def _book(self) -> dict[int, Message]:
        return self.stub.logbooks.books[BOOK]

    def _any(self) -> int:
        return self._random.choice(list(self._book))

    def _write(self, number: int, when: datetime, reply_to: int | None = None) -> None:
        title, text = f"Message {number}", self._new_text(number)
        self.stub.add(StubEntry(number, when, title, text, reply_to=reply_to))
        self._note(number)

    def _new_text(self, number: int) -> str:
        """Return a text that no message has had before."""
        version = len(self.said.get(f"{BOOK}/{number}", ())) + 1
        words = " ".join(self._random.choices(_WORDS, k=12))
        return f"Number {number}, written {version} times: {words}."

    def _note(self, number: int) -> None:
        said = self.said.setdefault(f"{BOOK}/{number}", [])
        said.append(_shown(self._book[number].entry))


def busy_server(seed: int, count: int) -> BusyElog:
    """Return the messages of a server."""
    return BusyElog(_BusyServer(), seed, count)


def busy_folder(seed: int, count: int) -> BusyElog:
    """Return the messages of a folder, in which a deletion often empties a day."""
    return BusyElog(ElogFolderStub(), seed, count)


def _shown(entry: StubEntry) -> str:
    return f"{entry.title}|{entry.text}"

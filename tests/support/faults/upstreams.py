"""Logbooks that a system reads, written to all the while, and how they go wrong."""

import math
import random
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

import yaml

from tests.contract.stubs.olog import OlogStub
from tests.contract.stubs.serving import StubAnswer, StubRequest
from tests.support.faults.measures.ledger import words
from workers.adapters.kit.stub import FaultMode, StubEntry

Trouble = FaultMode | Literal["garbage", "tls"]

# More requests than an experiment makes.
_FOR_EVER = 10_000
_GARBAGE_BYTES = 100_000


class Logbook(OlogStub):
    """One that is written to while it is read, and that can go wrong for good."""

    def __init__(self, name: str) -> None:
        self._turn = threading.Lock()
        super().__init__()
        self.name = name
        self.spans = self._server.spans
        # When each entry was written, by the name that the store has for it.
        self.written: dict[str, float] = {}
        # How it goes wrong, or went before it was mended.
        self.trouble: Trouble | None = None
        self._spoilt_at = math.inf
        self._scheme = "http"

    def settings(self) -> Mapping[str, Any]:
        """Return what a source needs to read this."""
        given = super().settings()
        url = given["base_url"].replace("http", self._scheme, 1)
        return {**given, "base_url": url}

    def add(self, entry: StubEntry) -> str:
        """Take a log in between two answers."""
        with self._turn:
            return super().add(entry)

    def write(self, text: str) -> None:
        """Write an entry, dated now."""
        now = datetime.now(UTC)
        number = len(self.written) + 1
        external_id = self.add(StubEntry(number, now, f"Entry {number}", text))
        self.written[external_id] = now.timestamp()

    def spoil(self, trouble: Trouble, certificate: Path) -> None:
        """Let every answer go wrong from now on."""
        self.trouble, self._spoilt_at = trouble, time.time()
        if trouble == "garbage":
            self._server.answer = _garbage
        elif trouble == "tls":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate.with_name("key.pem"))
            self._server.encrypt(context)
            self._scheme = "https"
        else:
            self._server.fault(trouble, _FOR_EVER)

    def asked_in_vain(self) -> list[float]:
        """Return when each request came that went wrong."""
        return [began for began, _ in self.spans() if began >= self._spoilt_at]

    def mend(self) -> None:
        """Answer well again; what speaks TLS goes on to."""
        self._server.answer = self._answer
        self._server.forget_faults()

    def _answer(self, request: StubRequest) -> StubAnswer:
        with self._turn:
            return super()._answer(request)


@dataclass
class Upstreams:
    """Several logbooks, and the file that configures them as sources."""

    folder: Path
    # Of every source.
    settings: Mapping[str, Any]
    logbooks: dict[str, Logbook] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Begin without any."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what still hangs."""
        for one in self.logbooks.values():
            one.close()

    @property
    def environment(self) -> Mapping[str, str]:
        """What tells a system to read them."""
        return {"LOGCHORD_CONFIG": str(self._file), "LOGCHORD_SOURCES": ""}

    @property
    def _file(self) -> Path:
        return self.folder / "logchord.yaml"

    def open(self, name: str) -> Logbook:
        """Start one, empty; it is configured with the next `configure`."""
        one = self.logbooks[name] = Logbook(name)
        return one

    def configure(self) -> None:
        """Write the file anew."""
        sources = {
            name: {**self.settings, **one.settings()}
            for name, one in self.logbooks.items()
        }
        self._file.write_text(yaml.safe_dump({"sources": sources}), "utf-8")


@dataclass
class Writer:
    """Writes into logbooks at random moments, so many entries a second."""

    logbooks: Sequence[Logbook]
    random: random.Random
    per_second: float
    _ended: threading.Event = field(default_factory=threading.Event)

    def write(self, count: int) -> tuple[float, float]:
        """Write so many; return when it began and ended."""
        began = time.time()
        due = time.monotonic()
        for _ in range(count):
            # By the clock, not from one to the next: what is late is made up for.
            due += self.random.uniform(0, 2 / self.per_second)
            if self._ended.wait(max(0.0, due - time.monotonic())):
                break
            self.random.choice(self.logbooks).write(words(self.random))
        return began, time.time()

    @contextmanager
    def at_work(self, least: int) -> Iterator[None]:
        """Write from a thread: at least so many, and for as long as it takes."""
        leaving = threading.Event()

        def run() -> None:
            self.write(least)
            while not leaving.is_set() and not self._ended.is_set():
                self.write(1)

        writing = threading.Thread(target=run, daemon=True)
        writing.start()
        try:
            yield
        except BaseException:
            self._ended.set()
            raise
        finally:
            leaving.set()
            writing.join(timeout=300)
        assert not writing.is_alive(), "writing did not end"


def _garbage(_: StubRequest) -> StubAnswer:
    return StubAnswer(random.Random(0).randbytes(_GARBAGE_BYTES))

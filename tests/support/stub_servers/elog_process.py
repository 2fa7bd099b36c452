"""An ELOG in a process of its own, which stands still when it is stopped.

`python -m tests.support.stub_servers.elog_process COUNT` prints its address.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.contract.stubs.elog_http import make_stub
from tests.support.fixtures.system import ROOT
from workers.adapters.kit.stub import StubEntry, StubFile

# More than both ends of a connection keep for each other.
FILE_BYTES = 40_000_000
_APART = timedelta(days=20)


@dataclass(frozen=True)
class ElogProcess:
    """A running one."""

    url: str
    pid: int

    def stop(self) -> None:
        """Let it stand still: who asks is connected, and waits."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again, from where it stood."""
        os.kill(self.pid, signal.SIGCONT)


def texts_of(count: int) -> dict[str, str]:
    """Return the text of every message by its id."""
    return {f"Operations/{n}": f"Text of entry {n}" for n in range(1, count + 1)}


@contextmanager
def elog_process(count: int) -> Iterator[ElogProcess]:
    """Return a server of so many messages, the newest with a large file."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(count)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        try:
            yield ElogProcess(process.stdout.readline().strip(), process.pid)
        finally:
            os.kill(process.pid, signal.SIGCONT)
            process.stdin.close()


def _main(count: int) -> None:
    newest = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
    file = StubFile("large.bin", bytes(FILE_BYTES))
    with closing(make_stub()) as stub:
        for place, text in enumerate(texts_of(count).values()):
            files = (file,) if place == 0 else ()
            when = newest - place * _APART
            stub.add(StubEntry(place + 1, when, text=text, files=files))
        print(stub.base_url, flush=True)
        # Its end is the end of whoever has started this.
        sys.stdin.read()


if __name__ == "__main__":
    _main(int(sys.argv[1]))

"""A process that has imported what the product imports, and forks its processes.

usage: python -m tests.support.process_parent DESCRIPTOR KIND

A child gets what a start from nothing would get (session, files, environment, folder,
`sys.argv`) and runs what its command names, in place of each `exec` of the product's
own. What still differs: its memory is the parent's until it writes to it, the kernel
shows the parent's command line, and strings hash alike in all children.
"""

import ctypes
import gc
import importlib
import json
import mmap
import os
import runpy
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

# What a process of each kind has imported by the time it is ready.
IMPORTED = {
    "api": (
        "api.cli.commands.serve",
        "api.server.connection_timeouts",
        "api.app",
        "uvicorn.lifespan.on",
        "uvicorn.loops.uvloop",
    ),
    "work": (
        "api.cli.commands.serve",
        "celery.__main__",
        "celery.bin.celery",
        "celery.apps.worker",
        "celery.concurrency.prefork",
        "celery.concurrency.thread",
        "workers.runtime.celery_consumer",
        "workers.runtime.preload_models",
        "workers.runtime.ending",
        "workers.runtime.memory_growth",
        "workers.upkeep.main",
    ),
    "mcp": (
        "api.cli.commands.serve",
        "api.mcp.mcp_server",
        "uvicorn.lifespan.on",
        "uvicorn.loops.uvloop",
    ),
}
# Imported again by each child: the environment says at the import whether figures lie
# in memory or in files, and who holds some is imported with them.
AGAIN = {"api": (), "work": ("prometheus_client", "workers"), "mcp": ()}
_ORDER_BYTES = 2**18
_DESCRIPTORS = 2
_MAP_FIXED = 0x10

_replace = os.execv


class _ReplacedError(BaseException):
    """This process is to become another command; nothing of the product catches it."""

    def __init__(self, command: list[str]) -> None:
        super().__init__()
        self.command = command


def main(descriptor: int, kind: str) -> None:
    """Import, then fork a child for each order until nobody gives any more."""
    for name in IMPORTED[kind]:
        importlib.import_module(name)
    if kind == "work":
        for name in importlib.import_module("workers.runtime.task").MODULES:
            importlib.import_module(name)
        # Half a second of each worker that enriches, and the same for every setting.
        importlib.import_module("shared.text.words.languages").load()
    for name in [*sys.modules]:
        if name.partition(".")[0] in AGAIN[kind]:
            del sys.modules[name]
    gc.collect()
    gc.freeze()
    command = _serve(socket.socket(fileno=descriptor))
    os.execv = _replace_here  # type: ignore[assignment]
    while command:
        try:
            _run(command)
        except _ReplacedError as replaced:
            command = replaced.command
        else:
            return


def _serve(link: socket.socket) -> list[str]:
    """Answer orders; return in each child the command that it is to run."""
    with link:
        while True:
            text, files, _, _ = socket.recv_fds(link, _ORDER_BYTES, _DESCRIPTORS)
            if not text:
                return []
            order: dict[str, Any] = json.loads(text)
            if "ended" in order:
                answer: object = os.waitpid(order["ended"], os.WNOHANG)
            else:
                ready, prepared = os.pipe()
                if (answer := os.fork()) == 0:
                    break
                os.close(prepared)
                # Closed at the latest by the end of the child.
                os.read(ready, 1)
                for file in (ready, *files):
                    os.close(file)
            link.send(json.dumps(answer).encode())
    _take(order, files)
    os.close(ready)
    os.close(prepared)
    return list(order["command"])


def _take(order: dict[str, Any], files: list[int]) -> None:
    """Become what the order describes, all but its code."""
    os.setsid()
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["folder"])
    part_from_siblings()


def part_from_siblings() -> None:
    """Have memory of its own where the parent, and so all of its children, share some.

    Modules make some at their import, for the children that a worker forks.
    """
    map_again = ctypes.CDLL(None).mmap
    map_again.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3]
    map_again.argtypes += [ctypes.c_long]
    map_again.restype = ctypes.c_void_p
    access = mmap.PROT_READ | mmap.PROT_WRITE
    kind = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_FIXED
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if line.endswith("/dev/zero (deleted)"):
            first, end = (int(part, 16) for part in line.split()[0].split("-"))
            assert map_again(first, end - first, access, kind, -1, 0) == first


def _run(command: list[str]) -> None:
    """Run a script or a module as the interpreter would."""
    program, *words = command
    if words[:1] == ["-m"]:
        sys.argv, sys.path[0] = words[1:], str(Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = command, str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")


def _replace_here(program: str, command: list[str]) -> NoReturn:
    """Replace this process by its code alone, where that is the product's."""
    if command[1:2] == ["-m"] or Path(program).name == "celery":
        raise _ReplacedError([program, *command[1:]])
    _replace(program, command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

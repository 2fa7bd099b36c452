"""A person's terminal at a stack of its own, which `logchord up` starts."""

import json
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from local import service_user
from local.server import free_port
from local.stack import running_pid
from shared.settings.settings import Settings
from tests.support.commands import run_command
from tests.support.typed import typed

BIN = Path(sys.executable).parent
# Long, for whatever else the machine does: nothing here is about how soon.
START_SECONDS = 170


@dataclass
class Machine:
    """A person's terminal, with one home."""

    home: Path
    environ: dict[str, str]

    def run(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Type a command; whether it went well stands in what comes back."""
        return run_command(
            [str(BIN / "logchord"), *words],
            env={**self.environ, **extra},
            cwd=self.home.parent,
            stdin=subprocess.DEVNULL,
            timeout=START_SECONDS,
        )

    def type(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type a command without a process of its own."""
        return typed(*words, environ=self.environ, folder=self.home.parent)

    def start(self) -> None:
        done = self.run("up", "--detach")
        assert done.returncode == 0, done.stderr + done.stdout

    def status(self) -> dict[str, Any]:
        return json.loads(self.type("status", "--json").stdout)

    def child(self, name: str) -> int | None:
        rows = json.loads((self.home / "run" / "runner.json").read_text())["children"]
        return rows[name]["pid"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.environ['LOGCHORD_PORT']}"

    @property
    def flower(self) -> str:
        return f"http://127.0.0.1:{self.environ['FLOWER_PORT']}"

    def secrets(self) -> dict[str, str]:
        text = (self.home / "run" / "secrets.json").read_text(encoding="utf-8")
        return json.loads(text)

    def family(self) -> list[psutil.Process]:
        """Every process of the stack: the runner's descendants, and the servers."""
        pid = running_pid(self.home)
        assert pid is not None
        return psutil.Process(pid).children(recursive=True)


def machine(folder: Path) -> Machine:
    home = folder / f"home-{secrets.token_hex(3)}"
    environ = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "LOGCHORD_HOME": str(home),
        "LOGCHORD_CACHE": os.environ.get(
            "LOGCHORD_CACHE", str(Path(Settings.load({}).cache))
        ),
        "LOGCHORD_PORT": str(free_port()),
        "FLOWER_PORT": str(free_port()),
        "OPENSEARCH_URL": "off",
        # A proxy for the outside must not stand between the stack and itself.
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    return Machine(home, environ)


def ended(home: Path) -> bool:
    """Tell whether nothing that names this home runs any more."""
    data = str(service_user.data_home(home))
    return not any(
        str(home) in word or data in word
        for process in psutil.process_iter(["cmdline"])
        for word in process.info["cmdline"] or ()
    )

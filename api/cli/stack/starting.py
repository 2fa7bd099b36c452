"""The start of a stack, step by step, until Ctrl-C ends it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import click
import httpx2
from pydantic import SecretStr

from api.cli import api_client
from api.cli.output import CommandError, Output, UsageError
from api.cli.render import log_lines
from api.cli.stack import first_key, health, welcome
from api.cli.stack.progress import Steps
from local import neighbours, procfile
from local.place import ServerError, StackFolders
from local.server import listener
from local.stack import OFF, AlreadyRunningError, Given, Stack
from shared import migrations
from shared.embedding.vectors import live_models
from shared.errors import LogchordError
from shared.settings.settings import Settings

_DEMO_SOURCES = {
    "operations": {"adapter": "push", "timezone": "Europe/Zurich"},
    "maintenance": {"adapter": "push", "timezone": "Europe/Zurich", "language": "de"},
    "beamlines": {"adapter": "push", "timezone": "Europe/Zurich"},
}
_MODEL_CODE = """
import sys
from pathlib import Path
from shared.embedding import load_model
from shared.errors import LogchordError
try:
    load_model.load_encoder(sys.argv[1], Path(sys.argv[2]))
except LogchordError as exc:
    sys.exit(exc.message)
"""


class Start:
    """One `logchord up` in the foreground."""

    def __init__(
        self, out: Output, environ: dict[str, str], *, demo: bool, echo: bool
    ) -> None:
        self._out, self._environ, self._demo = out, environ, demo
        self._echoes = echo and not out.quiet
        self._begun = time.time()
        self._steps = Steps(out)
        settings = Settings.load(environ, with_stack=False)
        self._home = settings.home
        self._stack = Stack(StackFolders(settings.home, settings.cache), self._steps)
        self._model: subprocess.Popen[str] | None = None

    def run(self) -> int:
        """Start everything, then stay until told to stop; return the exit code."""
        try:
            self._stack.open()
        except AlreadyRunningError as exc:
            raise UsageError(str(exc)) from exc
        self._steps.start()
        try:
            self._run()
        finally:
            # A second Ctrl-C is not heard: what was started is always stopped.
            if self._model is not None and self._model.poll() is None:
                self._model.kill()
            self._stack.close()
            self._steps.finish()
        return 0

    def _run(self) -> None:
        # Again, now that nothing of a killed stack is left to be read.
        settings = Settings.load(self._environ)
        _check_port(settings.port, "the API", "start with another: `--port N`")
        _check_port(settings.flower_port, "Flower", "set FLOWER_PORT to another")
        if self._echoes:
            page = f"{api_client.base_url(settings)}/"
            self._say(f"The page will be at {page} once all of it is up.")
        addresses = self._stack.start_servers(self._given(settings))
        migrations.migrate(
            addresses.database_url,
            announce=lambda name: self._say(f"Applying migration {name}"),
        )
        # An installation with vectors keeps their model, whatever the settings name.
        name = live_models.find_model_name(settings, addresses.database_url)
        self._model = self._prepare_model(settings, name)
        first_key.ensure(addresses.database_url, settings.home)
        values: dict[str, Any] = {
            "demo": self._demo,
            "database_url": addresses.database_url,
            "broker_url": addresses.broker_url,
            "opensearch_url": addresses.opensearch_url,
            "port": settings.port,
            "flower_port": settings.flower_port,
        }
        if self._demo:
            values |= _demo_values(settings)
        self._stack.publish("stack.json", values)
        threading.Thread(target=self._finish, daemon=True).start()
        self._stack.run(procfile.parse_procfile(), self._child_environ(), self._echo)

    def _finish(self) -> None:
        """Wait for health beside the running processes, then say where things are."""
        try:
            self._wait_until_healthy()
        except (LogchordError, CommandError, ServerError, httpx2.TransportError) as exc:
            # What runs goes on running: `status` and `doctor` name what is missing.
            self._say(f"The start is not complete. {exc}")

    def _wait_until_healthy(self) -> None:
        self._stack.wait_for_search_engine()
        if self._model is not None and self._model.wait() != 0:
            self._say(f"The embedding model is not ready. {self._why_no_model()}")
        settings = Settings.load(self._environ)
        step = "Waiting until everything is healthy"
        self._steps.begin(step)
        lacking = health.wait(
            settings, lambda: self._stack.is_running, since=self._begun
        )
        self._steps.end(step)
        if lacking:
            self._say(f"Not healthy yet: {', '.join(lacking)}. See `logchord doctor`.")
        seconds = round(time.time() - self._begun, 1)
        if self._demo:
            welcome.load_sample(settings, self._steps)
        self._steps.finish()
        startup = {"pid": os.getpid(), "seconds": seconds, "lacking": lacking}
        self._stack.publish("startup.json", startup)
        if self._echoes or self._out.as_json:
            welcome.tell_welcome(self._out, settings, seconds, demo=self._demo)

    def _why_no_model(self) -> str:
        """Return the last line of the model's process: what is missing, what to do."""
        written = (self._home / "logs" / "model.log").read_text("utf-8", "replace")
        return (written.strip().splitlines() or ["See `logchord logs model`."])[-1]

    def _given(self, settings: Settings) -> Given:
        engine = _text(settings.opensearch_url)
        if engine is None and not self._may_start_opensearch(settings):
            engine = OFF
        return Given(
            database_url=_text(settings.database_url),
            broker_url=_text(settings.broker_url),
            opensearch_url=engine,
            opensearch_zip=settings.opensearch_zip,
        )

    def _may_start_opensearch(self, settings: Settings) -> bool:
        """Ask, or decide, whether a server without login may run beside others."""
        if settings.allow_shared_host:
            return True
        found = neighbours.others()
        if not found:
            return True
        others = neighbours.describe_neighbours(found)
        warning = (
            f"Others are active on this machine: {others}. OpenSearch "
            "has no login: every user of this machine could read and change its index."
        )
        if sys.stdin.isatty() and sys.stderr.isatty():
            return click.confirm(f"{warning} Start it all the same?", err=True)
        self._say(
            f"{warning} So it is not started (OPENSEARCH_URL=off), and searches run on "
            "Postgres alone. LOGCHORD_ALLOW_SHARED_HOST=true starts it all the same."
        )
        return False

    def _prepare_model(
        self, settings: Settings, name: str
    ) -> subprocess.Popen[str] | None:
        """Make the embedding model, once per cache, in a process of its own."""
        if name.partition(":")[0] in settings.api.providers:
            return None
        arguments = [name, str(settings.cache)]
        return subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", _MODEL_CODE, *arguments],
            env=self._child_environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(settings.home / "logs" / "model.log").open("w"),
            start_new_session=True,
            text=True,
        )

    def _child_environ(self) -> dict[str, str]:
        """Return our environment, with the programs of this installation first."""
        here = str(Path(sys.executable).parent)
        path = self._environ.get("PATH", os.defpath)
        return {**self._environ, "PATH": f"{here}{os.pathsep}{path}"}

    def _say(self, text: str) -> None:
        self._steps.say(text)

    def _echo(self, name: str, line: str) -> None:
        if line.strip() and (self._echoes or name == "runner"):
            self._steps.line(log_lines.pretty(name, line))


def _demo_values(settings: Settings) -> dict[str, Any]:
    """Return the settings that the demo adds; configured sources take precedence."""
    known = {name: source.model_dump() for name, source in settings.sources.items()}
    return {
        "anonymous_loopback": True,
        "facility_timezone": "Europe/Zurich",
        "sources": {**_DEMO_SOURCES, **known},
    }


def _check_port(port: int, what: str, remedy: str) -> None:
    who = listener(port)
    if who is not None:
        raise UsageError(
            f"Port {port}, for {what}, is in use by {who}. Stop that, or {remedy}."
        )


def _text(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None

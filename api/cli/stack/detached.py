"""A stack in the background: started, waited for, and stopped from elsewhere."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import click
import psutil

from api.cli.output import CommandError, Output, UsageError
from api.cli.stack import welcome
from local import stack
from local.place import StackFolders
from shared.settings.settings import Settings

_THIS_PROGRAM = (sys.executable, "-m", "api.cli.main")
_POLL_SECONDS, _STOP_SECONDS = 0.1, 90.0


def start(out: Output, home: Path, environ: Mapping[str, str], *, demo: bool) -> int:
    """Start a stack that outlives us, and return once it is up."""
    pid = stack.running_pid(home)
    if pid is not None:
        message = f"A stack runs in {home} already (process {pid}); see `status`."
        raise UsageError(message)
    StackFolders(home, Settings.load(environ, with_stack=False).cache).make()
    (home / "run" / "startup.json").unlink(missing_ok=True)
    log = home / "logs" / "up.log"
    arguments = [*_THIS_PROGRAM, "--no-color", "up", "--no-echo"]
    arguments += ["--demo"] if demo else []
    # It prints the login of Flower, which is nobody else's to read.
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)) as file:
        child = subprocess.Popen(  # noqa: S603 - our own command line
            arguments,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    seconds = _wait_until_up(out, home, log, child)
    settings = Settings.load(environ)
    welcome.tell_welcome(out, settings, seconds, demo=demo, is_detached=True)
    return 0


def stop(out: Output, settings: Settings) -> int:
    """End the stack of a home and wait for it; processes left behind are ended, too."""
    place = StackFolders(settings.home.absolute(), settings.cache.absolute())
    home = place.home
    pid = stack.running_pid(home)
    if pid is None:
        left = stack.stop_leftovers(place, out.say)
        out.say("Stopped what was left." if left else f"No stack runs in {home}.")
        return 0
    out.say(f"Stopping the stack of {home} (process {pid}) ...")
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while stack.running_pid(home) is not None:
        if time.monotonic() > deadline:
            psutil.Process(pid).kill()
            stack.stop_leftovers(place, out.say)
            message = f"The stack did not stop in {_STOP_SECONDS:.0f} s and was killed."
            raise CommandError(message)
        time.sleep(_POLL_SECONDS)
    out.say("Stopped.")
    return 0


def _wait_until_up(
    out: Output, home: Path, log: Path, child: subprocess.Popen[bytes]
) -> float:
    shown = 0
    while True:
        startup = stack.read_startup(home)
        if startup is not None:
            return float(startup["seconds"])
        code = child.poll()
        if code is not None:
            with log.open("rb") as file:
                file.seek(shown)
                words = file.read().decode("utf-8", "replace").strip()
            if words:
                raise CommandError(words, exit_code=code or 1)
            raise click.exceptions.Exit(code or 1)  # its message was passed on already
        shown = _show_steps(out, log, shown)
        time.sleep(_POLL_SECONDS)


def _show_steps(out: Output, log: Path, shown: int) -> int:
    """Pass on how the start goes, line by line."""
    with log.open("rb") as file:
        file.seek(shown)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    for line in whole.decode("utf-8", "replace").splitlines():
        out.say(line)
    return shown + len(whole)

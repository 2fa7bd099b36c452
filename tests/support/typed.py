"""Commands as they are typed, within this process."""

import io
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from unittest.mock import patch

import pytest

from api.cli.main import main
from tests.support.fixtures.system import System

Run = Callable[..., CompletedProcess[str]]


def ending(*arguments: str) -> int:
    """Run a command and return its exit code."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code


def typed(
    *arguments: str, environ: Mapping[str, str], folder: Path, text: str | bytes = ""
) -> CompletedProcess[str]:
    """Run a command with this environment in this folder; return how it ended.

    A process of its own would first import for a second what is here already.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        # Commands ask for its number, too.
        TemporaryFile("w+b") as file,
        io.TextIOWrapper(file, "utf-8") as given,
        patch.dict(os.environ, environ, clear=True),
        patch.object(sys, "stdin", given),
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        file.write(text.encode() if isinstance(text, str) else text)
        file.seek(0)
        code = ending(*arguments)
    told = [_written(stream) for stream in (out, err)]
    return CompletedProcess(arguments, code, *told)


def typist(system: System, folder: Path, key: str) -> Run:
    """Return who types commands to a system with this key."""
    environ = {
        **system.environment,
        "LOGCHORD_URL": system.url,
        "LOGCHORD_API_KEY": key,
    }

    def run(
        *arguments: str, text: str | bytes = "", **extra: str
    ) -> CompletedProcess[str]:
        return typed(*arguments, environ=environ | extra, folder=folder, text=text)

    return run


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()

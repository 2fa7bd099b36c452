"""`logchord bundle`: one archive that installs where there is no network."""

import os
import signal
from pathlib import Path

import click

from api.cli import output
from api.cli.output import CommandError, UsageError
from local.bundle import write_bundle
from local.place import ServerError
from shared.embedding.models import bge_small
from shared.settings.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def bundle(*, file: Path) -> None:
    """Write all that an installation fetches, and this release, into one archive.

    FILE is a tar. On the other machine, with this kind of processor and this Python:
    unpack it, and go on with `make setup`.
    """
    out = output.current()
    target = file.absolute()
    if target.exists():
        raise UsageError(f"{file} is there already.")
    settings = Settings.load(os.environ, with_stack=False)
    # Hundreds of MB are not left behind by whoever is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    out.say("Gathering packages, servers and the encoder: some hundred MB.")
    try:
        sha256 = write_bundle(target, settings.cache, bge_small.ARTIFACT)
    except ServerError as exc:
        raise CommandError(str(exc)) from exc
    told = {"file": str(target), "bytes": target.stat().st_size, "sha256": sha256}
    if not out.prints_json(told):
        out.data(f"{sha256}  {file}")

"""One file with all that cannot be made again, while entries flow in."""

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from api.cli.backup import archive, configuration_files
from api.cli.backup.dump_database import Snapshot, take_snapshot
from api.cli.output import CommandError
from api.cli.stack.progress import Steps
from shared.enrich.attachments.file_store import FileStore, open_store
from shared.errors import SourceUnreachableError
from shared.settings.settings import Settings
from shared.version import VERSION


@dataclass(frozen=True)
class Backup:
    """A backup that was made."""

    file: str
    bytes: int
    entries: int
    attachments: int
    # Named by the database, and not (any more) in the store as it was put there.
    missing_attachments: int
    configuration: list[str]


def make_backup(
    settings: Settings, url: str, path: Path, steps: Steps, *, force: bool
) -> Backup:
    """Write a backup; there is none under this name unless it is whole."""
    configuration = list(configuration_files.read_files(os.environ, settings))
    with archive.new_archive(path, force=force) as writer, take_snapshot(url) as moment:
        told = moment.describe()
        steps.begin("Dumping the database")
        with closing(moment.dump()) as dumped:
            writer.add(archive.DATABASE, dumped)
        steps.end("Dumping the database")
        # Before the attachments, of which there may be a million to pass by.
        files: list[str] = []
        for role, file, content in configuration:
            name = f"{archive.CONFIGURATION}{len(files) + 1}"
            writer.add(name, [content], role=role, file=str(file))
            files.append(str(file))
        missing = _add_attachments(writer, moment, open_store(settings), steps)
        writer.close({"release": VERSION, **told, "missing_attachments": missing})
        attachments = writer.attachments
    return Backup(
        file=str(path),
        bytes=path.stat().st_size,
        entries=told["entries"],
        attachments=attachments,
        missing_attachments=missing,
        configuration=files,
    )


def _add_attachments(
    writer: archive.ArchiveWriter, moment: Snapshot, store: FileStore, steps: Steps
) -> int:
    """Write every file that the moment names; return how many are not there."""
    step, missing = "Copying the attachments", 0
    steps.begin(step)
    for sha256 in moment.files():
        try:
            with store.open(sha256) as file:
                missing += not writer.add_attachment(sha256, archive.pieces(file))
        except SourceUnreachableError as exc:
            # Purged since, or removed as nobody's, unless all of it is away.
            if not isinstance(exc.__cause__, FileNotFoundError) or not store.is_there():
                message = f"{exc.message} There is no such backup. ({exc.technical})"
                raise CommandError(message) from exc
            missing += 1
    steps.end(step)
    return missing

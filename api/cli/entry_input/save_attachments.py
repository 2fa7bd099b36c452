"""`logchord show --attachments`: the files of an entry, saved beside each other."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from api.cli import api_client, output
from api.cli.output import CommandError, UsageError
from api.cli.render.terminal import plain

_MOST_NAME = 120
_NO_NAMES = frozenset('/\\:*?"<>|')


@dataclass(frozen=True)
class Saved:
    """A file of an entry with its path; or the reason why it was not saved."""

    filename: str
    path: Path | None
    problem: str | None = None

    def told(self) -> dict[str, str | None]:
        """Return the saved file as JSON for a program."""
        path = None if self.path is None else str(self.path)
        return {"filename": self.filename, "path": path, "problem": self.problem}


def save(client: httpx2.Client, entry: Mapping[str, Any], folder: Path) -> list[Saved]:
    """Save the files of an entry into a folder; nothing in it is replaced."""
    listed = api_client.call(
        client, "GET", f"/v1/entries/{entry['entry_id']}/attachments"
    )
    try:
        if listed["items"]:
            folder.mkdir(parents=True, exist_ok=True)
        return [_saved(client, one, folder) for one in listed["items"]]
    except OSError as exc:
        message = f"{folder}: nothing can be saved there ({exc.strerror})."
        raise UsageError(message) from exc


def tell(out: output.Output, files: list[Saved]) -> None:
    """Print where each file is; complain of those that could not be had."""
    for one in files:
        if one.path is not None:
            out.data(f"{'saved':<12}{plain(one.path)}")
        else:
            out.complain(f"{plain(one.filename)}: {plain(one.problem)}")


def _saved(client: httpx2.Client, one: Mapping[str, Any], folder: Path) -> Saved:
    name = str(one["filename"])
    try:
        path = _received(client, one, folder)
    except CommandError as exc:
        if exc.exit_code == output.NOT_ALLOWED:
            raise
        return Saved(name, None, exc.message.partition("\n")[0])
    return Saved(name, path)


def _received(client: httpx2.Client, one: Mapping[str, Any], folder: Path) -> Path:
    """Return where the file is, once it is there whole."""
    read = hashlib.sha256()
    path, file = _opened(folder, str(one["filename"]))
    is_whole = False
    try:
        with file:
            for piece in _pieces(client, f"/v1/attachments/{one['attachment_id']}"):
                read.update(piece)
                file.write(piece)
        is_whole = one["sha256"] in {None, read.hexdigest()}
    finally:
        if not is_whole:
            with suppress(FileNotFoundError):
                path.unlink()
    if not is_whole:
        raise CommandError("What came is not what was attached: its checksum differs.")
    return path


def _pieces(client: httpx2.Client, path: str) -> Iterator[bytes]:
    try:
        with api_client.stream(client, "GET", path) as answer:
            yield from answer.iter_bytes()
    except httpx2.TransportError as exc:
        raise api_client.no_answer(client, exc) from exc


def _opened(folder: Path, filename: str) -> tuple[Path, Any]:
    """Open a new file; a name that is taken gets a number."""
    name = safe_name(filename)
    for number in count(1):
        stem, dot, suffix = name.rpartition(".")
        numbered = f"{stem}-{number}{dot}{suffix}" if stem else f"{name}-{number}"
        path = folder / (name if number == 1 else numbered)
        with suppress(FileExistsError):
            return path, path.open("xb")
    raise AssertionError


def safe_name(filename: str) -> str:
    """Return a name that stays in its folder, whatever a stranger called the file."""
    kept = "".join(
        char if char.isprintable() and char not in _NO_NAMES else "_"
        for char in filename
    )
    kept = kept.strip(" .")
    # The end of it says what it is.
    stem, dot, suffix = kept.rpartition(".")
    if len(kept) > _MOST_NAME and stem:
        kept = f"{stem[: _MOST_NAME - len(suffix) - 1]}{dot}{suffix}"
    while len(kept.encode()) > 2 * _MOST_NAME or len(kept) > _MOST_NAME:
        kept = kept[1:]
    return kept or "file"

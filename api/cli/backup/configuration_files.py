"""The files of a configuration: that of the settings, and those that it names.

They go back to where the settings of today name them, never to where an archive says.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from api.cli.backup import archive
from api.cli.output import CommandError
from local.secrets import write_private
from shared.settings import layers
from shared.settings import setting_names as names
from shared.settings.settings import Settings

Roles = Iterable[tuple[str, Path]]
# Each file, and what became of it.
Placed = list[tuple[str, Path]]

PUT_BACK, LEFT = "put back", "left as it is"

_SETTINGS = "LOGCHORD_CONFIG"
_FILE = "_FILE"
# Passwords of the servers, and the key of the command line.
_OF_HOME = ("secrets.json", "cli_key")


def read_files(
    environ: Mapping[str, str], settings: Settings
) -> Iterator[tuple[str, Path, bytes]]:
    """Yield each file of the configuration that is there: its role, path, content."""
    for role, path in _list_files(environ, settings):
        try:
            yield role, path, path.read_bytes()
        except OSError as exc:
            message = f"{path}, a file of the configuration, cannot be read: "
            raise CommandError(f"{message}{exc.strerror}.") from exc


def _list_files(environ: Mapping[str, str], settings: Settings) -> Roles:
    found = layers.config_path(environ)
    if found is not None:
        yield _SETTINGS, found
    for role, path in (*_named_by(environ), *_named_in(settings), *_of_home(settings)):
        if path.is_file():
            yield role, path


def put_settings_back(
    file: Path, manifest: Mapping[str, Any], environ: Mapping[str, str]
) -> Placed:
    """Write what the settings are read from, unless it is there; tell of each."""
    named = environ.get(_SETTINGS)
    kept = _parts(manifest).get(_SETTINGS)
    roles: list[tuple[str, Path]] = list(_named_by(environ))
    if named:
        roles.append((_SETTINGS, Path(named)))
    elif kept is not None:
        # One that lies here under another name would be read as well.
        here = layers.config_path(environ) or Path(Path(kept["file"]).name)
        roles.append((_SETTINGS, here))
    return _put_back(file, manifest, roles)


def put_files_back(
    file: Path, manifest: Mapping[str, Any], settings: Settings
) -> Placed:
    """Write the files that settings name, unless they are there; tell of each."""
    roles = list(_named_in(settings))
    if settings.database_url is None:
        # Passwords of servers that are not ours to start help nobody.
        roles += _of_home(settings)
    return _put_back(file, manifest, roles)


def _named_by(environ: Mapping[str, str]) -> Roles:
    for variable, text in sorted(environ.items()):
        name = variable.removesuffix(_FILE)
        is_ours = name.startswith(names.PREFIX) or (
            name.lower() in names.BARE or name in names.ENVIRONMENT_ALIASES
        )
        if name != variable and is_ours and text:
            yield variable, Path(text)


def _named_in(settings: Settings) -> Roles:
    if settings.analyser.facility_file is not None:
        yield "analyser.facility_file", settings.analyser.facility_file
    for name, source in sorted(settings.sources.items()):
        secrets = [source.auth.secret, *source.auth.cookies.values()]
        for path in filter(None, [source.ca_file, *secrets]):
            # A secret without a path is the name of a variable.
            if "/" in path:
                yield f"sources.{name}:{path}", Path(path)


def _of_home(settings: Settings) -> Roles:
    for name in _OF_HOME:
        yield f"home/{name}", settings.home / "run" / name


def _put_back(file: Path, manifest: Mapping[str, Any], roles: Roles) -> Placed:
    parts, placed = _parts(manifest), []
    for role, path in roles:
        if role not in parts:
            continue
        if path.exists():
            placed.append((LEFT, path))
            continue
        with archive.open_part(file, parts[role]["name"]) as part:
            content = part.read()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, content)
        except OSError as exc:
            message = f"{path} cannot be written: {exc.strerror}."
            raise CommandError(message) from exc
        placed.append((PUT_BACK, path))
    return placed


def _parts(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {part["role"]: part for part in manifest["parts"] if "role" in part}

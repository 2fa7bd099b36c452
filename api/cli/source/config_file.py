"""A source written into the configuration file, everything else left as it stands."""

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from shared.errors import ConfigurationError
from shared.settings.layers import config_path
from shared.settings.settings import Settings

_SECTION = re.compile(r"^sources[ \t]*:[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
_INLINE = re.compile(r"^sources[ \t]*:[ \t]*[^\s#]", re.MULTILINE)
_INDENTED = re.compile(r"^([ \t]+)(- )?", re.MULTILINE)


def path_of(environ: Mapping[str, str]) -> Path:
    """Return the whole path of the file that is in force, else of what will be it."""
    return (config_path(environ) or Path("logchord.yaml")).absolute()


def with_source(text: str, name: str, source: Mapping[str, Any], kept: str) -> str:
    """Return the file with one source more; comments and order stay.

    `kept` is what a file without sources has stood for until now.
    """
    if _INLINE.search(text):
        message = (
            "`sources:` of the configuration file is written on one line; write each"
            " source on lines of its own first."
        )
        raise ConfigurationError(message, config_key="sources")
    match = _SECTION.search(text)
    if match is None:
        gap = "" if not text or text.endswith("\n\n") else "\n"
        end = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{end}{gap}sources:\n{kept}{_as_map(name, source, '  ')}"
    rest = text[match.end() :].lstrip("\n")
    indented = _INDENTED.match(rest)
    indent = indented[1] if indented else "  "
    is_list = bool(indented and indented[2]) or rest.startswith("- ")
    indent = "" if rest.startswith("- ") else indent
    block = (_as_item if is_list else _as_map)(name, source, indent)
    head = text[: match.end()]
    # Behind those that are there: whoever looks for what is new looks at the end.
    last = _end_of_section(rest)
    before, after = rest[:last], rest[last:]
    end = "" if not before or before.endswith("\n") else "\n"
    return f"{head}\n{before}{end}{block}{after}"


def _end_of_section(rest: str) -> int:
    """Return where the last line of what stands below `sources:` ends."""
    end = at = 0
    for line in rest.splitlines(keepends=True):
        at += len(line)
        if line[0] in " \t" or line.startswith("- "):
            # A comment or an empty line behind it belongs to what follows.
            end = at if line.strip() and not line.strip().startswith("#") else end
        elif line.strip() and not line.startswith("#"):
            break
    return end


def write(path: Path, text: str, environ: Mapping[str, str]) -> Settings:
    """Put the text in the file's place if it can be read as settings, at once."""
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".yaml")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        settings = Settings.load(environ, Path(draft))
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        Path(draft).chmod(mode)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return settings


def _as_map(name: str, source: Mapping[str, Any], indent: str) -> str:
    return _indented(yaml.safe_dump({name: dict(source)}, sort_keys=False), indent)


def _as_item(name: str, source: Mapping[str, Any], indent: str) -> str:
    item = [{"name": name, **source}]
    return _indented(yaml.safe_dump(item, sort_keys=False), indent)


def _indented(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in text.splitlines())

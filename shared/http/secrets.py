"""Secrets of sources, by the names that the settings give them."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import structlog

from shared.errors import ConfigurationError

_MOST_BYTES = 65_536

log = structlog.get_logger()


class Secrets:
    """Reads the secrets of one source; their values are kept nowhere else."""

    def __init__(self, source: str, environ: Mapping[str, str] | None = None) -> None:
        self._source = source
        self._environ = os.environ if environ is None else environ

    def read(self, name: str) -> str:
        """Return the value of a variable, or of a file if the name is a path."""
        value = self._environ.get(name)
        if value is None and ("/" in name or "\\" in name):
            value = self._of_file(Path(name).expanduser())
        if not value:
            raise self._error(
                f"The secret {name!r} is not there: it is neither a variable of the"
                " environment nor the path of a file."
            )
        if not value.isprintable():
            raise self._error(f"The secret {name!r} is more than one line of text.")
        return value

    def _of_file(self, path: Path) -> str:
        try:
            with path.open("rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & stat.S_IROTH:
                    log.warning("secret_readable_by_all", source=self._source)
                raw = file.read(_MOST_BYTES)
            return raw.decode("utf-8").strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as exc:
            raise self._error(f"The secret {str(path)!r} cannot be read.") from exc

    def _error(self, message: str) -> ConfigurationError:
        return ConfigurationError(message, config_key=f"sources.{self._source}")

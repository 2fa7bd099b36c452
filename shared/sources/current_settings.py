"""The settings of a process, with every source as it is by now."""

from typing import LiteralString

from psycopg import Connection

from shared.settings.settings import Settings
from shared.sources import source_state

_MARKS: LiteralString = """
    SELECT source, config_hash FROM source_state ORDER BY source LIMIT 1000"""


class CurrentSettings:
    """Settings that follow what is added and changed while the process runs."""

    def __init__(self, settings: Settings) -> None:
        self._found: tuple[list[tuple[str, str]], Settings] = ([], settings)

    def read(self, conn: Connection) -> Settings:
        """Return the settings; sources are read anew only where one has changed."""
        marks = [(str(name), str(mark)) for name, mark in conn.execute(_MARKS)]
        before, found = self._found
        if marks != before:
            sources = source_state.current_settings(conn, found.sources)
            found = found.model_copy(update={"sources": sources})
            self._found = (marks, found)
        return found

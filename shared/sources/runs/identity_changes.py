"""Settings by which every record of a source would come again, as another entry."""

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg import Connection
from pydantic import ValidationError

from shared.errors import AdapterNotFoundError, ConfigurationError
from shared.postgres.fetch_rows import fetch_value
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, source_state

_MOST_COUNTED = 1000
_BY_CONTENT = "a hash of all that it says"

_HERE: LiteralString = """
    SELECT count(*) FROM (
        SELECT FROM entry e
         WHERE e.tenant = %(tenant)s AND e.source = %(source)s AND e.deleted_at IS NULL
         LIMIT %(most)s) AS here"""


def refusal(
    conn: Connection, name: str, settings: SourceSettings
) -> ConfigurationError | None:
    """Return why new settings must wait for a confirmation; None: they need not.

    They must if they name records by other values than the stored entries have.
    """
    standing = source_state.load_source_state(conn, settings.tenant, name)
    if standing is None:
        return None
    # As it is stored: another release may have had settings that this one has not.
    before = _named_by(standing.adapter, standing.config.get("args") or {})
    after = _named_by(settings.adapter, settings.args)
    if before is None or after is None or before == after or before[0] != after[0]:
        return None
    values = {"tenant": settings.tenant, "source": name, "most": _MOST_COUNTED}
    count = fetch_value(conn, _HERE, values)
    if not count:
        return None
    here = f"{count:,}{' or more' if count == _MOST_COUNTED else ''}"
    args = load_adapter.find_adapter_class(settings.adapter).descriptor.args
    removing = _removing(name, knows_all="complete_snapshot" in args.model_fields)
    message = (
        f"Its records would be named by {_told(after[1])}, and no longer by"
        f" {_told(before[1])}: each would come as a new entry beside the {here} that"
        " are here, and these would stay. The source goes on as it was. Put that back"
        " in the file; or take it over by `logchord source reload --confirm-identity`,"
        f" have all of it read by `logchord source trigger {name} --kind backfill`, and"
        f" remove the old entries by {removing}."
    )
    return ConfigurationError(message, config_key=f"sources.{name}.args")


def _named_by(
    adapter: str, args: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]] | None:
    """Return by whom and what records are named; None where that cannot be told."""
    try:
        descriptor = load_adapter.find_adapter_class(adapter).descriptor
        return descriptor.name, descriptor.args.model_validate(args).names_by()
    except (AdapterNotFoundError, ValidationError):
        # Nothing was, or will be, read by them: whoever looks at them says so.
        return None


def _told(names: tuple[str, ...]) -> str:
    return " and ".join(map(repr, names)) if names else _BY_CONTENT


def _removing(name: str, *, knows_all: bool) -> str:
    one_by_one = f"`logchord purge {name}/ID`, one by one"
    if not knows_all:
        return one_by_one
    return (
        f"{one_by_one}, or where it shows everything by `complete_snapshot: true`"
        f" and `logchord source trigger {name} --kind reconcile --confirm-prune`"
    )

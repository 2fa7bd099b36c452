"""People whom a gateway has logged in: what their groups may do."""

import os
from collections.abc import Sequence
from pathlib import Path

from shared.access.scope import Scope
from shared.errors import AccessError, ConfigurationError
from shared.log import get_logger
from shared.settings.layers import config_path
from shared.settings.sections import PeopleSettings
from shared.settings.settings import Settings

log = get_logger()

# What each file said, and its stamp then.
_known: dict[Path, tuple[tuple[int, ...], PeopleSettings]] = {}


def find_rights(
    people: PeopleSettings, subject: str, groups: Sequence[str], needed: str = "read"
) -> Scope:
    """Return a person's rights, their logbooks by the scope they need, or raise 403."""
    of_groups = [people.groups[one] for one in groups if one in people.groups]
    of_all = [people.default] if people.default is not None else []
    given = of_groups or of_all
    allowed = frozenset(scope for one in given for scope in one.scopes)
    if not allowed:
        message = f"{subject} is in none of the groups that may use this."
        raise AccessError(message, code="scope_missing", details={"needed": "group"})
    # The logbooks of a group are for what this group may do there, and no more.
    books = [one.logbooks for one in given if {needed, "admin"} & {*one.scopes}]
    named = {book for one in books if one is not None for book in one}
    return Scope(
        tenant=people.tenant,
        subject=subject,
        groups=tuple(groups),
        logbooks=None if None in books else tuple(sorted(named)),
        allowed=allowed,
        is_person=True,
    )


def read_people(settings: Settings) -> PeopleSettings:
    """Return this section of the configuration file as it stands now.

    Of a wrong file, as it stood before. Whoever loses rights there loses them at once.
    """
    path = config_path(os.environ)
    if path is None:
        return settings.people
    read, people = _known.get(path, ((), settings.people))
    if (now := _make_stamp(path)) != read:
        try:
            people = Settings.load(os.environ).people
        except ConfigurationError as exc:
            log.warning("people_not_read", reason=exc.message)
        _known[path] = now, people
    return people


def _make_stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size

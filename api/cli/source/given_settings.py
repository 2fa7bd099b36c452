"""Settings of a source as somebody types them behind `source add`."""

import json
import os
import re
from pathlib import Path
from typing import Any

from api.cli.output import UsageError
from shared.adapter_contract.contract import AdapterDescriptor

# A second pair behind the first one.
_MORE = re.compile(r",\s*[a-z][\w.]*=")


def read_map(places: tuple[str, ...]) -> dict[str, str | list[str]]:
    """Return the places of each field, in the order in which they were given."""
    said: dict[str, list[str]] = {}
    for one in places:
        field, mark, place = one.partition("=")
        if not (field and mark and place):
            message = f"{one!r} names no field and place; such as text=Description."
            raise UsageError(message)
        if _MORE.search(place):
            raise UsageError(
                f"{one!r} has several pairs, and each --map takes one: such as"
                " --map text=Description --map entry_time=Opened."
            )
        said.setdefault(field, []).append(place)
    return {field: at[0] if len(at) == 1 else at for field, at in said.items()}


def read_readers(said: tuple[str, ...]) -> dict[str, list[str] | None]:
    """Return the readers of each logbook; None: all who may read the source."""
    found: dict[str, list[str] | None] = {}
    for one in said:
        book, _, group = one.rpartition("=")
        if not (book and group):
            raise UsageError(
                f"{one!r} names no logbook and group; such as RF=rf-group or RF=*."
            )
        if group == "*":
            found[book] = None
        elif (groups := found.setdefault(book, [])) is not None:
            groups.append(group)
    return found


def set_each(source: dict[str, Any], pairs: tuple[str, ...]) -> None:
    """Put values where their dotted names say, over what stands there."""
    for pair in pairs:
        name, mark, text = pair.partition("=")
        *above, last = name.split(".")
        at = source
        for part in above:
            at = at.setdefault(part, {})
            if not isinstance(at, dict):
                break
        if not (mark and all(name.split(".")) and isinstance(at, dict)):
            raise UsageError(
                f"{pair!r} names no setting and value; such as"
                " args.complete_snapshot=true."
            )
        at[last] = _value(text)


def _value(text: str) -> Any:
    """Read a value as JSON where it is JSON, and as plain text elsewhere."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def name_secret(user: str | None, secret: str | None) -> str | None:
    """Return the variable or absolute path that holds the password for any process."""
    if (user is None) != (secret is None):
        raise UsageError(
            "A login is --user, and --secret with the name of a variable or the path"
            " of a file that holds the password: give both."
        )
    return None if secret is None else locate(secret)


def locate(secret: str) -> str:
    """Return a variable, or a file by its absolute path, as any process finds it."""
    path = Path(secret).expanduser()
    is_file = secret not in os.environ and path.is_file()
    return str(path.absolute()) if is_file else secret


def login_settings(
    source: dict[str, Any],
    descriptor: AdapterDescriptor,
    user: str | None,
    secret: str | None,
) -> dict[str, Any]:
    """Return the settings of a login: the adapter's own, or those of HTTP."""
    if {"user", "password"} <= descriptor.args.model_fields.keys():
        return {"args": {**source.get("args", {}), "user": user, "password": secret}}
    return {"auth": {"kind": "basic", "user": user, "secret": secret}}

"""A login as somebody types it, and as the settings of a source hold it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from api.cli.output import UsageError
from shared.adapter_contract.contract import AdapterDescriptor


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


def settings_of(
    source: dict[str, Any],
    descriptor: AdapterDescriptor,
    user: str | None,
    secret: str | None,
) -> dict[str, Any]:
    """Return the settings of a login: the adapter's own, or those of HTTP."""
    if {"user", "password"} <= descriptor.args.model_fields.keys():
        return {"args": {**source.get("args", {}), "user": user, "password": secret}}
    return {"auth": {"kind": "basic", "user": user, "secret": secret}}

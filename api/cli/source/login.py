"""A login as somebody types it, and as the settings of a source hold it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from api.cli import output
from api.cli.output import CommandError
from shared.adapter_contract.contract import AdapterDescriptor


def name_secret(user: str | None, secret: str | None) -> str | None:
    """Return what holds the password, by a name that every process finds it by."""
    if (user is None) != (secret is None):
        message = (
            "A login is --user, and --secret with the name of a variable or the path"
            " of a file that holds the password: give both."
        )
        raise CommandError(message, exit_code=output.USAGE)
    if secret is None or secret in os.environ:
        return secret
    path = Path(secret).expanduser()
    return str(path.absolute()) if path.is_file() else secret


def settings_of(
    source: dict[str, Any],
    descriptor: AdapterDescriptor,
    user: str | None,
    secret: str | None,
) -> dict[str, Any]:
    """Return a login where its adapter looks for it: its own form, or HTTP's."""
    if {"user", "password"} <= descriptor.args.model_fields.keys():
        return {"args": {**source.get("args", {}), "user": user, "password": secret}}
    return {"auth": {"kind": "basic", "user": user, "secret": secret}}

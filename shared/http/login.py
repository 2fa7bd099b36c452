"""How a source is told who asks."""

from __future__ import annotations

import base64

from shared.errors import ConfigurationError
from shared.http.secrets import Secrets
from shared.settings.source_sections import SourceAuth


def headers(auth: SourceAuth, secrets: Secrets) -> dict[str, str]:
    """Return the headers of a login; a signature is the adapter's own affair."""
    match auth.kind:
        case "basic":
            pair = f"{_named(auth.user, 'user')}:{_secret(auth, secrets)}"
            encoded = base64.b64encode(pair.encode()).decode("ascii")
            return {"Authorization": f"Basic {encoded}"}
        case "bearer":
            return {"Authorization": f"Bearer {_secret(auth, secrets)}"}
        case "header":
            return {_named(auth.header, "header"): _secret(auth, secrets)}
        case "cookie":
            pairs = sorted(auth.cookies.items())
            values = [f"{name}={secrets.read(secret)}" for name, secret in pairs]
            return {"Cookie": "; ".join(values)}
        case _:
            return {}


def _secret(auth: SourceAuth, secrets: Secrets) -> str:
    return secrets.read(_named(auth.secret, "secret"))


def _named(value: str | None, field: str) -> str:
    if not value:
        raise ConfigurationError(
            f"This kind of `auth` needs `{field}`.", config_key=f"auth.{field}"
        )
    return value

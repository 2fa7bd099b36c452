"""What only this stack may know: made once, in files that nobody else can read."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path

_FLOWER_USER = "operator"


@dataclass(frozen=True)
class Secrets:
    """Passwords of the servers, and the login of Flower."""

    postgres: str
    valkey: str
    flower_login: str


def of_home(home: Path) -> Secrets:
    """Return the secrets of a home; missing ones are made and stored."""
    path = home / "run" / "secrets.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = {}
    fresh = {
        "postgres": secrets.token_urlsafe(24),
        "valkey": secrets.token_urlsafe(24),
        "flower_login": f"{_FLOWER_USER}:{secrets.token_urlsafe(12)}",
    }
    known = {field.name for field in fields(Secrets)}
    kept = {name: text for name, text in found.items() if name in known}
    result = Secrets(**{**fresh, **kept})
    if asdict(result) != found:
        write_private(path, json.dumps(asdict(result), indent=1))
    return result


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file by one that only its owner may read, at no moment otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)

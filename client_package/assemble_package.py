"""Put the client's wheel together from the server's source: one source, two names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "logchord_client"
_ROOT = Path(__file__).resolve().parent.parent
_SHARED = ("errors", "error_codes", "redact")
_NAMES = re.compile(rf"\bapi\.client\b|\bshared(?=\.(?:{'|'.join(_SHARED)})\b)")


class AssemblePackage(BuildHookInterface):  # type: ignore[type-arg]
    """Copies the client and the errors that it raises below one name of its own."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package beside the build, and have the wheel take it."""
        del version
        source = _ROOT / "api" / "client"
        made = Path(self.directory).resolve() / PACKAGE
        files = {path.relative_to(source): path for path in source.rglob("*.py")}
        files |= {
            Path(f"{name}.py"): _ROOT / "shared" / f"{name}.py" for name in _SHARED
        }
        for name, path in files.items():
            target = made / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_NAMES.sub(PACKAGE, path.read_text("utf-8")), "utf-8")
            build_data["force_include"][str(target)] = f"{PACKAGE}/{name}"
        typed = made / "py.typed"
        typed.write_text("", "utf-8")
        build_data["force_include"][str(typed)] = f"{PACKAGE}/py.typed"

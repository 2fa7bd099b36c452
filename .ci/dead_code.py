"""Name what nothing uses, tests included, in the code that is delivered."""

import ast
import sys
import tomllib
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parent.parent
DELIVERED = ("shared", "workers", "api", "local")
# A library, whose callers are other people's programs.
_FOR_OTHERS = ("api", "client")
USERS = (*DELIVERED, "bench", "tests", ".ci")
CONFIDENCE = 60

# Who registers a function calls it.
DECORATORS = [
    "@*.command", "@*.group", "@*.callback",
    "@*.get", "@*.post", "@*.put", "@*.patch", "@*.delete", "@*.head", "@*.api_route",
    "@*.middleware", "@*.exception_handler", "@*.websocket",
    "@*.connect", "@atexit.register", "@task", "@task(*", "@*.task",
    "@field_validator", "@model_validator", "@field_serializer", "@computed_field",
    "@fault_point*", "@pytest.fixture*",
]  # fmt: skip

# Frameworks call or read these by name.
NAMES = [
    "model_config",
    # named in strings: uvicorn's factory, celery's consumer, entry points
    "create_app", "RefusingConsumer", "get_tool_descriptor",
    "get_pipeline_descriptor",
    # as orchestrators of the reference call what we call otherwise
    "*_ariel_*",
    # what __exit__ is given
    "trace", "exc_tb",
    # pytest
    "pytest_*",
    # click
    "list_commands", "get_command", "format_commands", "exit_code",
    # celery and kombu
    "on_*", "worker_*", "task_*", "autoretry_for", "ignore_result", "_brpop_read",
    "add_pending_result", "remove_pending_result",
    # http.server, logging, threading
    "do_*", "pytest_*", "log_message", "emit", "daemon", "daemon_threads",
    # onnxruntime's options
    "*_op_num_threads", "log_severity_level",
]  # fmt: skip


def main() -> int:
    """Print what nothing uses and return 1, or how much was looked at and 0."""
    names = [*NAMES, *_entry_points()]
    search = Vulture(ignore_names=names, ignore_decorators=DECORATORS)
    search.scavenge([str(ROOT / name) for name in USERS if (ROOT / name).exists()])
    fields: dict[Path, set[int]] = {}
    found = []
    for item in search.get_unused_code(min_confidence=CONFIDENCE):
        path = item.filename.relative_to(ROOT)
        if path.parts[0] not in DELIVERED or path.parts[:2] == _FOR_OTHERS:
            continue
        known = fields.setdefault(path, _fields_of(item.filename))
        # Fields are read as JSON, rows or settings; attributes are set for others.
        if item.typ == "attribute" or item.first_lineno in known:
            continue
        found.append(f"{path}:{item.first_lineno}: unused {item.typ} {item.name}")
    for line in sorted(found):
        print(line)
    print(f"{len(found)} unused in {', '.join(DELIVERED)}")
    return 1 if found else 0


def _entry_points() -> list[str]:
    """Return what is loaded by the name that pyproject.toml gives it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["project"].get("entry-points", {}).values()
    return [point.rpartition(":")[2] for group in groups for point in group.values()]


def _fields_of(path: Path) -> set[int]:
    """Return the lines on which classes of a file declare their fields."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        statement.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign | ast.Assign)
    }


if __name__ == "__main__":
    sys.exit(main())

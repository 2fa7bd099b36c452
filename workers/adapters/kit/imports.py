"""What the module of an adapter imports, and what of it it may not."""

import ast
import importlib.util
from pathlib import Path

OURS = ("shared", "workers", "api", "local")
ALLOWED = (
    *("shared.adapter_contract", "shared.text", "shared.times", "shared.errors"),
    "shared.entry_fields",
)
# Ours share code with each other, in folders; an adapter of others, with its package.
BUILT_IN = "workers.adapters"


def forbidden(module: str) -> list[str]:
    """Return each import, also of the neighbours it shares, that leaves its bounds."""
    found: list[str] = []
    waiting, seen = [module], {module}
    neighbours = package(module)
    while waiting:
        name = waiting.pop()
        for wanted in _imports(name):
            if _is_below(wanted, neighbours) and not _is_below(
                wanted, f"{neighbours}.kit"
            ):
                inner = _as_module(wanted)
                if inner is not None and inner not in seen | {neighbours}:
                    seen.add(inner)
                    waiting.append(inner)
            elif wanted.partition(".")[0] in OURS and not any(
                _is_below(wanted, one) for one in ALLOWED
            ):
                found.append(f"{name} imports {wanted}")
    return sorted(found)


def package(module: str) -> str:
    """Return the package whose modules an adapter may share."""
    return BUILT_IN if _is_below(module, BUILT_IN) else module.rpartition(".")[0]


def _imports(module: str) -> list[str]:
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    wanted: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            wanted += [f"{base}.{one.name}" for one in node.names]
    return wanted


def _as_module(wanted: str) -> str | None:
    """Return the module that an import comes from."""
    while wanted:
        try:
            if importlib.util.find_spec(wanted) is not None:
                return wanted
        except ModuleNotFoundError:
            # A name inside a module, asked for as if it were one.
            pass
        wanted = wanted.rpartition(".")[0]
    return None


def _is_below(name: str, above: str) -> bool:
    return bool(above) and (name == above or name.startswith(f"{above}."))

"""Every route of the API can be asked by the client."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from api.app import create_app
from shared.settings.settings import Settings

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "api" / "client" / "asynchronous"
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


def asked() -> set[str]:
    """Return the routes that functions of the client name, parameters left open."""
    found = set()
    for path in SOURCE.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.AsyncFunctionDef):
                found |= _routes(function)
    return found


def _routes(function: ast.AsyncFunctionDef) -> set[str]:
    texts = [text for node in ast.walk(function) if (text := _text(node))]
    methods = [text for text in texts if text in METHODS] or ["GET"]
    paths = [text for text in texts if text.startswith("/") and len(text) > 1]
    return {f"{method} {path}" for method in methods for path in paths}


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                part.value if isinstance(part, ast.Constant) else "{}" for part in parts
            )
        case _:
            return ""


def test_the_client_reaches_every_route():
    paths = create_app(Settings()).openapi()["paths"]
    offered = {
        f"{method.upper()} {re.sub(r'{[^}]+}', '{}', path)}"
        for path, operations in paths.items()
        # The same routes in camel case, for callers of another system.
        if not path.startswith("/v1/advisory-ai/search/")
        for method in operations
    }
    missing = sorted(offered - asked())
    assert missing == [], "add to api/client/asynchronous/, then `make docs`"

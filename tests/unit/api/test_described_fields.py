"""What stands below a field of a body is its description, and not a lost word."""

import ast
import importlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOLD = sorted(
    path for path in (ROOT / "api").rglob("*.py") if "client" not in path.parts
)


def words_below(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each class and field that a text stands below."""
    for kind in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(kind, ast.ClassDef):
            for field, text in pairwise(kind.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    yield kind.name, ast.unparse(field.target)


@pytest.mark.parametrize(
    ("path", "kind", "field"),
    [(path, *one) for path in TOLD for one in words_below(path)],
    ids=lambda one: one.stem if isinstance(one, Path) else one,
)
def test_a_text_below_a_field_describes_it(path: Path, kind: str, field: str):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    model = getattr(importlib.import_module(module), kind)
    assert model.model_fields[field].description

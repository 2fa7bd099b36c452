"""Every regular expression of the code: none can take a text apart in many ways."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

# What Python reads expressions with; it has no types and no public name.
code: Any = importlib.import_module("re._constants")
expressions: Any = importlib.import_module("re._parser")
compiler: Any = importlib.import_module("re._compiler")

ROOT = Path(__file__).parents[3]
ROOMS = ("shared", "workers", "api", "local")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
# They are a process: importing them makes its Celery application.
PROCESSES = {"workers.app", "workers.runtime.monitor"}
REPEATS = {code.MAX_REPEAT, code.MIN_REPEAT}
CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split"}
CALLS |= {"findall", "finditer"}


def repeated_twice(parsed: Any, *, inside: bool = False) -> bool:
    """Tell whether a repeat without an end repeats another one that begins it.

    `(a+)+` and `(a*b?)*` match a text in more ways than can be tried. `(?:,a+)*` does
    in one: a sign that it repeats nowhere begins each turn. What gives nothing back
    does no harm.
    """
    for place, (kind, value) in enumerate(parsed):
        if kind in REPEATS:
            _, most, below = value
            endless = most == code.MAXREPEAT
            if endless and inside and not _begins_anew(parsed, place, below):
                return True
            if repeated_twice(below, inside=inside or endless):
                return True
        elif any(repeated_twice(one, inside=inside) for one in _below(kind, value)):
            return True
    return False


def _begins_anew(parsed: Any, place: int, below: Any) -> bool:
    kind, value = parsed[0]
    if place == 0 or kind is not code.LITERAL:
        return False
    return compiler.compile(below).match(chr(value)) is None


def _below(kind: Any, value: Any) -> Iterator[Any]:
    if kind is code.SUBPATTERN:
        yield value[3]
    elif kind is code.BRANCH:
        yield from value[1]
    elif kind in {code.ASSERT, code.ASSERT_NOT}:
        yield value[1]
    elif kind is code.GROUPREF_EXISTS:
        yield from (one for one in value[1:] if one)


def compiled() -> Iterator[tuple[str, str, int]]:
    """Every expression that a module keeps: where, its text and its flags."""
    for file in FILES:
        parts = file.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if name not in PROCESSES:
            importlib.import_module(name)
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] in ROOMS:
            for variable, value in sorted(vars(module).items()):
                for one in _patterns(value):
                    yield f"{name}.{variable}", one.pattern, one.flags


def _patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _patterns(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _patterns(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _patterns(getattr(value, field.name, None))


def written() -> Iterator[tuple[str, str, int]]:
    """Every expression that stands in a call as it is."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=name),
                    args=[ast.Constant(value=str(text)), *_],
                ) if name in CALLS:
                    flags = re.VERBOSE if "VERBOSE" in ast.unparse(node) else 0
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", text, flags


@pytest.mark.requirement("B19")
def test_no_expression_repeats_what_it_repeats_already() -> None:
    found = [*compiled(), *written()]
    assert len(found) > 300
    nested = {
        where: text
        for where, text, flags in found
        if repeated_twice(expressions.parse(text, flags))
    }
    assert nested == {}


@pytest.mark.parametrize(
    "text",
    [
        *(r"(a+)+", r"(?:a*b?)*!", r"(?:(?:x|a+)y?)*", r"(?=(\w+)*)", r"(\d+,?)+"),
        *(r"(?:[a-z]+\s*)+", r"(?:a{2,})*?", r"((a)?b*)+", r"(?:a\w+)*"),
    ],
)
def test_an_expression_that_can_be_read_in_many_ways_is_seen(text: str) -> None:
    assert repeated_twice(expressions.parse(text))


@pytest.mark.parametrize(
    "text", [r"\d+(?:\.\d+)*", r"(?:\w++)+", r"(?:a{2,5})*", r"a+b*", r"(?:,\s?\d+)*"]
)
def test_an_expression_with_a_sign_at_each_turn_is_let_be(text: str) -> None:
    assert not repeated_twice(expressions.parse(text))

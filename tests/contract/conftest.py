"""Every adapter of ours, each over the stub of its own name."""

import importlib
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from types import ModuleType
from typing import Any

import psycopg
import pytest
from psycopg import sql

from local.server import Server
from tests.contract.plain_io import PlainIO
from tests.support.fixtures.servers import create_database, drop_database, of_database
from workers.adapters.kit.stub import Stub
from workers.adapters.kit.subject import Subject, registered

STUBS = "tests.contract.stubs"
# By its methods a class is known for a stub.
VERBS = [name for name in vars(Stub) if not name.startswith("_")]


def pytest_logchord_subjects(config: pytest.Config) -> list[Subject]:
    """Name every registered adapter that has a module of stubs."""
    return list(_subjects())


@cache
def _subjects() -> tuple[Subject, ...]:
    found: list[Subject] = []
    for name, one in registered().items():
        if one.distribution != "logchord":
            continue
        try:
            module = importlib.import_module(f"{STUBS}.{name}")
        except ModuleNotFoundError as exc:
            if exc.name != f"{STUBS}.{name}":
                raise
            continue
        found += _of_module(name, module)
    return tuple(found)


def _of_module(name: str, module: ModuleType) -> Iterator[Subject]:
    """Yield what a module of stubs is for: its one stub, and variants that it names."""
    wall_time = getattr(module, "WALL_TIME", None)
    yield Subject(name, _maker(module), wall_time=wall_time)
    variants: dict[str, tuple[Callable[..., Stub], frozenset[str] | None]]
    variants = getattr(module, "VARIANTS", {})
    stands_on = getattr(module, "STANDS_ON", {})
    for variant, (make, rows) in variants.items():
        ground = stands_on.get(variant)
        yield Subject(name, make, variant, rows, wall_time, ground)


def _maker(module: ModuleType) -> Callable[[], Stub]:
    if hasattr(module, "make_stub"):
        return module.make_stub
    stubs = [
        one
        for one in vars(module).values()
        if isinstance(one, type)
        and one.__module__ == module.__name__
        and all(verb in _has(one) for verb in VERBS if verb not in _TAKEN_OVER)
    ]
    assert len(stubs) == 1, (
        f"{module.__name__} has {len(stubs)} stubs; name `make_stub`"
    )
    return stubs[0]


# A stub may hand these on to the server that it stands on.
_TAKEN_OVER = frozenset({"fault", "requests", "close"})


def _has(kind: type) -> set[str]:
    return {name for one in kind.__mro__ for name in vars(one)}


@pytest.fixture
def io() -> Iterator[PlainIO]:
    with PlainIO() as plain:
        yield plain


@pytest.fixture
def make_stub(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes stubs, of the class that the file calls `STUB` unless it names another."""
    with ExitStack() as ends:

        def make(*options: Any, kind: type | None = None, **named: Any) -> Any:
            made = (kind or request.module.STUB)(*options, **named)
            return ends.enter_context(closing(made))

        yield make


@pytest.fixture
def stub(make_stub: Callable[..., Any]) -> Any:
    return make_stub()


@pytest.fixture(scope="session")
def foreign_database(postgres: Server) -> Iterator[str]:
    """A database of other people, in which each stub has a schema of its own."""
    name = f"foreign_{secrets.token_hex(6)}"
    create_database(postgres.url, name)
    yield of_database(postgres.url, name)
    drop_database(postgres.url, name)


@pytest.fixture(scope="session")
def kit_database(postgres: Server, template: str) -> Iterator[str]:
    """The kit's database in the server of this run, copied from its template."""
    name = f"kit_{secrets.token_hex(6)}"
    create_database(postgres.url, name, template)
    # Nobody's data: who dies here is a thread, and the server outlives it.
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        database = sql.Identifier(name)
        off = sql.SQL("ALTER DATABASE {} SET synchronous_commit = off")
        admin.execute(off.format(database))
    yield of_database(postgres.url, name)
    drop_database(postgres.url, name)

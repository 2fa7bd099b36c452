"""The conformance kit as a plug-in of pytest: who is examined, on what, and how long.

A conftest names its adapters by the hook `pytest_logchord_subjects`; a test file
imports everything from `workers.adapters.kit.suite`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from workers.adapters.kit import hooks

if TYPE_CHECKING:
    from shared.postgres.pool import Pool
    from workers.adapters.kit.keeping import Keeping
    from workers.adapters.kit.reading import KitReading
    from workers.adapters.kit.subject import Subject

_ROOM = __name__.rpartition(".")[0]
pytest.register_assert_rewrite(
    f"{_ROOM}.suite",
    f"{_ROOM}.reading",
    f"{_ROOM}.keeping",
    f"{_ROOM}.stored",
    *(
        f"{_ROOM}.checks.{path.stem}"
        for path in (Path(__file__).parent / "checks").glob("[a-z]*.py")
    ),
)

SERVER_VARIABLE = "LOGCHORD_TEST_DATABASE_URL"
# Said instead of an address: the server of the stack that runs in this home.
STACK = "stack"
PAGE = Path("docs") / "reference" / "adapters.md"
_ROW = pytest.StashKey[str]()
_SLOWEST = 5


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest name its subjects."""
    pluginmanager.add_hookspecs(hooks)


def pytest_configure(config: pytest.Config) -> None:
    """Know the mark that says which row a test is about."""
    config.addinivalue_line("markers", "requirement(*ids): the rows that a test proves")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Examine by each row whom it applies to, and report the others as `n/a`."""
    if "kit_subject" in metafunc.fixturenames:
        row = _row_of(metafunc.definition)
        chosen = [
            one for one in _subjects(metafunc.definition) if row and _applies(one, row)
        ]
        ids = [one.name for one in chosen]
        metafunc.parametrize("kit_subject", chosen, ids=ids, indirect=True)
    if "kit_check" in metafunc.fixturenames:
        from workers.adapters.kit.checks.all_checks import CHECKS

        pairs = [
            pytest.param((check, one), id=f"{check.row}-{check.name}-{one.name}")
            for check in CHECKS
            for one in _subjects(metafunc.definition)
            if _applies(one, check.row)
        ]
        metafunc.parametrize("kit_check", pairs, indirect=True)
    if "kit_absence" in metafunc.fixturenames:
        from workers.adapters.kit import matrix

        absent = [
            pytest.param((row, one), id=f"{row}-{one.name}")
            for row in matrix.ROWS
            for one in _subjects(metafunc.definition)
            if one.rows is None and not _applies(one, row)
        ]
        metafunc.parametrize("kit_absence", absent)


@pytest.fixture
def kit_subjects(request: pytest.FixtureRequest) -> list[Subject]:
    """Everybody whom the conftests beside the test have named."""
    return _subjects(request.node)


@pytest.fixture
def kit_subject(request: pytest.FixtureRequest) -> Subject:
    """Who is examined by this test."""
    return _on_its_ground(request.param, request)


@pytest.fixture
def kit_reading(kit_subject: Subject) -> Iterator[KitReading]:
    """The subject's adapter over a stub of its own."""
    from workers.adapters.kit.reading import reading

    with reading(kit_subject) as one:
        yield one


@pytest.fixture(scope="session")
def kit_server() -> str:
    """The address of a Postgres with pgvector in which databases may be made."""
    url = os.environ.get(SERVER_VARIABLE)
    if not url:
        pytest.skip(
            f"{SERVER_VARIABLE} names no Postgres to keep entries in; `{STACK}` is that"
            " of `logchord up`"
        )
    return _of_the_stack() if url == STACK else url


@pytest.fixture(scope="session")
def kit_database(kit_server: str) -> Iterator[str]:
    """The address of a migrated database for this run, dropped behind it."""
    from workers.adapters.kit.database import temporary

    with temporary(kit_server) as url:
        yield url


@pytest.fixture(scope="session")
def kit_pool(kit_database: str) -> Iterator[Pool]:
    """Connections to the kit's database; its sources have names of their own in it."""
    from shared.postgres.pool import make_pool

    pool = make_pool(kit_database, application="kit", size=4)
    yield pool
    pool.close()


@pytest.fixture
def kit_keeping(kit_subject: Subject, kit_pool: Pool) -> Iterator[Keeping]:
    """The subject's adapter over a stub, with a store and the runtime between them."""
    from workers.adapters.kit.keeping import keeping

    with keeping(kit_subject, kit_pool) as one:
        yield one


@pytest.fixture
def kit_check(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """One check of one subject, to be called."""
    from workers.adapters.kit.keeping import keeping
    from workers.adapters.kit.reading import reading

    check, subject = request.param
    subject = _on_its_ground(subject, request)
    if check.on == "reading":
        with reading(subject) as one:
            yield partial(check.run, one)
        return
    with keeping(subject, request.getfixturevalue("kit_pool")) as kept:
        yield partial(check.run, kept)


@pytest.fixture
def kit_page(request: pytest.FixtureRequest) -> dict[str, dict[str, str]] | None:
    """Return the table of the reference page; None if the root has no such page."""
    from workers.adapters.kit import matrix

    page = request.config.rootpath / PAGE
    return matrix.parse_page(page.read_text("utf-8")) if page.is_file() else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember which row a test of the kit is about."""
    row = _row_of(item)
    params = getattr(getattr(item, "callspec", None), "params", {})
    if "kit_check" in params:
        row = params["kit_check"][0].row
    if row and {"kit_subject", "kit_check"} & set(params):
        item.stash[_ROW] = row
        item.user_properties.append(("conformance", row))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the kit has examined, and which rows took longest."""
    seconds: dict[str, float] = defaultdict(float)
    tests: set[str] = set()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue
            for name, row in report.user_properties:
                if name == "conformance":
                    seconds[str(row)] += report.duration
                    tests.add(report.nodeid)
    if not seconds:
        return
    slowest = sorted(seconds.items(), key=lambda one: -one[1])[:_SLOWEST]
    terminalreporter.write_line(
        f"conformance kit: {len(tests)} checks in {sum(seconds.values()):.1f} s, most"
        f" of it for {', '.join(f'{row} {taken:.1f} s' for row, taken in slowest)}"
    )


def _subjects(node: pytest.Item) -> list[Subject]:
    found = node.ihook.pytest_logchord_subjects(config=node.config)
    return [one for several in found for one in several or ()]


def _of_the_stack() -> str:
    from shared.settings.settings import Settings

    url = Settings.load(os.environ).database_url
    if url is None:
        pytest.fail(
            f"{SERVER_VARIABLE} is `{STACK}`, and no stack runs in LOGCHORD_HOME:"
            " start it with `logchord up`."
        )
    return url.get_secret_value()


def _on_its_ground(subject: Subject, request: pytest.FixtureRequest) -> Subject:
    """Return the subject with whatever its stub stands on."""
    if subject.stands_on is None:
        return subject
    ground = request.getfixturevalue(subject.stands_on)
    return replace(subject, make_stub=partial(subject.make_stub, ground))


def _row_of(node: pytest.Item | pytest.Function) -> str | None:
    for mark in node.iter_markers("requirement"):
        for name in mark.args:
            if str(name).startswith("ADP"):
                return str(name)
    return None


def _applies(subject: Subject, row: str) -> bool:
    from workers.adapters.kit import matrix
    from workers.adapters.kit.subject import registered

    if subject.rows is not None:
        return row in subject.rows
    one = registered().get(subject.adapter)
    if one is None or one.kind is None:
        # What cannot be loaded fails once, by its descriptor.
        return row == "ADP1"
    return matrix.not_applicable(row, one.descriptor) is None

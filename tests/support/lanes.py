"""Files of tests run side by side in four lanes; some need the machine for themselves.

A lane is a fork of the process that has collected the tests, with servers of its own
but for OpenSearch, which all lanes share. It takes file after file out of one queue,
and tells what came of each test. Each test holds a lock while it runs: with all others,
or by itself, as what is marked `alone` does, and every fault experiment that is not
marked `patient`.
"""

import fcntl
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from _pytest.capture import CaptureManager, FDCapture
from _pytest.junitxml import xml_key

from tests.support.fixtures.servers import opensearch_of_all
from tests.support.process_parent import part_from_siblings

TESTS = Path(__file__).parents[1]
FAULTS = TESTS / "faults"
# Few long files before many short ones: no lane works on one when the others are done.
# But those of browsers leave a loop running, beside which `asyncio.run` makes none.
LAYERS = ("unit", "contract", "acceptance", "integration", "web", "faults")
# One process serves all files of these folders: they go to one lane, as if one file.
TOGETHER = (TESTS / "integration" / "mcp",)
# A number of this many bytes stands for the tests that a lane takes at once.
_ORDER_BYTES = 4
# Names the folder of this run's locks to its lanes.
_LOCKS = pytest.StashKey[Path]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the layers one after the other, each in its random order.

    Unit tests block sockets, which would cut what a server's fixture has opened.
    Patient experiments are spread over what comes behind them: seldom more than one
    works at a time. Those that may take longest are first, for no lane is to work on
    one when the others are done. Files with a test that goes alone are behind the unit
    tests, or last: nobody else may begin while it waits for the longest of the others.
    """

    def layer(item: pytest.Item) -> str:
        return item.path.relative_to(TESTS).parts[0]

    items.sort(key=lambda item: LAYERS.index(layer(item)))
    places: dict[Path, float] = {}
    behind = [item for item in items if layer(item) != "unit"]
    lonely = {_unit(item) for item in behind if goes_alone(item)}
    ordered = dict.fromkeys(_unit(item) for item in behind if _unit(item) not in lonely)
    limits = {_unit(item): _limit(item) for item in behind}
    experiments = sorted(
        (path for path in ordered if FAULTS in path.parents),
        key=lambda path: -limits[path],
    )
    others = [path for path in ordered if FAULTS not in path.parents]
    # With nothing else to run, one after the other.
    apart = len(others) / (len(experiments) + 1) or 1.0
    places |= {path: place for place, path in enumerate(others)}
    places |= {path: place * apart for place, path in enumerate(experiments)}
    places |= {path: len(ordered) for path in lonely if FAULTS in path.parents}
    items.sort(key=lambda item: places.get(_unit(item), -1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Have the tests run in as many lanes as TEST_LANES says; without it, in none."""
    # Not for the runs that tests start.
    lanes = int(os.environ.pop("TEST_LANES", "") or 0)
    if not lanes or session.testsfailed or session.config.option.collectonly:
        return None
    with (
        tempfile.TemporaryDirectory(prefix="logchord-lanes-") as locks,
        opensearch_of_all(session),
    ):
        session.config.stash[_LOCKS] = Path(locks)
        _run_lanes(session, lanes)
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Wait for this test's turn; the waiting is no part of its time."""
    locks = item.config.stash.get(_LOCKS, None)
    if locks is None:
        return (yield)
    with _turn(locks, fcntl.LOCK_EX if goes_alone(item) else fcntl.LOCK_SH):
        return (yield)


def goes_alone(item: pytest.Item) -> bool:
    """Tell whether no other test may run beside this one."""
    if item.get_closest_marker("alone") is not None:
        return True
    return FAULTS in item.path.parents and item.get_closest_marker("patient") is None


@contextmanager
def _turn(locks: Path, mode: int) -> Iterator[None]:
    with (locks / "gate").open("w") as gate, (locks / "room").open("w") as room:
        # Who waits for the room holds the gate: nobody overtakes.
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(room, mode)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


def _unit(item: pytest.Item) -> Path:
    """Return the file of a test, or the folder whose files stay together."""
    return next((one for one in TOGETHER if one in item.path.parents), item.path)


def _limit(item: pytest.Item) -> float:
    """Return the seconds that a test may take, if it names them itself."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker is not None else 0.0


def _run_lanes(session: pytest.Session, count: int) -> None:
    """Fork the lanes, and report what they tell until the last has ended."""
    units = [list(tests) for _, tests in groupby(session.items, _unit)]
    queue, filled = os.pipe()
    # Some hundred numbers: a pipe holds them all.
    orders = [number.to_bytes(_ORDER_BYTES, "big") for number in range(len(units))]
    os.write(filled, b"".join(orders))
    os.close(filled)
    # Lanes take turns: a file's name before each dot would be the wrong one.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    reporter.showfspath = False
    # Made here, by one process: each lane has a folder in it.
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    lanes: dict[Connection, int] = {}
    try:
        for number in range(count):
            hears, tells = Pipe(duplex=False)
            if (pid := os.fork()) == 0:
                for other in (*lanes, hears):
                    other.close()
                _be_lane(session, number, _taken(queue, units), tells)
            tells.close()
            lanes[hears] = pid
        _report(session, lanes)
    finally:
        for pid in lanes.values():
            os.kill(pid, signal.SIGTERM)
        ended = [
            os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in lanes.values()
        ]
        os.close(queue)
    if any(ended):
        raise session.Interrupted(f"lanes ended with {ended}, and left tests undone")


def _taken(queue: int, units: Sequence[list[pytest.Item]]) -> Iterator[pytest.Item]:
    """Yield the tests that this lane takes out of the queue."""
    while order := os.read(queue, _ORDER_BYTES):
        yield from units[int.from_bytes(order, "big")]


def _report(session: pytest.Session, lanes: dict[Connection, int]) -> None:
    """Report tests as they end, and one in the midst of which its lane has ended."""
    hook = session.config.hook
    running: dict[Connection, tuple[str, tuple[str, int | None, str]]] = {}
    open_lanes = [*lanes]
    while open_lanes:
        for lane in wait(open_lanes):
            assert isinstance(lane, Connection)
            try:
                name, told = lane.recv()
            except EOFError:
                open_lanes.remove(lane)
                if lane in running:
                    _report_end(session, *running[lane])
                continue
            if name == "report":
                report = hook.pytest_report_from_serializable(
                    config=session.config, data=told
                )
                hook.pytest_runtest_logreport(report=report)
            elif name == "start":
                running[lane] = told
                hook.pytest_runtest_logstart(nodeid=told[0], location=told[1])
            else:
                nodeid, location = running.pop(lane)
                hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _report_end(
    session: pytest.Session, nodeid: str, location: tuple[str, int | None, str]
) -> None:
    said = "the lane ended in the midst of this test"
    report = pytest.TestReport(nodeid, location, {}, "failed", said, "call")
    session.config.hook.pytest_runtest_logreport(report=report)


class _Teller:
    """Tells the process that reports what becomes of each test of this lane."""

    def __init__(self, config: pytest.Config, tells: Connection) -> None:
        self._config = config
        self._tells = tells

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Tell that a test begins."""
        self._tells.send(("start", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell how a part of it went."""
        told = self._config.hook.pytest_report_to_serializable(
            config=self._config, report=report
        )
        self._tells.send(("report", told))

    def pytest_runtest_logfinish(self) -> None:
        """Tell that all of it is over."""
        self._tells.send(("finish", None))


def _be_lane(
    session: pytest.Session,
    number: int,
    tests: Iterator[pytest.Item],
    tells: Connection,
) -> NoReturn:
    """Run tests until there are none, in this process, and end it."""
    config = session.config
    plugins = config.pluginmanager
    status = 1
    capture = plugins.get_plugin("capturemanager")
    assert capture is not None
    try:
        part_from_siblings()
        _capture_apart(capture)
        reporter = plugins.get_plugin("terminalreporter")
        for one in (
            reporter,
            plugins.get_plugin("lfplugin"),
            config.stash.get(xml_key, None),
        ):
            if one is not None:
                plugins.unregister(one)
        # pytest-timeout writes the stacks of a test's threads there.
        writer = pytest.TerminalReporter(config, sys.stderr)._tw
        plugins.register(SimpleNamespace(_tw=writer), "terminalreporter")
        plugins.register(_Teller(config, tells))
        factory = config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / f"lane-{number}"
        factory._basetemp.mkdir(mode=0o700)
        _run_tests(session, tests)
        status = 0
    finally:
        if status:
            capture.suspend_global_capture()
            traceback.print_exc()
        # Not as a process ends that has collected tests: its parent does that.
        os._exit(status)


def _capture_apart(capture: CaptureManager) -> None:
    """Capture into files of this lane's own, by the same objects as its parent.

    What was imported while they stood in the place of `sys.stderr` may keep them.
    """
    captured = capture._global_capturing
    assert captured is not None
    for stream in (captured.out, captured.err):
        if isinstance(stream, FDCapture):
            with tempfile.TemporaryFile() as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())


def _run_tests(session: pytest.Session, tests: Iterator[pytest.Item]) -> None:
    """Run each test, with the next one known: until then its fixtures last."""
    try:
        item = next(tests, None)
        while item is not None and not (session.shouldfail or session.shouldstop):
            after = next(tests, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            item = after
    finally:
        # Interrupted, too: servers end with the lane that started them. Once is enough.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        session._setupstate.teardown_exact(None)

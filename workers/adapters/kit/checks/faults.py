"""Rows about what goes wrong: the server, a poller, a rival."""

import resource
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.admin import admin_actions
from shared.sources.run_records import IngestionRun
from workers.adapters.kit import tls
from workers.adapters.kit.keeping import TENANT, Keeping
from workers.adapters.kit.stub import FaultMode

UNREACHABLE, FAILED = "source_unreachable", "ingestion_failed"
# What each fault is to be called; an endless answer may be either.
_FAULTS: dict[FaultMode, frozenset[str]] = {
    "500": frozenset({UNREACHABLE}),
    "429": frozenset({UNREACHABLE}),
    "hang": frozenset({UNREACHABLE}),
    "half_body": frozenset({UNREACHABLE}),
    "wrong_length": frozenset({UNREACHABLE}),
    "redirect_loop": frozenset({FAILED}),
    "endless": frozenset({FAILED, UNREACHABLE}),
    "html_error": frozenset({FAILED}),
    "login_page": frozenset({FAILED}),
}
# A wrong shape is asked for once more before it is believed.
_TIMES: Mapping[FaultMode, int] = {"redirect_loop": 4, "html_error": 2, "login_page": 2}
_RECOVERIES = 3
_RETRY_AFTER_SECONDS = 2.0
_CAP_BYTES = 4_000_000
_QUICK: dict[str, Any] = {
    "request_timeout_seconds": 0.5,
    "max_response_bytes": _CAP_BYTES,
    "poll_interval_seconds": 1,
}
FAILURES = 10
_WAITS = (1, 2, 4, 8, 8)
# As other programs call the switch that is not there.
_WAVING_THROUGH = ("verify", "verify_tls", "verify_ssl", "ssl_verify", "tls_verify")
_JITTER = 0.35


def server_faults(keeping: Keeping) -> None:
    """ADP21: each fault has its class and its wait; the cursor stays, memory too."""
    keeping.changes = dict(_QUICK)
    ids = set(keeping.add(*keeping.some(3)))
    keeping.load()
    tried = [mode for mode in _FAULTS if _survives(keeping, mode, ids)]
    assert {"500", "hang", "half_body"} <= set(tried), f"the stub knows only {tried}"
    _recovers_within_a_run(keeping, ids)


def _survives(keeping: Keeping, mode: FaultMode, ids: set[str]) -> bool:
    """Hold what one fault does to a source that is well; add what comes meanwhile."""
    with keeping.stock() as stock:
        cursor = stock.cursors().get(run_records.TAIL)
    ids |= set(keeping.add(keeping.fresh()))
    try:
        keeping.stub.fault(mode, times=_TIMES.get(mode, 1))
    except LookupError:
        return False
    before = _peak_bytes()
    run = keeping.run()
    assert _code(run) in _FAULTS[mode], f"{mode} is called {run.error}"
    assert _peak_bytes() - before < 4 * _CAP_BYTES, f"{mode} takes memory"
    with keeping.stock() as stock:
        assert stock.cursors().get(run_records.TAIL) == cursor, (
            f"{mode} moves the cursor"
        )
        wait = stock.waits()[run_records.TAIL]
    if mode == "429":
        assert wait > _RETRY_AFTER_SECONDS * (1 - _JITTER), "Retry-After is heeded"
    recovers = any(keeping.run().error is None for _ in range(_RECOVERIES))
    assert recovers, f"{mode} is never over"
    assert keeping.live() == ids
    return True


def _recovers_within_a_run(keeping: Keeping, ids: set[str]) -> None:
    keeping.changes = {**_QUICK, "max_retries": 2}
    ids |= set(keeping.add(keeping.fresh()))
    keeping.stub.fault("500")
    run = keeping.run()
    assert run.error is None, "one 500 is tried again within its run"
    assert keeping.live() == ids


def pollers(keeping: Keeping) -> None:
    """ADP31: one fetches, beside a backfill; backing off, paused, bad certificates."""
    keeping.changes = {"page_size": 2, "poll_interval_seconds": 60}
    ids = set(keeping.add(*keeping.some(6)))
    keeping.load()
    _check_one_poller(keeping)
    _check_backfill_beside(keeping, ids)
    _check_backing_off(keeping)
    address = keeping.configured().base_url
    if address is not None:
        _check_bad_certificate(keeping, address)


def _check_one_poller(keeping: Keeping) -> None:
    keeping.trigger(run_records.TAIL)
    assert keeping.take(run_records.TAIL) is not None
    assert keeping.take(run_records.TAIL) is None, "two pollers at one source"
    with keeping.stock() as stock:
        stock.expire_leases()
    second = keeping.take(run_records.TAIL)
    assert second is not None, "nobody goes on for a dead poller"
    second.take_steps(float("inf"))
    second.settle(None)


def _check_backfill_beside(keeping: Keeping, ids: set[str]) -> None:
    keeping.trigger(run_records.BACKFILL)
    keeping.go_on(run_records.BACKFILL)
    fresh = keeping.add(keeping.fresh())
    keeping.run_well(run_records.TAIL)
    assert keeping.live() == {*ids, *fresh}, "a backfill holds up the tail"
    keeping.finish(run_records.BACKFILL)


def _check_backing_off(keeping: Keeping) -> None:
    good = dict(keeping.changes)
    with keeping.under_another_name() as other:
        neighbour, settings = other.name, other.configured()
        other.load()
    keeping.beside = {neighbour: settings}
    keeping.changes |= _nowhere(keeping)
    for number in range(1, FAILURES + 1):
        run = keeping.run()
        assert run.error is not None, "nobody is there to answer"
        if number <= len(_WAITS):
            with keeping.stock() as stock:
                wait = stock.waits()[run_records.TAIL] / 60
            expected = _WAITS[number - 1]
            assert abs(wait - expected) <= _JITTER * expected, f"{number}: {wait:.2f} x"
    assert keeping.standing().paused, f"not paused after {FAILURES} failures"
    keeping.changes = good
    _check_neighbour(keeping, neighbour)
    keeping.arrange()
    with connection(keeping.pool) as conn:
        admin_actions.resume(conn, TENANT, keeping.name)
    keeping.run_well()


def _check_bad_certificate(keeping: Keeping, address: str) -> None:
    """Hold that nothing is asked where nobody vouches, whatever the settings say."""
    good = dict(keeping.changes)
    ids = keeping.live()
    with tls.front(address) as front, keeping.under_another_name() as other:
        origins = [*other.configured().allowed_origins, address]
        way = {"base_url": front.url, "allowed_origins": origins, "max_retries": 2}
        other.changes = {**good, **way}
        asked = len(other.stub.requests())
        run = other.run()
        reason = ((run.error or {}).get("details") or {}).get("reason")
        assert (_code(run), reason) == (FAILED, "tls"), f"it is called {run.error}"
        assert front.knocks == 1, "what is critical is not tried again"
        assert len(other.stub.requests()) == asked, "asked in spite of its certificate"
        assert other.live() == set()
        for word in _WAVING_THROUGH:
            assert _is_refused(other, word), f"{word} waves a bad certificate through"
        # It was the certificate, and nothing else about the way.
        other.changes["ca_file"] = front.ca_file
        other.load()
        assert other.live() == ids
    keeping.changes = good


def _is_refused(keeping: Keeping, word: str) -> bool:
    try:
        keeping.settings(**keeping.changes, **{word: False})
    except ValidationError:
        return True
    return False


def _check_neighbour(keeping: Keeping, name: str) -> None:
    """Hold that another source has not noticed, and is asked as often as before."""
    failing = keeping.name
    keeping.name, keeping.beside = name, {failing: keeping.configured()}
    keeping.run_well()
    with keeping.stock() as stock:
        assert stock.waits()[run_records.TAIL] <= 60 * (1 + _JITTER)
    keeping.beside = {name: keeping.configured()}
    keeping.name = failing


def _nowhere(keeping: Keeping) -> dict[str, Any]:
    """Return settings by which the source is not to be found."""
    settings = keeping.configured()
    if settings.base_url is not None:
        return {"base_url": "http://127.0.0.1:1"}
    if settings.path is not None:
        return {"path": f"{settings.path}-is-not-there"}
    return {"args": {**settings.args, "dsn": "LOGCHORD_KIT_NO_DSN"}}


def _code(run: IngestionRun) -> str:
    return str((run.error or {}).get("code", ""))


def _peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

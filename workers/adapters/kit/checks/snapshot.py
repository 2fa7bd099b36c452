"""The row about files that stand in for a server that is down."""

from pathlib import Path
from tempfile import TemporaryDirectory

from shared.sources import run_records
from shared.sources.runs.kinds import snapshot
from workers.adapters.kit.keeping import Keeping
from workers.adapters.kit.stub import WritesSnapshots

# Nobody listens there.
_NOWHERE = "http://127.0.0.1:1"
_EDITED = "As it was edited since"


def fallback(keeping: Keeping) -> None:
    """ADP30: with its server down, half a snapshot is merged, and takes nothing."""
    stub = keeping.stub
    assert isinstance(stub, WritesSnapshots), "the stub writes no file of its entries"
    keeping.changes = {"max_consecutive_failures": 100}
    ids = keeping.add(*keeping.some(6))
    keeping.load()
    only_there = keeping.add(*keeping.some(2))
    half = stub.snapshot([*ids[:3], *only_there])
    for external_id in only_there:
        stub.delete(external_id)
    stub.edit(ids[0], text=_EDITED)
    keeping.catch_up()
    assert keeping.live() == set(ids)
    before = _texts(keeping)

    with TemporaryDirectory() as folder:
        file = Path(folder) / "entries.json"
        file.write_bytes(half)
        keeping.changes |= {"base_url": _NOWHERE, "snapshot_path": str(file)}
        for failed in range(1, snapshot.FAILURES + 1):
            run = keeping.run()
            assert run.error is not None, "its server is down, and nothing fails"
            serving = "live" if failed < snapshot.FAILURES else "snapshot"
            assert keeping.standing().serving == serving
        assert run.added == len(only_there), f"{run.added} are added by the snapshot"
        again = keeping.run()
        assert (again.added, again.updated, again.deleted) == (0, 0, 0)
        keeping.run(run_records.RECONCILE)
        assert keeping.standing().serving == "snapshot"
    after = _texts(keeping)
    assert keeping.live() == {*ids, *only_there}, "a snapshot takes nothing away"
    assert {one: after[one] for one in ids} == before, "it is older than what is here"

    del keeping.changes["base_url"]
    keeping.run_well()
    assert keeping.standing().serving == "live"


def _texts(keeping: Keeping) -> dict[str, tuple[int, str]]:
    with keeping.stock() as stock:
        return {one.external_id: (one.revision, one.text) for one in stock.entries()}

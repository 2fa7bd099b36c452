"""Rows about what belongs together, and what only looks as if it did."""

from dataclasses import replace
from uuid import UUID

from workers.adapters.kit.keeping import Keeping
from workers.adapters.kit.stub import StubEntry

CHAIN = 50
_NOBODY = 987_654


def threads(keeping: Keeping) -> None:
    """ADP11: replies before parents, to nobody, to themselves, in circles: no harm."""
    parent, reply, orphan = keeping.some(3)
    reply = replace(reply, reply_to=parent.number)
    early = _added(keeping, reply)
    lost = _added(keeping, replace(orphan, reply_to=_NOBODY))
    keeping.load()
    late = _added(keeping, replace(parent, time=keeping.fresh().time))
    keeping.catch_up()
    found = _threads(keeping)
    if early and late:
        assert found[early] == found[late], "a reply that came first is not joined"
        assert found[early] is not None
    if lost:
        assert found[lost] != found.get(late or ""), "an orphan joins nobody"
    _check_chain(keeping)
    _check_circles(keeping)
    before = _threads(keeping)
    keeping.catch_up()
    assert _threads(keeping) == before, "threads are stable"


def scoped_ids(keeping: Keeping) -> None:
    """ADP12: one number in two logbooks is two entries."""
    entry = keeping.some(1, logbook="Operations")[0]
    first = keeping.stub.add(entry)
    second = keeping.stub.add(replace(entry, logbook="Beamlines", text="Another"))
    assert first != second
    keeping.load()
    assert keeping.live() == {first, second}
    with keeping.stock() as stock:
        assert "Another" in stock.entry(second).text
        assert "Another" not in stock.entry(first).text


def _check_chain(keeping: Keeping) -> None:
    entries = keeping.some(CHAIN)
    chain = [
        replace(one, reply_to=before.number if before else None)
        for one, before in zip(entries, [None, *entries], strict=False)
    ]
    ids = [one for entry in chain if (one := _added(keeping, entry)) is not None]
    keeping.catch_up()
    found = _threads(keeping)
    assert set(ids) <= found.keys()
    if len(ids) == CHAIN:
        assert len({found[one] for one in ids}) == 1, "a chain is one thread"


def _check_circles(keeping: Keeping) -> None:
    own, first, second = keeping.some(3)
    ids = [
        _added(keeping, replace(own, reply_to=own.number)),
        _added(keeping, replace(first, reply_to=second.number)),
        _added(keeping, replace(second, reply_to=first.number)),
    ]
    keeping.catch_up()
    found = _threads(keeping)
    assert {one for one in ids if one} <= found.keys()
    if all(ids):
        assert found[ids[1] or ""] == found[ids[2] or ""], "a circle is one thread"
        assert found[ids[0] or ""] != found[ids[1] or ""]


def _added(keeping: Keeping, entry: StubEntry) -> str | None:
    """Return its id; None where its source cannot say such a thing."""
    try:
        return keeping.stub.add(entry)
    except LookupError:
        return None


def _threads(keeping: Keeping) -> dict[str, UUID | None]:
    with keeping.stock() as stock:
        return {one.external_id: one.thread_id for one in stock.entries()}

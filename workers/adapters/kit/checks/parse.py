"""Rows about the adapter itself: what it says of itself, and that `parse` is total."""

import re
import time
from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.adapter_contract.contract import AdapterCapabilities, RawItem, SourceIO
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError
from workers.adapters.kit import imports, mutations, purity
from workers.adapters.kit.reading import START, KitReading
from workers.adapters.kit.stub import StubEntry, StubFile
from workers.adapters.kit.subject import registered

_NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")
EXAMPLES = 60
BIG_BYTES = 1_000_000
BIG_SECONDS = 0.1
_NOTHINGS: tuple[Any, ...] = (
    *(None, b"", "", [], {}, 0, True, b"\x00" * 100, b"\xff" * 100),
)
_CHARSETS = (None, "utf-8", "iso-8859-1", "utf-16", "no-such-charset", "")


class Nothing:
    """A world that nobody may look at: any use of it fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a constructor does no I/O, and asked for {name}")


def descriptor(reading: KitReading) -> None:
    """ADP1: complete, described, its name its own; imports within bounds."""
    name = reading.subject.adapter
    known = registered()
    one = known[name]
    assert one.kind is not None, one.problem
    said = one.descriptor
    assert said.name == name, "the entry point and the descriptor differ"
    assert _NAME.fullmatch(name), "lower case letters, digits and underscores"
    assert said.title.strip()
    assert said.version >= 1
    assert said.max_records_per_page >= 1
    assert said.max_concurrency >= 1
    assert said.min_overlap_seconds >= 0
    bare = [key for key, f in said.args.model_fields.items() if not f.description]
    assert bare == [], "every setting of `args` has a description"
    taken = {
        alias: other.name
        for other in known.values()
        if other.kind is not None and other.name != name
        for alias in (other.name, *other.descriptor.aliases)
    }
    shared_names = {alias: taken[alias] for alias in said.aliases if alias in taken}
    assert shared_names == {}, "an alias belongs to one adapter"
    _check_capabilities(said.capabilities)
    _check_methods(one.kind, said.capabilities)
    assert imports.forbidden(one.kind.__module__) == []
    source = reading.open().source
    nowhere: SourceIO = Nothing()
    one.kind(source, nowhere)


def pure(reading: KitReading) -> None:
    """ADP24: the same item twice is the same entry, without clock, network, chance."""
    for number in (1, 2, 3):
        reading.stub.add(StubEntry(number=number, time=START, text=f"Text {number}"))
    items = list(reading.items().values())
    adapter = reading.open().adapter
    before = [adapter.parse(item) for item in items]
    modules = purity.loaded(
        (imports.package(type(adapter).__module__), "shared.text", "shared.times")
    )
    with purity.nothing_but_arguments(modules):
        after = [adapter.parse(item) for item in items]
    assert after == before
    again = reading.open().adapter
    assert [again.parse(item) for item in items] == before


def spoilt_payloads(reading: KitReading) -> None:
    """ADP25: any payload is an entry or a MalformedEntryError, and takes no time."""
    items = _rich_items(reading)
    adapter = reading.open().adapter

    def parse(item: RawItem) -> None:
        try:
            entry = adapter.parse(item)
        except MalformedEntryError as exc:
            reason = exc.reason
        else:
            reason = "none is needed"
            _check_types(entry)
        assert reason, "a MalformedEntryError says its reason"

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def any_payload(data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(items))
        payload = data.draw(mutations.spoilt(item.payload))
        charset = data.draw(st.sampled_from((item.charset, *_CHARSETS)))
        parse(replace(item, payload=payload, charset=charset))

    any_payload()
    for item in items:
        for payload in _NOTHINGS:
            parse(replace(item, payload=payload))
    _check_speed(reading)


def _rich_items(reading: KitReading) -> list[RawItem]:
    stub = reading.stub
    first = stub.add(StubEntry(number=1, time=START))
    stub.add(
        StubEntry(
            number=2,
            time=START,
            title="RF: trip: 3",
            text="Tripped at 06:05.\n\n| a | b |\nsee 1",
            tags=("RF", "Vacuum"),
            reply_to=1,
            files=(StubFile("trip.png", b"\x89PNG"),),
            metadata={"station": "SR C3"},
        )
    )
    items = list(reading.items().values())
    assert any(item.external_id == first for item in items)
    return items


def _check_speed(reading: KitReading) -> None:
    number = 3
    big = "Klystron 24-6 tripped, reset from the rack. "
    text = big * (BIG_BYTES // len(big))
    item = reading.item(reading.stub.add(StubEntry(number, START, text=text)))
    adapter = reading.open().adapter
    taken = []
    for _ in range(5):
        # The time of this process, for the machine may have other work.
        begun = time.process_time()
        adapter.parse(item)
        taken.append(time.process_time() - begun)
    assert min(taken) < BIG_SECONDS, f"{min(taken):.3f} s for 1 MB"


def _check_types(entry: Entry) -> None:
    """Hold what the runtime relies on, whatever the payload was."""
    assert isinstance(entry.external_id, str)
    for text in (entry.title, entry.text):
        assert isinstance(text, str)
    for several in (entry.authors, entry.logbooks, entry.tags, entry.related):
        assert isinstance(several, tuple)
        assert all(isinstance(one, str) for one in several)
    assert isinstance(entry.metadata, dict)
    for moment in (entry.entry_time, entry.event_time, entry.modified_at):
        assert moment is None or moment.tzinfo is not None
    for word in (*entry.field_values().values(), entry.reply_to):
        assert word is None or isinstance(word, str)
    for file in entry.attachments:
        assert isinstance(file.id, str)
        assert isinstance(file.filename, str)


def _check_capabilities(said: AdapterCapabilities) -> None:
    hints = get_type_hints(AdapterCapabilities)
    for one in fields(AdapterCapabilities):
        value = getattr(said, one.name)
        allowed = get_args(hints[one.name])
        if allowed:
            assert value in allowed, f"{one.name} is none of {allowed}: {value!r}"
        else:
            assert isinstance(value, bool), one.name


def _check_methods(kind: type, said: AdapterCapabilities) -> None:
    needed = {"pages", "parse"}
    if said.order == "none" or "index" in {said.edits, said.deletes}:
        needed.add("list_ids")
    if said.order == "none" or said.edits == "index":
        needed.add("fetch")
    if said.attachments == "by_id":
        needed.add("fetch_attachment")
    missing = sorted(name for name in needed if not callable(getattr(kind, name, None)))
    assert missing == [], "its capabilities promise these"

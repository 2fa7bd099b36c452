"""Row ADP15: the nights on which clocks change, and times that cannot be."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from shared.entries.draft import EntryDraft
from workers.adapters.kit.reading import START, KitReading, summer_time_nights
from workers.adapters.kit.stub import StubEntry

_UNREADABLE = ("not a time", "32.13.2024 25:61", "9999-12-31T23:59:59Z")
_REASONS = frozenset({"time_out_of_range", "time_unreadable", "time_missing"})
_MINUTES_AROUND = (-90, -30, 30, 90)
_FARAWAY = (
    datetime(1969, 7, 20, 20, 17, tzinfo=UTC),
    datetime(2001, 9, 9, 1, 46, tzinfo=UTC),
)


def times(reading: KitReading) -> None:
    """ADP15: the right instant, or a flag, or quarantined; never now, never dropped."""
    nights = summer_time_nights(reading.zone)
    naive = reading.open().descriptor.naive_times
    assert nights or not naive, "give the stub a zone that has summer time"
    near = [
        night + timedelta(minutes=minutes)
        for night in nights
        for minutes in _MINUTES_AROUND
    ]
    _check_instants(reading, near)
    in_a_year = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(days=365)
    _check_instants(reading, [*_FARAWAY, in_a_year], may_be_absent=True)
    if naive:
        _check_wall_times(reading, nights)
    _check_unreadable(reading)


def _check_instants(
    reading: KitReading, instants: list[datetime], *, may_be_absent: bool = False
) -> None:
    """Hold that entries keep their instants, as far as their source can say them."""
    added = {
        reading.stub.add(StubEntry(reading.number(), time=instant)): instant
        for instant in instants
    }
    items = reading.items()
    for external_id, instant in added.items():
        # A source that is asked by time does not show what lies outside of it.
        if not (may_be_absent and external_id not in items):
            assert external_id in items, f"the entry of {instant} is missing"
            _check_instant(reading, reading.read(items[external_id]), instant)


def _check_instant(reading: KitReading, draft: EntryDraft, instant: datetime) -> None:
    if draft.entry_time == instant:
        return
    assert draft.entry_time in _twins(instant, reading.zone), (
        f"{instant} came as {draft.entry_time}"
    )
    assert "time_ambiguous" in draft.flags, (
        f"{instant} is one of two, and no word of it"
    )


def _check_wall_times(reading: KitReading, nights: list[datetime]) -> None:
    """Hold how a wall time is read that comes twice, or never."""
    written = reading.subject.wall_time
    assert written, "say in the Subject how its source writes wall times"
    fold = reading.settings().tz_fold
    for night in nights:
        before = (night - timedelta(hours=1)).astimezone(reading.zone).utcoffset()
        after = night.astimezone(reading.zone).utcoffset()
        assert before is not None
        assert after is not None
        half = timedelta(minutes=30)
        if after > before:
            wall, expected, flag = (
                night + before + half,
                night + half,
                "time_nonexistent",
            )
        else:
            wall, flag = night + before - half, "time_ambiguous"
            expected = night - half + (before - after if fold else timedelta())
        raw = wall.replace(tzinfo=None).strftime(written)
        entry = StubEntry(reading.number(), time=night, raw_time=raw)
        draft = reading.read_added(entry)
        assert draft.entry_time == expected, f"{raw} came as {draft.entry_time}"
        assert flag in draft.flags, f"{raw} is not flagged: {draft.flags}"


def _check_unreadable(reading: KitReading) -> None:
    added = {
        reading.stub.add(StubEntry(reading.number(), time=START, raw_time=raw)): raw
        for raw in _UNREADABLE
    }
    items = reading.items()
    for external_id, raw in added.items():
        assert external_id in items, f"the entry with the time {raw!r} is dropped"
        refusal = reading.refused(items[external_id])
        assert refusal is not None, f"{raw!r} is no time"
        assert refusal.reason in _REASONS, refusal.reason


def _twins(instant: datetime, zone: ZoneInfo) -> set[datetime]:
    wall = instant.astimezone(zone).replace(tzinfo=None)
    return {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}

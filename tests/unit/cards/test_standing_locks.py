"""Locks that stand, and what removes them: no removal is taken on trust."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest

from shared.cards.standing_locks import LockEntry, find_standing
from shared.text.reading.locks import find_locks
from tests.support.linear_cost import assert_linear

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
SPACE = UUID(int=7)


def entry(
    hour: int, text: str, *devices: str, title: str = "", thread: str = ""
) -> LockEntry:
    """Return an entry that names devices as they are spelled there."""
    entry_id = uuid5(SPACE, str(hour))
    entities: list[dict[str, Any]] = [
        {"kind": "device", "name": one, "canonical": one.lower().replace("-", "")}
        for one in devices
    ]
    of_thread = uuid5(SPACE, thread) if thread else entry_id
    at = BEGIN + timedelta(hours=hour)
    return LockEntry(entry_id, at, of_thread, title, text, entities)


def standing(*entries: LockEntry) -> list[str]:
    return [one.quote for one in find_standing(entries[::-1], BEGIN)[0]]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        # As logbooks say it.
        ("LOTO-2026-0117 applied to PS3.", "lock_applied"),
        ("The on-coming shift isolated and danger tagged charging pump A.", "applied"),
        ("The division 2 diesel generator was tagged out for maintenance.", "applied"),
        ("P-201 ist elektrisch freigeschaltet und mit Schloss gesichert.", "applied"),
        ("Die Sperre am Hauptschalter ist entfernt und ausgetragen.", "removed"),
        ("Schloss und Schild LOTO-2026-0117 um 10:50 entfernt.", "removed"),
        ("All seven lock-outs returned and crossed off in the book.", "removed"),
        ("Tags cleared on P-201, breaker closed.", "removed"),
        ("Removed all locks from breaker 3.", "removed"),
        ("Locks on MOD-1 and MOD-2 removed.", "removed"),
        ("Schloss mit Schild entfernt.", "removed"),
        # What was removed was not the lock, or not yet, or not all of it.
        ("P-201 locked out and seal removed.", "applied"),
        ("LOTO applied to P-201 and cleared for work.", "applied"),
        ("P-201 gesperrt, Dichtung entfernt.", "applied"),
        ("LOTO on MOD-3 with 3 fuses removed.", "applied"),
        ("LOTO on MOD-3 and fuse F3 removed.", "applied"),
        ("Pump removed under LOTO.", "applied"),
        ("Removed the filter, lock on P-201.", "applied"),
        ("LOTO on P-201, which was removed from service.", "applied"),
        ("LOTO pump P-201 removed from service.", "applied"),
        ("LOTO applied valve removed.", "applied"),
        (
            "In the pump hall there is LOTO on P-201 pump removed\nfrom service.",
            "applied",
        ),
        ("Today in the pump hall the lock of pump P-201 was now\nremoved.", "removed"),
        ("P-201 locked out, lock will be removed Friday.", "applied"),
        ("Sperre am Hauptschalter noch nicht entfernt.", "applied"),
        ("The lock hasn't been removed.", "applied"),
        ("Was the lock removed?", "applied"),
        ("Lock removed for a test and put back.", "applied"),
        ("One of the locks removed from MOD-3.", "applied"),
        # No lock against energy, or none that hangs.
        ("The bus was locked out due to an electrical fault.", None),
        ("A generator lockout caused the turbine trip.", None),
        ("Lockout relay 86X was reset.", None),
        ("PLL lost lock at 14:02.", None),
        ("No LOTO required.", None),
        ("LOTO: none.", None),
        ("P-201 will be locked out tomorrow.", None),
        ("It would have started if not\ntagged out.", None),
        ("Keine Sperre nötig.", None),
        ("LOSS OF POWER DUE TO A TRANSFORMER\nLOCKOUT", None),
        ("ONE OF THE DIESEL GENERATORS WILL BE\nTAGGED OUT ON MONDAY.", None),
        ("Am Tag 3 wurde die Isolierung entfernt.", None),
        ("Um 21:55 schloss das Ventil V412 und der Strahl war weg.", None),
        ("Schloss am Schalter von P-201.", "applied"),
        # In French, Italian and Spanish.
        ("P-201 consign\u00e9e et cadenass\u00e9e, fiche 17.", "applied"),
        ("Cadenas pos\u00e9 sur le disjoncteur de MOD-3.", "applied"),
        ("Cadenas retir\u00e9, P-201 en service.", "removed"),
        ("P-201 d\u00e9consign\u00e9e \u00e0 10h50.", "removed"),
        ("Le cadenas ne sera pas retir\u00e9 avant lundi.", "applied"),
        ("Filtre retir\u00e9, cadenas sur P-201.", "applied"),
        ("Consignation de P-201, pompe retir\u00e9e.", "applied"),
        ("La consigne de P-201 est de 6 bar.", None),
        ("Pas de consignation n\u00e9cessaire.", None),
        ("Lucchetto applicato alla pompa P-201.", "applied"),
        ("Lucchetto rimosso da P-201.", "removed"),
        ("Blocco applicato su MOD-3.", "applied"),
        ("Lucchetto non ancora rimosso.", "applied"),
        ("Il blocco della pompa ha fermato il fascio.", None),
        ("Candado puesto en P-201.", "applied"),
        ("Candado retirado de P-201.", "removed"),
        ("El candado no ha sido retirado.", "applied"),
        ("Bloqueo y etiquetado de P-201.", "applied"),
        ("La v\u00e1lvula se bloque\u00f3 a las 10:40.", None),
    ],
)
def test_a_sentence_tells_of_a_lock_and_whether_it_hangs(text: str, what: str | None):
    found = [one.what for one in find_locks(text)]
    assert found == ([f"lock_{what.removeprefix('lock_')}"] if what else [])


@pytest.mark.requirement("I09")
@pytest.mark.parametrize(
    "removal",
    [
        entry(9, "LOTO-2026-0117 removed."),
        entry(9, "Schloss und Schild LOTO-2026-0117 um 10:50 entfernt."),
        entry(9, "Lock removed.", thread="pump"),
        entry(9, "Lock removed from P201.", "P201"),
        entry(9, "Sperre am Schalter entfernt.", "P-201", title="P-201 wieder da"),
    ],
)
def test_a_lock_is_removed_by_its_number_its_thread_or_its_device(removal: LockEntry):
    applied = entry(1, "P-201 locked out, LOTO-2026-0117.", "P-201", thread="pump")

    assert standing(applied) == ["P-201 locked out, LOTO-2026-0117."]
    assert standing(applied, removal) == []
    # What comes after is another lock.
    again = entry(20, "P-201 locked out again.", "P-201")
    assert standing(applied, removal, again) == ["P-201 locked out again."]


@pytest.mark.requirement("I09")
@pytest.mark.parametrize(
    "removal",
    [
        entry(9, "LOTO-2026-0118 removed.", "P-201", thread="pump"),
        entry(9, "Lock removed from P-202.", "P-202", thread="pump"),
        entry(9, "Lock removed."),
        entry(9, "Locks removed.", "P-201", "P-202"),
        entry(9, "P-201 hums. On the RF side the lock was removed.", "P-201"),
        entry(9, "All lock-outs returned, keys counted twice."),
        entry(9, "P-201: lock will be removed on Friday.", "P-201"),
        entry(9, "Is the lock removed from P-201?", "P-201"),
        entry(9, "> Lock removed from P-201.\nNot yet.", "P-201", thread="pump"),
        entry(9, "See above.", title="Re: Lock removed", thread="pump"),
        # Entries of before say nothing of a lock of now.
        entry(0, "LOTO-2026-0117 removed.", "P-201"),
    ],
)
def test_what_is_not_sure_removes_no_lock(removal: LockEntry):
    applied = entry(1, "P-201 locked out, LOTO-2026-0117.", "P-201", thread="pump")
    both = sorted((applied, removal), key=lambda one: one.entry_time)

    assert "P-201 locked out, LOTO-2026-0117." in standing(*both)


def test_of_two_locks_on_a_device_one_is_removed_by_its_number_or_both_by_all():
    first = entry(1, "LOTO-1 on P-201.", "P-201")
    second = entry(2, "LOTO-2 on P-201.", "P-201")

    told = (first, second)
    assert standing(*told, entry(3, "Lock removed from P-201.", "P-201")) == [
        *("LOTO-2 on P-201.", "LOTO-1 on P-201."),
    ]
    assert standing(*told, entry(3, "LOTO-2 removed.")) == ["LOTO-1 on P-201."]
    assert standing(*told, entry(3, "All locks removed from P-201.", "P-201")) == []


def test_a_lock_on_two_devices_hangs_until_both_are_told_of():
    applied = entry(1, "MOD-1 and MOD-2 locked out.", "MOD-1", "MOD-2")
    one = entry(2, "Lock removed from MOD-1.", "MOD-1")
    other = entry(3, "Lock removed from MOD-2.", "MOD-2")

    assert standing(applied, one) == ["MOD-1 and MOD-2 locked out."]
    assert standing(applied, one, other) == []


def test_a_lock_that_is_told_of_again_is_one():
    applied = entry(1, "LOTO-7 on P-201.", "P-201", title="P-201 locked out")
    still = entry(5, "P-201 is still locked out.", "P-201")

    assert standing(applied, still) == ["LOTO-7 on P-201."]
    assert standing(applied, still, entry(6, "LOTO-7 removed.")) == []


@pytest.mark.parametrize("piece", ["LOTO-", "lock and ", "removed the ", "no lock on "])
def test_locks_are_found_in_linear_time(piece: str):
    assert_linear(lambda text: [*find_locks(text)], piece * (20_000 // len(piece)))

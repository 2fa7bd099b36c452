"""The sample logbook keeps its promises: how much, how varied, and what it finds."""

import re
import shlex
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from local import sample

Row = dict[str, Any]

FACILITY_ZONE = ZoneInfo("Europe/Zurich")
ANCHOR = datetime.fromisoformat("2026-04-20T08:00:00+02:00")

REQUIRED = {
    "source": str,
    "external_id": str,
    "title": str,
    "text": str,
    "authors": list,
    "logbooks": list,
    "entry_time": str,
    "kind": str,
    "tags": list,
    "metadata": dict,
}
OPTIONAL = ("event_time", "shift", "level", "category", "reply_to", "origin")
KINDS = {"logbook", "shift_summary", "procedure", "maintenance", "incident", "device"}
UNITS = ("_ma", "_h", "_kw", "_mbar", "_c", "_min", "_mm", "_pct", "_ppb")

# What people call each device; all of it is the same thing.
DEVICES = (
    ("SR:C03-MG:HCM2", "HCM-2", "HCM 2", "hcm02"),
    ("HCM04", "HCM-04", "HCM 4"),
    ("VCM-07", "VCM07", "VCM 7"),
    ("VCM-11", "VCM11"),
    ("RFC1", "RF cavity 1"),
    ("RFC2", "RFC 2", "RF2", "RF cavity 2", "SR-RF-CAV02"),
    ("RFC3", "RF cavity 3", "RF Cavity 3"),
    ("RFC4", "RF4", "RF cavity 4", "SR-RF-CAV04"),
    ("KLY1", "Klystron 1"),
    ("KLY-2", "klystron 2"),
    ("MOD-2", "MOD 2", "modulator 2", "Modulator 2"),
    ("MOD-3", "modulator 3", "Modulator 3"),
    ("IP-14", "IP14", "IP 14", "ion pump 14"),
    ("IP-22", "ion pump 22"),
    ("IP-31", "IP 31"),
    ("TSP-03", "TSP 3"),
    ("RGA-02", "RGA2"),
    ("GV-08", "GV08", "Gate valve 8"),
    ("GV-15", "SR:C12-VA:GV15", "gate valve 15"),
    ("FE-09", "FE09", "FE 9", "FE9", "front end 9"),
    ("TC-118", "TC118", "TC 118"),
    ("BPM-041", "BPM41", "BPM 41"),
    ("BPM-112", "BPM112", "BPM 112"),
    ("DCCT-1", "DCCT1", "DCCT 1"),
    ("OTR-3", "OTR 3"),
    ("QF-09", "QF9", "QF 9"),
    ("QD-16", "QD16", "QD 16"),
    ("SXT-3", "SXT3", "SXT 3"),
    ("KCK-02", "KCK-2", "KCK2", "kicker 2"),
    ("KCK-03", "KCK03", "kicker 3"),
    ("SEP-1", "SEP1", "septum 1", "Septum 1"),
    ("ID05", "ID 05"),
    ("ID07", "ID-07", "ID 7"),
    ("ID11", "ID-11", "ID 11"),
    ("PLC-07", "PLC07", "PLC 7"),
    ("PLC-12", "PLC12"),
    ("IOC-33", "ioc33"),
    ("SW-12", "sw12"),
    ("UPS-2", "UPS2"),
    ("RM-04", "RM4"),
    ("RM-17", "RM 17"),
    ("AHU-3", "AHU3", "AHU 3"),
    ("P-104", "P 104"),
    ("P-201", "P201", "pump 201", "Pumpe 201"),
    ("CT-2", "CT2", "Kühlturm 2"),
    ("HX-2", "HX2", "HX 2"),
    ("FS-27", "FS27"),
    ("CB-1", "CB1"),
    ("HC-2", "HC2"),
    ("CV-41", "CV41"),
    ("BL 2.1.1", "BL2.1.1"),
    ("BL 5.0.2", "BL5.0.2"),
    ("BL 7.3.1", "BL7.3.1"),
    ("BL 8.0.3", "BL8.0.3"),
    ("BL 9.2.0", "BL9.2.0"),
    ("BL 11.0.1", "BL11.0.1"),
    ("BL 12.4.2", "BL12.4.2"),
)

# query -> entries that share its words, entries that share only its meaning
EXPECTED = {
    "lightning struck, particles vanished": ((), ("OPS-20722",)),
    "LOTO-2026-0117": (("MT-8151", "MT-8224"), ()),
    "rodents chewed SW-12": (("MT-8271",), ("OPS-20606", "OPS-20604", "OPS-20601")),
}

GERMAN = re.compile(
    r"\b(?:der|die|das|und|nicht|ist|wurde|mit|von|im|den|ein|eine|auf)\b"
)
ENGLISH = re.compile(r"\b(?:the|and|of|is|was|with|to|on|it|for|by|not|we)\b")


@cache
def pages() -> list[list[Row]]:
    return list(sample.pages())


@cache
def versions() -> list[Row]:
    return list(chain.from_iterable(pages()))


@cache
def by_identity() -> dict[tuple[str, str], list[Row]]:
    """Return every entry's versions, oldest first."""
    known: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in versions():
        known[row["source"], row["external_id"]].append(row)
    return known


def first_versions() -> list[Row]:
    return [rows[0] for rows in by_identity().values()]


def text_of(row: Row) -> str:
    return f"{row['title']}\n{row['text']}"


@cache
def everything() -> str:
    return "\n".join(text_of(row) for row in versions())


def texts_of(external_id: str) -> str:
    return "\n".join(
        text_of(row) for row in versions() if row["external_id"] == external_id
    )


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def is_german(row: Row) -> bool:
    text = row["text"].lower()
    return len(GERMAN.findall(text)) > len(ENGLISH.findall(text))


def mentions(spelling: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(spelling)}(?![\w]|\.\d)", text) is not None


def holders_of(word: str) -> set[str]:
    """Return who holds a word in any of its forms."""
    stem = re.sub(r"(ing|ed|s)$", "", word)
    start = re.compile(rf"\b{re.escape(stem)}", re.IGNORECASE)
    return {row["external_id"] for row in versions() if start.search(text_of(row))}


def test_there_are_three_sources_and_at_least_three_hundred_entries() -> None:
    assert len(first_versions()) >= 300
    assert {row["source"] for row in versions()} == set(sample.SOURCES)
    assert len(sample.SOURCES) == 3


def test_texts_are_distinct_and_have_twenty_to_three_hundred_words() -> None:
    texts = [row["text"] for row in first_versions()]
    assert len(set(texts)) == len(texts) >= 250
    assert all(20 <= len(row["text"].split()) <= 300 for row in versions())
    # A filled-in form would begin alike, again and again.
    openings = Counter(" ".join(text.split()[:4]) for text in texts)
    assert max(openings.values()) <= 4


def test_every_row_is_an_entry_as_the_contract_has_it() -> None:
    for row in versions():
        assert set(REQUIRED) <= set(row) <= {*REQUIRED, *OPTIONAL}
        assert all(isinstance(row[name], kind) for name, kind in REQUIRED.items())
        assert all(isinstance(row[name], str) for name in OPTIONAL if name in row)
        assert row["kind"] in KINDS
        assert row.get("origin", "human") in {"human", "machine"}
        assert row["title"]
        assert row["authors"]
        assert row["logbooks"]


def test_times_lie_in_ninety_days_and_carry_the_facility_offset() -> None:
    offsets = set()
    for row in versions():
        for name in ("entry_time", "event_time"):
            if name not in row:
                continue
            time = datetime.fromisoformat(row[name])
            assert ANCHOR - timedelta(days=91) <= time <= ANCHOR
            local = time.astimezone(FACILITY_ZONE)
            assert time.utcoffset() == local.utcoffset()
            assert time.replace(tzinfo=None) == local.replace(tzinfo=None)
            offsets.add(time.utcoffset())
    assert len(offsets) == 2


def test_authors_logbooks_tags_levels_and_shifts_vary() -> None:
    rows = versions()
    assert len({author for row in rows for author in row["authors"]}) >= 12
    for source in sample.SOURCES:
        own = [row for row in rows if row["source"] == source]
        assert len({name for row in own for name in row["logbooks"]}) >= 2
    assert len({tag for row in rows for tag in row["tags"]}) >= 80
    assert len({row.get("level") for row in rows}) >= 4
    assert {row.get("shift") for row in rows} >= {"night", "early", "late"}
    assert {row["kind"] for row in rows} == KINDS
    assert {row.get("origin") for row in rows} == {None, "machine"}


def test_metadata_holds_numbers_whose_names_end_in_their_unit() -> None:
    numbers = [
        name
        for row in versions()
        for name, value in row["metadata"].items()
        if isinstance(value, int | float)
    ]
    assert len(numbers) >= 100
    assert all(name.endswith(UNITS) for name in numbers)


def test_at_least_fifty_entries_are_german_and_most_are_english() -> None:
    german = sum(is_german(row) for row in first_versions())
    assert 50 <= german < len(first_versions()) / 2


@pytest.mark.parametrize("spellings", DEVICES, ids=lambda names: names[0])
def test_every_device_is_written_in_several_ways(spellings: tuple[str, ...]) -> None:
    missing = [name for name in spellings if not mentions(name, everything())]
    assert missing == []
    assert len(spellings) >= 2


def test_there_are_at_least_forty_devices() -> None:
    assert len(DEVICES) >= 40
    names = list(chain.from_iterable(DEVICES))
    assert len(set(names)) == len(names)


def test_replies_follow_an_entry_of_their_source_in_at_least_thirty_threads() -> None:
    known = by_identity()
    replies: Counter[tuple[str, str]] = Counter()
    nested = 0
    for row in first_versions():
        above, steps = row, 0
        while "reply_to" in above:
            parent = known[above["source"], above["reply_to"]][0]
            times = (parent["entry_time"], above["entry_time"])
            assert datetime.fromisoformat(times[0]) < datetime.fromisoformat(times[1])
            above, steps = parent, steps + 1
        replies[above["source"], above["external_id"]] += steps > 0
        nested += steps > 1
    threads = [count for count in replies.values() if count]
    assert len(threads) >= 30
    assert max(threads) <= 5
    assert nested >= 2


def test_at_least_twenty_entries_are_edited_and_keep_their_place() -> None:
    edited = [rows for rows in by_identity().values() if len(rows) > 1]
    assert len(edited) >= 20
    assert any(len(rows) > 2 for rows in edited)
    for rows in edited:
        assert len({row["text"] for row in rows}) == len(rows)
        for name in ("entry_time", "authors", "logbooks", "kind"):
            assert all(row[name] == rows[0][name] for row in rows)
        assert len({row.get("reply_to") for row in rows}) == 1


def test_pages_are_small_and_name_no_entry_twice() -> None:
    assert len(pages()) > 1
    for page in pages():
        assert 0 < len(page) <= 500
        assert len({(row["source"], row["external_id"]) for row in page}) == len(page)


def test_first_versions_come_before_their_edits_and_parents_before_replies() -> None:
    known = by_identity()
    assert pages()[0] == first_versions()
    instants = [datetime.fromisoformat(row["entry_time"]) for row in pages()[0]]
    assert instants == sorted(instants)
    assert all(row is known[row["source"], row["external_id"]][0] for row in pages()[0])


def test_the_three_commands_ask_the_three_queries() -> None:
    commands = [shlex.split(command) for command in sample.three_commands()]
    assert [words[:2] for words in commands] == [["logchord", "search"]] * 3
    assert [words[2] for words in commands] == list(EXPECTED)


def test_the_paraphrase_shares_no_word_with_any_entry() -> None:
    query, (_, (storm,)) = next(iter(EXPECTED.items()))
    for word in words_of(query):
        assert holders_of(word) == set(), word
    assert "thunderstorm" in texts_of(storm)
    assert "mains dip" in texts_of(storm)


def test_the_lock_out_number_stands_in_two_entries_beside_near_misses() -> None:
    query, (found, _) = list(EXPECTED.items())[1]
    holders = {row["external_id"] for row in versions() if query in text_of(row)}
    assert holders == set(found)
    numbers = {
        number
        for row in versions()
        for number in re.findall(r"LOTO-2026-\d{4}", row["text"])
    }
    assert len(numbers) >= 4
    # The words around it are of another language than the question.
    assert all(is_german(by_identity()["maintenance", name][0]) for name in found)


def test_words_and_meaning_each_miss_what_the_other_finds() -> None:
    query, (by_words, by_meaning) = list(EXPECTED.items())[2]
    *others, device = query.split()
    holders = {r["external_id"] for r in versions() if mentions(device, text_of(r))}
    assert holders == set(by_words)
    for word in others:
        assert holders_of(word) == set(), word
    for name in by_meaning:
        assert re.search(r"mouse|mice|gnawed|nibbled", texts_of(name))
        assert not mentions(device, texts_of(name))
    assert all(is_german(by_identity()["maintenance", name][0]) for name in by_words)

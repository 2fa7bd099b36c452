"""A pasted table is found by what its header says, and shown row by row."""

import pytest

from shared.access.scope import Scope
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import embed_entry
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.search.results.hydrate import hydrate
from tests.support.saving import save_entry

HTML = (
    "<table><tr><th>Device</th><th>Pressure [mbar]</th><th>Trips</th></tr>"
    + "".join(
        f"<tr><td>IGP{number}</td><td>{number}e-9</td><td>300</td></tr>"
        for number in range(1, 120)
    )
    + "</table>"
)
PASTED = "Scan of today\nDevice\tPressure / mbar\nIGP7\t3e-8\nIGP8\t4e-8"
MARKDOWN = "| Device | Current (mA) |\n|---|---|\n| QF1 | 300 |\n| QF2 | 250 |"


@pytest.mark.parametrize(
    ("quantity", "found"),
    [
        ({"unit": "mbar", "gte": 3.5e-8, "lte": 4.5e-8}, {"pasted", "html"}),
        ({"unit": "Pa", "gte": 1.1e-5, "name": "pressure"}, {"html"}),
        ({"unit": "A", "gte": 0.3, "name": "current"}, {"markdown"}),
        ({"unit": "A", "gte": 0.4}, set()),
        ({"unit": "mbar", "gte": 1}, set()),
    ],
)
def test_a_filter_finds_a_cell_by_the_unit_above_it(asking, quantity, found) -> None:
    ids = asking.write(
        EntryDraft("api", "html", HTML, title="beam", text_format="html"),
        EntryDraft("api", "pasted", PASTED, title="beam"),
        EntryDraft("api", "markdown", MARKDOWN, title="beam", text_format="markdown"),
    )
    plan = asking.plan("beam", filters={"quantity": quantity})
    hits = [
        hit.entry_id
        for kept in asking.carried_out(plan).values()
        for one in kept
        for hit in one.hits
    ]
    assert {name for name, entry_id in ids.items() if str(entry_id) in hits} == found


def test_values_are_those_of_the_device_in_their_row(conn) -> None:
    entry_id = save_entry(conn, "A-1", MARKDOWN, text_format="markdown")
    content = read_entries.load_contents(conn, "default", [entry_id])[entry_id]
    metadata.store(conn, content, metadata.extract(content, "en"))
    kept = conn.execute(
        "SELECT device, parameter, name, value, said_at IS NOT NULL"
        "  FROM entry_quantity WHERE entry_id = %s ORDER BY place",
        (entry_id,),
    ).fetchall()
    assert kept == [
        ("qf 1", "current", "qf 1 current", 0.3, True),
        ("qf 2", "current", "qf 2 current", 0.25, True),
    ]


def test_chunks_of_a_page_with_a_table_are_parts_of_what_is_shown(conn) -> None:
    entry_id = save_entry(conn, "A-1", HTML, text_format="html")
    content = read_entries.load_contents(conn, "default", [entry_id])[entry_id]
    found = embed_entry.embed(content, HashingEncoder())
    shown = hydrate(conn, [entry_id], Scope("default", "anna"), 1000)
    text = shown[entry_id].text
    assert "\nIGP8 | 8e-9 | 300\nIGP9 | 9e-9 | 300\n" in text
    assert len(found.chunks) > 2
    for chunk in found.chunks[1:]:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.header == "Device | Pressure [mbar] | Trips\n"
        assert chunk.text.startswith("IGP")

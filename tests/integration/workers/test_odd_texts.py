"""Texts that no door admitted, put into the database by another road: stages cope."""

from typing import LiteralString

import psycopg
import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from tests.support.faults.measures.size import SHORT_LEASE
from tests.support.waiting import until

TEXTS = {
    "nothing": "",
    "blanks": " \t\n\u00a0\u3000" * 50,
    "newlines": "\n" * 100_000,
    "combining marks": "\u0301" * 10_000,
    "a letter under marks": "e" + "\u0301\u0323\u20dd" * 3000,
    "bidi overrides": "\u202evalve\u202c \u2066gate\u2069 " * 500,
    "zero width": "\u200b\u200d\ufeff" * 1000,
    "no space": "x" * 1_000_000,
    "digits": "7" * 500_000,
    "dots": "." * 500_000,
    "one identifier": "-".join(["SR1"] * 50_000),
    "Chinese without a space": "\u6c34\u6cf5\u6545\u969c" * 60_000,
    "distinct words": " ".join(f"w{number}" for number in range(150_000)),
    "no characters": "\uffff\ufffe\ue000\U0010ffff\u0378" * 500,
    "controls": "".join(map(chr, range(1, 32))) * 200,
    "emoji": "\U0001f469\u200d\U0001f52c" * 3000,
    "open brackets": "([{<" * 50_000,
    "letters of mathematics": "\U0001d4d0\U0001d7d8\ufb01\u2460" * 3000,
}
METADATA = {
    "a number of 5000 digits": '{"n": ' + "9" * 5000 + "}",
    "a number that is no float": '{"n": 1e400}',
    "a list 2000 deep": '{"n": ' + "[" * 2000 + "]" * 2000 + "}",
    "a long value": '{"n": "' + "x" * 100_000 + '"}',
    "names as they come": '{"": 1, "__proto__": 2, "a.b": 3, "_id": "\u202e"}',
}
OF_ALL: LiteralString = """
    UPDATE entry SET metadata = %(metadata)s::jsonb WHERE id = %(id)s"""
AS_TEXT: LiteralString = """
    UPDATE revision SET text = %(text)s, title = left(%(text)s, 1000)
     WHERE entry_id = %(id)s"""
ASIDE: LiteralString = """
    SELECT e.external_id, q.stage, q.error ->> 'code',
           q.error #>> '{details,technical}'
      FROM quarantine q LEFT JOIN entry e ON e.id = q.entry_id ORDER BY 1, 2"""


# JSON of the database that Python does not read: an entry of its own, quarantined.
UNREADABLE = ("a list 2000 deep", "a number of 5000 digits")
MODEL = "hashing-384"
STAGES = (METADATA_STAGE, embed_stage(MODEL))


@pytest.mark.requirement("B1", "B2", "B3", "B4")
@pytest.mark.timeout(240)
def test_stages_cope_with_whatever_can_be_stored(make_system):
    system = make_system(EMBEDDING_MODEL=MODEL, **SHORT_LEASE)
    names = [*TEXTS, *METADATA]
    with psycopg.connect(system.database) as conn:
        drafts = [EntryDraft("api", name, "vacuum valve") for name in names]
        saved = save_page(conn, "default", drafts, stages=STAGES, editor="test")
        ids = {name: one.entry_id for name, one in zip(names, saved, strict=True)}
        for name, text in TEXTS.items():
            conn.execute(AS_TEXT, {"id": ids[name], "text": text})
        for name, metadata in METADATA.items():
            conn.execute(OF_ALL, {"id": ids[name], "metadata": metadata})
        conn.commit()
    system.bring_up("enhance", "embed", "upkeep")
    with psycopg.connect(system.database, autocommit=True) as conn:

        def drained() -> bool:
            row = conn.execute("SELECT count(*) FROM work").fetchone()
            return row == (0,)

        until(drained, within_seconds=150)
        aside = conn.execute(ASIDE).fetchall()
        read = conn.execute("SELECT entry_id FROM entry_text").fetchall()

    assert {row[0] for row in aside} == set(UNREADABLE), aside
    assert {row[2] for row in aside} == {"internal_error"}, aside
    assert {row[0] for row in read} == {
        entry_id for name, entry_id in ids.items() if name not in UNREADABLE
    }
    assert not any(map(system.has_ended, ("enhance", "embed")))

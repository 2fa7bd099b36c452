"""Deleting an entry while somebody else edits it."""

from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.support.waiting import until

EDIT = """
    WITH edited AS (
        UPDATE entry SET revision = 2, logbooks = %(logbooks)s
         WHERE id = %(id)s RETURNING id, tenant, content_hash)
    INSERT INTO revision (entry_id, number, tenant, title, text, text_format, fields,
                          content_hash, editor)
    SELECT id, 2, tenant, '', 'edited', 'plain', '{}', content_hash, 'test'
      FROM edited"""
WAITING = """
    SELECT count(*) FROM pg_stat_activity
     WHERE wait_event_type = 'Lock' AND datname = current_database()"""


def test_if_match_holds_against_an_edit_that_is_on_its_way(api, caller) -> None:
    pushed = caller.post("/v1/entries", json={"text": "x"}).json()
    address = f"/v1/entries/{pushed['entry_id']}"
    with (
        psycopg.connect(api.database) as editing,
        psycopg.connect(api.database, autocommit=True) as watching,
        ThreadPoolExecutor() as pool,
    ):
        editing.execute(EDIT, {"id": pushed["entry_id"], "logbooks": []})
        asked = pool.submit(caller.delete, address, headers={"If-Match": '"r1"'})

        def waits() -> bool:
            row = watching.execute(WAITING).fetchone()
            return row is not None and row[0] > 0

        until(waits, within_seconds=5, what="the deletion to wait for the edit")
        editing.commit()
        answer = asked.result(timeout=10)
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        412,
        "revision_mismatch",
    )
    assert caller.get(address).json()["text"] == "edited"

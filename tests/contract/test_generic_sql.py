"""Tables of other people, in a real Postgres and in a SQLite file."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shared.adapter_contract.contract import Fetches, ListsIds, Source, Window
from shared.errors import (
    ConfigurationError,
    IngestionError,
    MalformedEntryError,
    SourceUnreachableError,
)
from tests.contract import walking
from tests.contract.stubs.generic_sql import ZONE, PostgresTable, SQLiteTable, SQLStub
from tests.contract.walking import NOON, ids, walk
from workers.adapters.kit.stub import StubEntry
from workers.adapters.sql.generic_sql import GenericSQL
from workers.adapters.sql.settings import SQLArgs

STUB = SQLStub


class SecretIO:
    """All that a database asks of the outside: a secret, and the time."""

    def secret(self, name: str) -> str:
        return Path(name).read_text(encoding="utf-8")

    def now(self) -> datetime:
        return datetime.now(UTC)

    def is_cancelled(self) -> bool:
        return False


def has(one: object, kind: type) -> bool:
    """Tell as the runtime does what an adapter can."""
    return isinstance(one, kind)


@pytest.fixture
def sqlite(make_stub):
    return make_stub(SQLiteTable())


@pytest.fixture
def foreign(make_stub, foreign_database):
    return make_stub(PostgresTable(foreign_database))


@pytest.fixture(params=["sqlite", "foreign"])
def stub(request):
    return request.getfixturevalue(request.param)


def adapter(
    stub: SQLStub, *, page_size: int = 500, seconds: float = 10, **args: Any
) -> GenericSQL:
    source = Source(
        "log",
        timezone=ZONE.key,
        page_size=page_size,
        request_timeout_seconds=seconds,
        args=SQLArgs.model_validate({**stub.args(), **args}),
    )
    io: Any = SecretIO()
    return GenericSQL(source, io)


def fill(stub: SQLStub, count: int) -> list[str]:
    """Add rows that were changed a minute apart, long ago."""
    known = walking.fill(stub, count)
    for n, external_id in enumerate(known, 1):
        stub.touch(external_id, f"2024-06-10 14:{n // 60:02}:{n % 60:02}")
    return known


@pytest.mark.requirement("U33")
@pytest.mark.parametrize("page_size", [1, 7, 500])
def test_rows_come_oldest_first_and_then_the_overlap_alone(stub, page_size):
    known = fill(stub, 20)
    sql = adapter(stub, page_size=page_size)

    first = walk(sql)
    new = stub.add(StubEntry(99, NOON))
    second = walk(sql, first[-1].cursor)

    assert ids(first) == known
    assert ids(second) == [*known, new]
    assert ids(walk(sql, second[-1].cursor)) == [new]
    entry = sql.parse(first[0].items[0])
    assert (entry.title, entry.text, entry.authors) == ("T1", "Text", ("a.author",))
    assert entry.entry_time == NOON + timedelta(minutes=1)
    assert entry.modified_at == datetime(2024, 6, 10, 12, 0, 1, tzinfo=UTC)
    assert entry.metadata == {}


@pytest.mark.parametrize("bound", ["inclusive", "exclusive"])
def test_equal_stamps_are_not_cut_at_the_edge_of_a_page(stub, bound):
    known = fill(stub, 30)
    for external_id in known[5:25]:
        stub.touch(external_id, "2024-06-10 14:00:07.250000")
    sign = ">" if bound == "exclusive" else ">="
    query = stub.args()["query"].replace("upd_time >=", f"upd_time {sign}")
    sql = adapter(stub, page_size=6, since_bound=bound, query=query)

    whole = walk(sql)

    assert sorted(ids(whole)) == sorted(known)
    for killed_after in range(1, len(whole)):
        resumed = walk(sql, whole[killed_after - 1].cursor)
        assert {*ids(whole[:killed_after]), *ids(resumed)} == set(known)


def test_a_limit_of_the_query_grows_where_a_second_holds_more(stub):
    known = fill(stub, 30)
    for external_id in known:
        stub.touch(external_id, "2024-06-10 14:00:07")
    sql = adapter(stub, page_size=4, query=f"{stub.args()['query']} LIMIT :limit")

    assert sorted(ids(walk(sql))) == sorted(known)


@pytest.mark.parametrize("limit", ["LIMIT 3;", "FETCH FIRST 3 ROWS ONLY"])
def test_a_limit_of_its_own_below_a_page_cuts_no_history_off(foreign, limit):
    known = fill(foreign, 9)
    query = f"{foreign.args()['query']} {limit}"
    assert ids(walk(adapter(foreign, page_size=4, query=query))) == known


def test_a_limit_of_its_own_below_what_shares_a_time_is_an_error(stub):
    for external_id in fill(stub, 9):
        stub.touch(external_id, "2024-06-10 14:00:07")
    query = f"{stub.args()['query']} LIMIT 3"
    with pytest.raises(IngestionError, match="LIMIT :limit"):
        walk(adapter(stub, query=query))


def test_a_row_committed_late_with_an_early_stamp_is_in_the_overlap(stub):
    fill(stub, 1)
    stub.add(StubEntry(2, NOON))
    sql = adapter(stub)
    first = walk(sql)
    late = stub.add(StubEntry(3, NOON))
    early = datetime.now(UTC) - timedelta(seconds=60)
    stub.touch(late, early.astimezone(ZONE).strftime("%Y-%m-%d %H:%M:%S"))

    assert late in ids(walk(sql, first[-1].cursor))


def test_an_edit_moves_the_row_and_a_deletion_leaves_the_listing(stub):
    known = fill(stub, 4)
    sql = adapter(stub)
    first = walk(sql)
    before = {one.external_id: one.stamp for one in sql.list_ids(None)}

    stub.edit(known[1], text="Edited")
    stub.delete(known[2])

    (item,) = [
        raw
        for raw in walk(sql, first[-1].cursor)[0].items
        if raw.external_id == known[1]
    ]
    after = {one.external_id: one.stamp for one in sql.list_ids(None)}
    assert sql.parse(item).text == "Edited"
    assert set(before) - set(after) == {known[2]}
    assert before[known[1]] != after[known[1]] == item.stamp
    assert before[known[0]] == after[known[0]] == first[0].items[0].stamp
    assert sql.fetch(known[2]) is None
    fetched = sql.fetch(known[1])
    assert fetched is not None
    assert fetched.payload == item.payload


def test_without_a_query_of_a_row_it_is_found_by_its_stamp(stub):
    known = fill(stub, 9)
    stub.touch(known[8], None)
    sql = adapter(stub, row_query=None)

    found = sql.fetch(known[4])

    assert found is not None
    assert found.external_id == known[4]
    assert sql.fetch(known[8]) is None


def test_rows_without_a_stamp_are_counted_by_the_check(stub):
    known = fill(stub, 3)
    stub.touch(known[2], None)
    sql = adapter(stub)

    report = sql.check()

    assert ids(walk(sql)) == known[:2]
    assert report.entries == 3
    assert report.newest == datetime(2024, 6, 10, 12, 0, 2, tzinfo=UTC)
    assert any("1 rows have no UPD_TIME" in one for one in report.problems)
    assert any("could write" in one for one in report.problems)


def test_a_window_is_asked_for_by_both_its_bounds(stub):
    known = fill(stub, 30)
    sql = adapter(stub)
    start = datetime(2024, 6, 10, 12, 0, 10, tzinfo=UTC)

    found = ids(walk(sql, None, Window(start, start + timedelta(seconds=10))))

    assert sql.capabilities.windows
    assert found == known[9:19]


def test_wall_times_of_both_nights_lose_no_row(stub):
    walls = [
        *("2024-03-31 01:30:00", "2024-03-31 02:30:00", "2024-03-31 03:10:00"),
        *("2024-10-27 01:59:00", "2024-10-27 02:10:00", "2024-10-27 02:50:00"),
        *("2024-10-27 02:55:00", "2024-10-27 03:05:00"),
    ]
    known = [stub.add(StubEntry(n, NOON)) for n in range(len(walls))]
    for external_id, wall in zip(known, walls, strict=True):
        stub.touch(external_id, wall)
    sql = adapter(stub, page_size=1)

    whole = walk(sql)

    assert sorted(ids(whole)) == sorted(known)
    for page in whole:
        again = stub.add(StubEntry(50, NOON))
        stub.touch(again, "2024-10-27 02:12:00")
        # Written in the hour's second coming, behind a cursor of its first one.
        if page.items[0].external_id == known[5]:
            assert again in ids(walk(sql, page.cursor))
        stub.delete(again)


def test_another_order_ends_the_run(stub):
    fill(stub, 5)
    query = stub.args()["query"].replace("ORDER BY upd_time", "ORDER BY upd_time DESC")

    with pytest.raises(IngestionError) as caught:
        walk(adapter(stub, query=query))

    assert caught.value.reason == "unexpected_shape"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT id, nothing FROM log WHERE upd_time >= :since", "nothing"),
        ("SELECT id FROM log WHERE upd_time >= :since", "UPD_TIME"),
        ("SELECT id, upd_time FROM nowhere WHERE upd_time >= :since", "nowhere"),
        ("WITH x AS (SELECT 1) SELEKT id FROM log WHERE upd_time >= :since", "SELEKT"),
    ],
)
def test_a_statement_that_cannot_work_is_critical_and_told(stub, query, named):
    with pytest.raises(IngestionError) as caught:
        walk(adapter(stub, query=query))

    assert caught.value.reason == "statement_refused"
    assert named in caught.value.message
    assert not isinstance(caught.value, SourceUnreachableError)


def test_what_a_row_holds_is_in_no_message(foreign):
    fill(foreign, 2)
    query = "SELECT id, upd_time, body::int FROM log WHERE upd_time >= :since"

    with pytest.raises(IngestionError) as caught:
        walk(adapter(foreign, query=query + " ORDER BY upd_time"))

    assert "Text" in (caught.value.technical or "")
    assert caught.value.message == "The database refuses a statement of the settings."


def test_a_file_that_is_not_there_is_told(sqlite, tmp_path):
    fill(sqlite, 1)
    dsn = tmp_path / "dsn"
    dsn.write_text(f"sqlite:///{tmp_path / 'nothing.db'}")

    with pytest.raises(SourceUnreachableError) as caught:
        walk(adapter(sqlite, dsn=str(dsn)))

    assert caught.value.reason == "no_file"
    assert "DSN" in caught.value.message


@pytest.mark.requirement("U33")
def test_nothing_is_written_whatever_the_settings_say(foreign):
    fill(foreign, 2)
    query = (
        "WITH gone AS (DELETE FROM log RETURNING id, upd_time)"
        " SELECT id, upd_time FROM gone WHERE upd_time >= :since"
    )

    with pytest.raises(IngestionError):
        walk(adapter(foreign, query=query))

    assert len(ids(walk(adapter(foreign)))) == 2


def test_a_lock_that_outlasts_the_limit_is_tried_again_later(foreign):
    fill(foreign, 2)
    with psycopg.connect(foreign.table.dsn) as conn:
        conn.execute("LOCK TABLE log IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(SourceUnreachableError):
            walk(adapter(foreign, seconds=0.3))
        conn.rollback()
    assert len(ids(walk(adapter(foreign)))) == 2


def test_a_locked_file_is_tried_again_later(sqlite):
    fill(sqlite, 2)
    with closing(sqlite3.connect(sqlite.table.path)) as conn:
        conn.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceUnreachableError):
            walk(adapter(sqlite, seconds=0.3))
    assert len(ids(walk(adapter(sqlite)))) == 2


def test_a_statement_without_end_is_cut_off(stub):
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT 'x' AS id, :since AS upd_time FROM n WHERE i < 0"
    )

    with pytest.raises(SourceUnreachableError):
        walk(adapter(stub, seconds=0.3, query=query))


def test_no_transaction_is_left_open_between_pages(foreign):
    fill(foreign, 5)
    pages = adapter(foreign, page_size=2).pages(None)

    next(pages)

    with psycopg.connect(foreign.table.dsn) as conn:
        rows = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle'"
            " AND backend_type = 'client backend'"
        ).fetchone()
    assert rows == (0,)


def test_a_refused_login_is_critical(sqlite, postgres, tmp_path):
    scheme, _, rest = postgres.url.partition("://")
    address = rest.rpartition("@")[2]
    secret = tmp_path / "dsn"
    secret.write_text(f"{scheme}://nobody:wrong@{address}", encoding="utf-8")

    with pytest.raises(IngestionError) as caught:
        walk(adapter(sqlite, dsn=str(secret)))

    assert caught.value.reason == "not_authorised"
    assert "wrong" not in f"{caught.value.message} {caught.value.technical}"


def test_a_server_that_is_not_there_is_asked_again(sqlite, tmp_path):
    secret = tmp_path / "dsn"
    secret.write_text("postgresql://127.0.0.1:1/x", encoding="utf-8")

    with pytest.raises(SourceUnreachableError):
        walk(adapter(sqlite, dsn=str(secret)))


@pytest.mark.parametrize(
    ("dsn", "named"),
    [
        ("mysql://u:p@h/db", "logchord[mysql]"),
        ("oracle://u:p@h/db", "logchord[oracle]"),
        ("mssql://u:p@h/db", "begins with none"),
        ("nonsense", "begins with none"),
    ],
)
def test_a_missing_driver_says_what_to_install(sqlite, tmp_path, dsn, named):
    secret = tmp_path / "dsn"
    secret.write_text(dsn, encoding="utf-8")

    with pytest.raises(ConfigurationError) as caught:
        walk(adapter(sqlite, dsn=str(secret)))

    assert named in caught.value.message


def test_latin_1_in_a_column_of_text_is_read_and_said(sqlite):
    known = fill(sqlite, 2)
    sqlite.set_bytes(known[0], "text", "Prüfung 4 €".encode("cp1252"))
    sql = adapter(sqlite)

    read = [sql.parse(raw) for raw in walk(sql)[0].items]

    assert read[0].text == "Prüfung 4 €"
    assert read[0].flags == ("charset_guess",)
    assert read[1].flags == ()


def test_native_types_of_postgres_are_read_as_what_they_mean(foreign):
    with psycopg.connect(foreign.table.dsn, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE native (id bigint, kept char(8), at timestamptz, day date,"
            " amount numeric, tags text[], blob bytea, upd timestamptz)"
        )
        conn.execute(
            "INSERT INTO native VALUES (7, 'RF', '2024-06-10 14:00+02', '2024-06-10',"
            " 1.50, '{a,b}', '\\x0001', '2024-06-10 14:00:00.5+02'),"
            " (8, 'RF', 'infinity', '0044-03-15 BC', 'NaN', NULL, NULL,"
            " '2024-06-10 15:00+02')"
        )
    sql = adapter(
        foreign,
        query="SELECT id, kept, at, day, amount, tags, blob, upd FROM native"
        " WHERE upd >= :since ORDER BY upd",
        ids_query="SELECT id, upd FROM native",
        row_query=None,
        since_column="upd",
        map={
            "external_id": "id",
            "title": "kept",
            "entry_time": "at",
            "event_time": "day",
            "tags": "tags",
        },
    )

    (page,) = walk(sql)
    entry = sql.parse(page.items[0])

    assert [raw.external_id for raw in page.items] == ["7", "8"]
    assert (entry.title, entry.tags) == ("RF", ("a", "b"))
    assert entry.entry_time == NOON
    assert entry.event_time == datetime(2024, 6, 9, 22, tzinfo=UTC)
    assert entry.metadata["amount"] == "1.50"
    assert "blob" not in entry.metadata
    with pytest.raises(MalformedEntryError):
        sql.parse(page.items[1])
    found = sql.fetch("7")
    assert found is not None
    assert found.external_id == "7"


def test_numbers_are_compared_in_their_unit(stub):
    known = fill(stub, 3)
    cast = "CAST(strftime('%s', upd_time) AS INTEGER)"
    if isinstance(stub.table, PostgresTable):
        cast = "CAST(extract(epoch FROM upd_time) AS bigint)"
    rows = f"(SELECT id, title, {cast} AS n FROM log) AS x"
    sql = adapter(
        stub,
        query=f"SELECT id, title, n FROM {rows} WHERE n >= :since ORDER BY n",
        ids_query=None,
        row_query=None,
        since_column="n",
        unit="s",
        map={"external_id": "id", "title": "title", "entry_time": "n"},
    )

    pages = walk(sql)

    assert ids(pages) == known
    assert ids(walk(sql, pages[-1].cursor)) == known
    assert not has(sql, ListsIds)
    assert not has(sql, Fetches)


def test_an_unknown_cursor_reads_everything(stub):
    known = fill(stub, 3)

    for cursor in ({"v": 9}, {"v": 1, "since": 5}, {"v": 1, "since": "2024"}):
        assert ids(walk(adapter(stub), cursor)) == known

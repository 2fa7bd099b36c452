"""Statements of the settings, values of any driver, and rows that become entries."""

import uuid
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.adapter_contract.contract import (
    Fetches,
    ListsIds,
    RawItem,
    Source,
    SourceIO,
)
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError, SourceUnreachableError
from tests.support.linear_cost import assert_linear
from workers.adapters.sql import values as sql_values
from workers.adapters.sql.drivers import dialect_of, scheme_of
from workers.adapters.sql.generic_sql import GenericSQL
from workers.adapters.sql.postgres import Postgres
from workers.adapters.sql.settings import SQLArgs
from workers.adapters.sql.statement import Statement

ARGS = {
    "dsn": "RING_DSN",
    "query": "SELECT ID, T, AT FROM V WHERE AT >= :since ORDER BY AT",
    "since_column": "AT",
    "map": {"external_id": "ID", "title": "T", "entry_time": "AT", "tags": "TAGS"},
}
ROW = {"ID": 7, "T": "Gun trip", "AT": "2024-06-10 05:00", "TAGS": '["RF"]', "N": 1}


def sql(**args: Any) -> GenericSQL:
    source = Source(
        "ring", timezone="Asia/Tokyo", args=SQLArgs.model_validate({**ARGS, **args})
    )
    return GenericSQL(source, cast("SourceIO", None))


def has(one: object, kind: type) -> bool:
    """Tell as the runtime does what an adapter can."""
    return isinstance(one, kind)


@pytest.mark.parametrize(
    ("text", "named", "pyformat"),
    [
        ("SELECT :since", "SELECT :since", "SELECT %(since)s"),
        ("SELECT ':id' || :id", "SELECT ':id' || :id", "SELECT ':id' || %(id)s"),
        ("SELECT a::text", "SELECT a::text", "SELECT a::text"),
        ("SELECT '5%' , 5 % 2", "SELECT '5%' , 5 % 2", "SELECT '5%%' , 5 %% 2"),
        ("SELECT 1 -- :x\n, 2", "SELECT 1  , 2", "SELECT 1  , 2"),
        ("SELECT /* :x ; */ 2", "SELECT   2", "SELECT   2"),
        ("SELECT 'it''s :x'", "SELECT 'it''s :x'", "SELECT 'it''s :x'"),
        ('SELECT ":x" FROM `:y`', 'SELECT ":x" FROM `:y`', 'SELECT ":x" FROM `:y`'),
        ("SELECT $$:x$$, $a$ :y $a$", "SELECT $$:x$$, $a$ :y $a$", None),
        ("SELECT 'a:b;c';", "SELECT 'a:b;c';", None),
        ("  with x as (select 1) select 1", None, None),
        ("(SELECT 1) UNION (SELECT 2)", None, None),
        ("SELECT 1; -- the end", "SELECT 1;  ", None),
    ],
)
def test_parameters_are_found_outside_of_quotations_alone(text, named, pyformat):
    statement = Statement(text)

    assert statement.written("named") == (named or text)
    if pyformat is not None:
        assert statement.written("pyformat") == pyformat


@pytest.mark.parametrize(
    "text",
    [
        *("", "DELETE FROM log", "SELECT 1; DROP TABLE log", "SELECT :other"),
        *("SELECT :SINCE", "EXPLAIN SELECT 1", "/* SELECT a */ UPDATE log SET a = 1"),
        *("'SELECT' ", "SET x = 1"),
    ],
)
def test_anything_but_one_select_is_refused(text: str):
    with pytest.raises(ValueError, match=r"SELECT|parameter|statement"):
        Statement(text)


@pytest.mark.requirement("B19")
@pytest.mark.parametrize(
    "hostile",
    ["a" * 50_000 + "!", "$" * 50_000, "$a" * 50_000, ":" * 50_000, "'" * 50_001],
)
def test_a_hostile_statement_costs_no_time(hostile: str):
    def read(text: str) -> None:
        with pytest.raises(ValueError, match=r"SELECT|parameter"):
            Statement(text)

    assert_linear(read, hostile)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"query": "SELECT 1"}, ":since"),
        ({"query": "DELETE FROM x WHERE a = :since"}, "SELECT"),
        ({"ids_query": "SELECT id FROM v WHERE a > :since"}, "ids_query"),
        ({"row_query": "SELECT 1"}, "row_query"),
        ({"row_query": "SELECT :id, :since"}, "row_query"),
        ({"rows_per_fetch": 0}, "rows_per_fetch"),
    ],
)
def test_settings_that_cannot_work_are_refused(args: dict[str, Any], named: str):
    with pytest.raises(ValidationError, match=named):
        SQLArgs.model_validate({**ARGS, **args})


def test_what_has_no_query_is_not_promised():
    bare = sql()
    full = sql(
        query=ARGS["query"].replace("ORDER", "AND AT < :until ORDER"),  # type: ignore[attr-defined]
        ids_query="SELECT ID FROM V",
        since_is="modified",
        map={**cast("dict[str, str]", ARGS["map"]), "readers": "ACL"},
    )

    assert not has(bare, ListsIds)
    assert not has(bare, Fetches)
    assert (bare.capabilities.edits, bare.capabilities.deletes) == (
        "rescan",
        "invisible",
    )
    assert not bare.capabilities.windows
    assert (full.capabilities.edits, full.capabilities.deletes) == ("cursor", "index")
    assert (full.capabilities.windows, full.capabilities.readers) == (True, "entry")
    assert has(full, ListsIds)
    assert has(full, Fetches)


def test_a_row_is_read_by_its_columns_and_nothing_is_lost():
    entry = sql().parse(RawItem("7", ROW))

    assert (entry.external_id, entry.title, entry.tags) == ("7", "Gun trip", ("RF",))
    assert entry.entry_time == datetime(2024, 6, 9, 20, tzinfo=UTC)
    assert entry.metadata == {"N": "1"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (Decimal("1.50"), "1.50"),
        (datetime(2024, 6, 10, 5, tzinfo=UTC), "2024-06-10 05:00:00+00:00"),
        (date(2024, 6, 10), "2024-06-10"),
        (b"\xe9", {"base64": "6Q=="}),
        (memoryview(b"a"), {"base64": "YQ=="}),
        ([Decimal(1), None], ["1", None]),
        ({"a": date(2024, 1, 1)}, {"a": "2024-01-01"}),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_values_of_any_driver_become_json(value: Any, expected: Any):
    assert sql_values.as_json(value, 10) == expected


def test_a_large_object_is_read_up_to_the_size_of_an_entry():
    class Large:
        def read(self, offset: int, amount: int) -> str:
            return ("x" * 100)[offset - 1 : offset - 1 + amount]

    assert sql_values.as_json(Large(), 10) == "x" * 11


def test_bytes_are_read_by_the_one_rule_and_pictures_left_out():
    payload = {
        "T": sql_values.as_json("Prüfung €".encode("cp1252"), 99),
        "PICTURE": sql_values.as_json(b"\x89PNG\x00", 99),
    }

    record, flags = sql_values.record_of(payload, {"T"})

    assert record == {"T": "Prüfung €"}
    assert flags == ("charset_guess",)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("postgresql://h/db", "postgresql"),
        ("postgres://h/db", "postgresql"),
        ("postgresql+psycopg://h/db", "postgresql"),
        ("mysql+pymysql://h/db", "mysql"),
        ("sqlite:////var/log.db", "sqlite"),
        ("https://h/", None),
        ("sqlite", None),
    ],
)
def test_the_scheme_of_an_address_says_the_database(address: str, kind: str | None):
    assert scheme_of(address) == kind
    recognised = GenericSQL.recognise(address, cast("SourceIO", None))
    assert (recognised is not None) is (kind is not None)


def test_a_code_of_postgres_says_whether_to_try_again():
    dialect = dialect_of("postgresql://h/db")
    assert isinstance(dialect, Postgres)

    later = dialect.failure(psycopg.errors.QueryCanceled("late"))
    refused = dialect.failure(psycopg.errors.UndefinedColumn("no such"))
    login = dialect.failure(psycopg.OperationalError("password authentication failed"))
    gone = dialect.failure(psycopg.OperationalError("connection refused"))

    assert isinstance(later, SourceUnreachableError)
    assert isinstance(gone, SourceUnreachableError)
    assert refused.reason == "statement_refused"
    assert login.reason == "not_authorised"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["base64", "x"]), inner, max_size=3)
    ),
    max_leaves=9,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(ROW)), values, values)
def test_whatever_a_row_holds_it_is_read_or_refused(key: str, put: Any, other: Any):
    for payload in (ROW | {key: put}, ROW | {key: {"base64": put}}, other, b"{}"):
        try:
            read = sql().parse(replace(RawItem("7", ROW), payload=payload))
        except MalformedEntryError:
            continue
        assert isinstance(read, Entry)

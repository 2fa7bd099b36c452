"""REST sources by settings: what they refuse, and how items and links are read."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.adapter_contract.contract import RawItem, Reply, Source, SourceIO
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError
from tests.support.linear_cost import assert_linear
from workers.adapters.rest.generic_rest import GenericREST
from workers.adapters.rest.paging import Pager
from workers.adapters.rest.settings import RestArgs

MAP = {"external_id": "/id", "title": "/head/title", "entry_time": "/at"}
ITEM = {"id": 7, "head": {"title": "Gun trip"}, "at": "2024-06-10 05:00", "n": [1]}


@dataclass
class Answered:
    headers: dict[str, str]
    url: str = "https://log.example.org/api/list?page=1"
    body: bytes = b"[]"


def answered(**headers: str) -> Reply:
    return cast("Reply", Answered(headers))


def rest(**args: Any) -> GenericREST:
    source = Source(
        "log",
        base_url="https://log.example.org/api/",
        timezone="Europe/Berlin",
        args=RestArgs.model_validate({"map": MAP, **args}),
    )
    return GenericREST(source, cast("SourceIO", None))


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"paging": "offset"}, "params.offset"),
        ({"paging": "page"}, "params.page"),
        ({"paging": "cursor"}, "next_pointer"),
        ({"paging": "anchor"}, "params.cursor"),
        (
            {
                "paging": "offset",
                "params": {"offset": "o", "since": "s"},
                "order": "created_desc",
            },
            "params.until",
        ),
        ({"params": {"until": "u"}}, "params.since"),
        ({"detail": True}, "item_path"),
        ({"item_path": "/entry"}, "{id}"),
        ({"order": "modified_asc"}, "modified_field"),
        ({"items_pointer": "/a~b"}, "pointer"),
        ({"params": {"until": "u", "unknown": "x"}}, "unknown"),
    ],
)
def test_settings_that_cannot_work_name_what_is_missing(args, named):
    with pytest.raises(ValidationError, match=named):
        RestArgs.model_validate(args)


def test_an_item_is_read_by_its_pointers_and_nothing_is_lost():
    entry = rest().parse(RawItem("7", ITEM))

    assert entry.external_id == "7"
    assert entry.title == "Gun trip"
    assert entry.entry_time == datetime(2024, 6, 10, 3, tzinfo=UTC)
    assert entry.metadata == {"n": "[1]"}


def test_what_is_not_described_is_not_promised():
    bare = rest().capabilities
    full = rest(
        params={"since": "s", "until": "u"},
        order="modified_asc",
        modified_field="/changed",
        deleted_field="/gone",
        total_pointer="/n",
        map={**MAP, "reply_to": "/parent", "readers": "/acl"},
    ).capabilities

    assert (bare.windows, bare.counts, bare.replies) == (False, False, "none")
    # The newest hundred of a list are not all: what is not among them is not gone.
    assert (bare.edits, bare.deletes, bare.readers) == ("rescan", "invisible", "none")
    for whole in (
        {"complete_snapshot": True},
        {"total_pointer": "/n"},
        {"item_path": "/e/{id}"},
        {"paging": "offset", "params": {"offset": "skip"}},
    ):
        assert rest(**whole).capabilities.deletes == "rescan"
    assert (full.windows, full.counts, full.replies) == (True, True, "parent")
    assert (full.edits, full.deletes, full.readers) == ("cursor", "flagged", "entry")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('</api/list?page=2>; rel="next"', "https://log.example.org/api/list?page=2"),
        ('<a>; rel=prev, <b?x="1">; rel=next', 'https://log.example.org/api/b?x="1"'),
        ('<x>; title="a, b; rel=next"; rel="last"', None),
        ('<x>; rel="prev next"', "https://log.example.org/api/x"),
        ("", None),
        ("rubbish", None),
    ],
)
def test_the_next_page_is_found_in_a_header_of_links(header: str, expected: str | None):
    pager = Pager(RestArgs(paging="link_header"), "https://log.example.org/", 10)

    turn = pager.after(None, answered(link=header), [], ["1"], None)

    assert turn.position == expected


@pytest.mark.requirement("B19")
@pytest.mark.parametrize(
    "hostile",
    ["a" * 50_000 + "!", "<" * 50_000, "<a>" + "; x=" * 50_000, "<a>;" + " " * 50_000],
)
def test_a_hostile_header_of_links_costs_no_time(hostile: str):
    pager = Pager(RestArgs(paging="link_header"), "https://log.example.org/", 10)

    def read(link: str) -> None:
        pager.after(None, answered(link=link), [], ["1"], None)

    assert_linear(read, hostile)


def test_an_address_of_the_next_page_is_made_absolute():
    args = RestArgs(paging="cursor", next_pointer="/next")
    pager = Pager(args, "https://log.example.org/api/list", 10)

    turn = pager.after(None, answered(), {"next": "?page=2"}, ["1"], None)
    ask = pager.ask(turn.position, {"from": "x"})

    assert ask.url == "https://log.example.org/api/list?page=2"
    assert not ask.params


@pytest.mark.parametrize("token", [None, "", True, [1], {"a": 1}])
def test_what_is_no_token_ends_the_list(token: Any):
    args = RestArgs(paging="cursor", next_pointer="/next")
    pager = Pager(args, "https://log.example.org/api/list", 10)

    assert pager.after(None, answered(), {"next": token}, ["1"], None).is_end


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=9,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["id", "head", "at", "n"]), values, values)
def test_whatever_an_item_holds_it_is_read_or_refused(key: str, put: Any, other: Any):
    for payload in (ITEM | {key: put}, ITEM | {key: {"title": put}}, other, b"{}"):
        raw = RawItem("7", ITEM)
        try:
            read = rest().parse(replace(raw, payload=payload))
        except MalformedEntryError:
            continue
        assert isinstance(read, Entry)

"""REST lists in every style of paging, and what goes wrong with each of them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from shared.adapter_contract.contract import Fetches, Source, Window
from shared.errors import IngestionError
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.generic_rest import RestStub
from tests.contract.walking import NOON, fill, ids, walk
from workers.adapters.kit.stub import StubEntry, StubFile
from workers.adapters.rest.generic_rest import GenericREST
from workers.adapters.rest.settings import RestArgs

STUB = RestStub
STYLES = ["none", "offset", "page", "cursor", "link_header", "anchor"]


def adapter(
    stub: RestStub, io: PlainIO, *, page_size: int = 500, **args: Any
) -> GenericREST:
    source = Source(
        "log",
        base_url=stub.base_url,
        timezone="Europe/Berlin",
        page_size=page_size,
        read_by="as it is",
        args=RestArgs.model_validate(stub.args() | args),
    )
    return GenericREST(source, io)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("page_size", [1, 7, 500])
def test_every_style_brings_everything_and_then_the_overlap(
    make_stub, io, style, newest_first, page_size
):
    stub = make_stub(style, newest_first=newest_first, cap=10)
    known = fill(stub, 25)
    rest = adapter(stub, io, page_size=page_size)

    first = walk(rest)
    later = stub.add(StubEntry(26, NOON + timedelta(minutes=26)))
    second = walk(rest, first[-1].cursor)

    assert sorted(ids(first)) == sorted(known)
    assert not any(page.gaps for page in first)
    assert {later} <= set(ids(second)) <= {later, *known[-3:]}


@pytest.mark.parametrize("style", ["offset", "page", "cursor", "link_header"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_asked_again_without_news_it_costs_one_request(
    make_stub, io, style, newest_first
):
    stub = make_stub(style, newest_first=newest_first, cap=10)
    known = fill(stub, 25)
    rest = adapter(stub, io)
    first = walk(rest)
    asked = len(stub.requests())

    again = walk(rest, first[-1].cursor)

    assert asked >= 3
    assert len(stub.requests()) == asked + 1
    assert set(ids(again)) <= set(known[-3:])


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_list_that_has_not_changed_is_not_sent_again(make_stub, io, newest_first):
    stub = make_stub("offset", newest_first=newest_first)
    known = fill(stub, 5)
    order = stub.args()["params"]["fixed"]
    rest = adapter(
        stub,
        io,
        paging="none",
        params={"since": "from", "limit": "size", "fixed": order},
    )
    first = walk(rest)
    second = walk(rest, first[-1].cursor)
    asked = len(stub.requests())

    third = walk(rest, second[-1].cursor)

    assert len(stub.requests()) == asked + 1
    assert ids(second) != []
    assert [(page.items, page.cursor) for page in third] == [((), second[-1].cursor)]
    assert third[-1].complete_to is not None
    # What changes is sent, whole, and what a window holds is sent in any case.
    stub.edit(known[-1], title="Edited")
    assert known[-1] in ids(walk(rest, third[-1].cursor))
    span = Window(NOON, None)
    assert ids(walk(rest, third[-1].cursor, span)) != []


def test_another_map_has_the_same_list_sent_again(make_stub, io):
    stub = make_stub("none")
    known = fill(stub, 3)
    settings = SourceSettings(
        adapter="generic_rest",
        base_url=stub.base_url,
        timezone="Europe/Berlin",
        args=stub.args() | {"params": {}},
    )
    other_map = settings.args["map"] | {"metadata.again": "id"}
    changed = [
        settings.model_copy(update={"args": settings.args | {"map": other_map}}),
        settings.model_copy(update={"timezone": "Asia/Tokyo"}),
        settings.model_copy(update={"language": "de"}),
    ]

    def opened(one: SourceSettings, *, is_dry: bool = False) -> GenericREST:
        found = load_adapter.open_source(
            "log", one, io, max_entry_bytes=1_000_000, is_dry=is_dry
        )
        return cast("GenericREST", found.adapter)

    cursor = walk(opened(settings))[-1].cursor

    assert ids(walk(opened(settings), cursor)) == []
    for one in changed:
        assert sorted(ids(walk(opened(one), cursor))) == known
    # What is stored nowhere is asked for whole, whatever is known of it.
    assert sorted(ids(walk(opened(settings, is_dry=True), cursor))) == known


@pytest.mark.parametrize("is_over", [False, True])
def test_a_time_of_change_is_believed_once_its_second_is_over(make_stub, io, is_over):
    stub = make_stub("none")
    fill(stub, 3)
    ago = timedelta(minutes=1) if is_over else timedelta(seconds=-1)
    stub.last_modified = datetime.now(UTC) - ago
    rest = adapter(stub, io, params={})
    first = walk(rest)
    # In the same second, so that the time of change stays.
    late = stub.add(StubEntry(9, NOON))

    again = ids(walk(rest, first[-1].cursor))

    assert (late in again) != is_over


def test_an_answer_of_which_a_part_is_stored_is_sent_again(make_stub, io):
    stub = make_stub("none")
    known = fill(stub, 5)
    rest = adapter(stub, io, page_size=2, params={})

    parts = walk(rest)

    assert len(parts) == 3
    for part in parts[:-1]:
        assert sorted(ids(walk(rest, part.cursor))) == known
    assert ids(walk(rest, parts[-1].cursor)) == []
    # By a server that gives nothing to ask by, all of it comes each time.
    stub.answers_etag = False
    stub.edit(known[0], title="Edited")
    again = walk(rest, parts[-1].cursor)
    assert sorted(ids(again)) == known
    assert sorted(ids(walk(rest, again[-1].cursor))) == known


@pytest.mark.parametrize("style", STYLES[1:])
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_walk_is_resumed_behind_any_of_its_pages(make_stub, io, style, newest_first):
    stub = make_stub(style, newest_first=newest_first, cap=4)
    known = fill(stub, 18)
    rest = adapter(stub, io)
    whole = walk(rest)

    for killed_after in range(1, len(whole)):
        cursor = json.loads(json.dumps(whole[killed_after - 1].cursor))
        stub.generation += killed_after % 2
        resumed = walk(rest, cursor)
        assert {*ids(whole[:killed_after]), *ids(resumed)} == set(known)


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_burst_of_one_second_is_not_cut_at_any_page(make_stub, io, newest_first):
    stub = make_stub(newest_first=newest_first, cap=5)
    known = [stub.add(StubEntry(n, NOON)) for n in range(23)]
    rest = adapter(stub, io)

    whole = walk(rest)

    assert set(ids(whole)) == set(known)
    for killed_after in range(1, len(whole)):
        resumed = walk(rest, whole[killed_after - 1].cursor)
        assert {*ids(whole[:killed_after]), *ids(resumed)} == set(known)


def test_an_entry_of_next_year_does_not_drag_the_cursor(make_stub, io):
    stub = make_stub()
    ahead = stub.add(StubEntry(1, datetime.now(UTC) + timedelta(days=365)))
    rest = adapter(stub, io)

    first = walk(rest)
    now = stub.add(StubEntry(2, datetime.now(UTC)))
    second = walk(rest, first[-1].cursor)

    assert ids(first) == [ahead]
    assert now in ids(second)


def test_a_window_is_asked_for_by_both_its_bounds(make_stub, io):
    stub = make_stub()
    known = fill(stub, 30)
    rest = adapter(stub, io)
    window = Window(NOON + timedelta(minutes=10), NOON + timedelta(minutes=20))

    assert rest.capabilities.windows
    assert set(ids(walk(rest, None, window))) == set(known[9:20])


def test_an_edit_is_seen_by_its_time_of_change(make_stub, io):
    stub = make_stub(by_change=True, keeps_removed=True)
    known = fill(stub, 5)
    rest = adapter(stub, io)
    first = walk(rest)
    assert rest.capabilities.edits == "cursor"
    assert rest.capabilities.deletes == "flagged"

    stub.edit(known[1], text="Edited")
    stub.delete(known[2])
    second = walk(rest, first[-1].cursor)

    entries = {raw.external_id: rest.parse(raw) for raw in second[0].items}
    assert entries[known[1]].text == "Edited"
    assert entries[known[2]].deleted


def test_items_are_read_by_their_map(make_stub, io):
    stub = make_stub()
    stub.add(StubEntry(1, NOON))
    stub.add(
        StubEntry(
            2,
            NOON,
            title="RF trip",
            tags=("RF", "Ring"),
            reply_to=1,
            files=(StubFile("a b.png", b"png"),),
            metadata={"run": "7"},
        )
    )
    rest = adapter(stub, io)

    entry = rest.parse(walk(rest)[0].items[1])

    assert entry.title == "RF trip"
    assert entry.tags == ("RF", "Ring")
    assert entry.reply_to == "e-1"
    assert entry.authors == ("a.author",)
    assert entry.logbooks == ("Operations",)
    (file,) = entry.attachments
    assert (file.filename, file.bytes) == ("a b.png", 3)
    assert file.url == f"{stub.base_url}/files/e-2/0-a%20b.png"
    assert entry.metadata == {"run": "7"}


def test_details_are_asked_for_one_by_one(make_stub, io):
    stub = make_stub(detail=True, item_path="/entries/{id}", item_pointer="/entry")
    known = fill(stub, 3)
    rest = adapter(stub, io)

    (page,) = walk(rest)

    assert [rest.parse(raw).title for raw in page.items] == ["T1", "T2", "T3"]
    assert sum("/entries/e-" in one for one in stub.requests()) == 3
    stub.delete(known[0])
    assert rest.fetch(known[0]) is None
    assert not isinstance(adapter(make_stub(), io), Fetches)


@pytest.mark.parametrize("said", [{"entry": None}, {"error": "gone"}, {"entry": {}}])
def test_an_entry_that_is_gone_may_be_nothing_with_status_200(make_stub, io, said):
    stub = make_stub(detail=True, item_path="/entries/{id}", item_pointer="/entry")
    (known,) = fill(stub, 1)
    rest = adapter(stub, io)
    stub.delete(known)
    stub.says_of_gone = said
    assert rest.fetch(known) is None
    stub.says_of_gone = {"entry": "?"}
    with pytest.raises(IngestionError):
        rest.fetch(known)


def test_a_place_of_the_entry_that_is_wrong_is_no_entry_without_details(make_stub, io):
    stub = make_stub(detail=True, item_path="/entries/{id}", item_pointer="/item")
    fill(stub, 1)
    with pytest.raises(IngestionError):
        walk(adapter(stub, io))


def test_a_list_may_be_asked_for_by_post(make_stub, io):
    stub = make_stub(cap=2, method="POST")
    known = fill(stub, 5)

    assert ids(walk(adapter(stub, io))) == known


def test_a_source_that_knows_no_paging_leaves_a_gap(make_stub, io):
    stub = make_stub("page", cap=5)
    fill(stub, 12)
    stub.ignores_paging = True

    pages = walk(adapter(stub, io, total_pointer=None))

    (gap,) = [gap for page in pages for gap in page.gaps]
    assert "same page again" in gap.reason


def test_fewer_than_the_source_counts_are_a_gap(make_stub, io):
    stub = make_stub("cursor", cap=5)
    fill(stub, 12)
    stub.fault("cut_listing")

    pages = walk(adapter(stub, io))

    (gap,) = [gap for page in pages for gap in page.gaps]
    assert "counts 12 entries and sent 9" in gap.reason or "sent 10" in gap.reason


def test_a_list_in_another_order_ends_the_run(make_stub, io):
    stub = make_stub(newest_first=True)
    fill(stub, 5)

    with pytest.raises(IngestionError) as caught:
        walk(adapter(stub, io, order="created_asc"))

    assert caught.value.reason == "unexpected_shape"


def test_a_list_elsewhere_is_another_shape(make_stub, io):
    stub = make_stub()
    fill(stub, 3)

    for pointer in ("/data", "/data/rows", "", "/data/list/0"):
        with pytest.raises(IngestionError) as caught:
            walk(adapter(stub, io, items_pointer=pointer))
        assert caught.value.reason == "unexpected_shape"


@pytest.mark.parametrize(
    "cursor",
    [
        {"v": 99, "since": "2024-06-10T12:00:00+00:00"},
        {"v": 1, "since": 5, "walk": [1]},
        {"v": 1, "walk": {"at": {"x": 1}, "upper": "never"}},
    ],
)
def test_an_unknown_cursor_reads_everything(make_stub, io, cursor):
    stub = make_stub()
    known = fill(stub, 5)

    assert ids(walk(adapter(stub, io), cursor)) == known


def test_its_check_names_the_newest_and_what_cannot_be_read(make_stub, io):
    stub = make_stub(newest_first=True)
    known = fill(stub, 5)
    stub.malform(known[0])

    report = adapter(stub, io).check()

    assert report.newest == NOON + timedelta(minutes=5)
    assert report.entries == 5
    assert len(report.problems) == 1

"""Every registered adapter keeps the rows of the conformance kit that are for it."""

import pytest

from workers.adapters.kit import suite
from workers.adapters.kit.checks import (
    changes,
    faults,
    files,
    load,
    parse,
    snapshot,
    text,
    threads,
    times,
)

test_every_adapter_is_examined = suite.test_every_adapter_of_the_package_is_examined
test_it_lacks_only_what_the_page_says = suite.test_it_lacks_only_what_the_page_says


@pytest.mark.requirement("ADP1")
def test_it_says_what_it_is_and_imports_what_it_may(kit_reading):
    parse.descriptor(kit_reading)


@pytest.mark.requirement("ADP15")
def test_a_time_is_the_right_instant_or_flagged_or_put_aside(kit_reading):
    times.times(kit_reading)


@pytest.mark.requirement("ADP17")
def test_a_text_arrives_as_it_was_written_in_any_charset(kit_reading):
    text.charsets(kit_reading)


@pytest.mark.requirement("ADP18")
def test_what_was_escaped_is_unescaped_as_often_as_it_was(kit_reading):
    text.escapes(kit_reading)


@pytest.mark.requirement("ADP20", "B11")
def test_what_is_missing_is_legal_and_what_is_too_much_costs_itself(kit_reading):
    text.missing_and_oversized(kit_reading)


@pytest.mark.requirement("ADP24")
def test_parse_needs_neither_clock_nor_network_nor_chance(kit_reading):
    parse.pure(kit_reading)


@pytest.mark.requirement("ADP25")
def test_a_spoilt_payload_is_an_entry_or_costs_itself(kit_reading):
    parse.spoilt_payloads(kit_reading)


@pytest.mark.requirement("ADP2")
def test_a_full_load_stores_every_entry_once_and_in_order(kit_keeping):
    load.full_load(kit_keeping)


@pytest.mark.requirement("ADP2")
def test_what_is_read_fits_into_the_memory_that_a_worker_has_as_shipped(kit_keeping):
    load.load_in_a_worker(kit_keeping)


@pytest.mark.requirement("ADP3")
def test_an_unchanged_source_writes_nothing_and_is_asked_little(kit_keeping):
    load.unchanged_source(kit_keeping)


@pytest.mark.requirement("ADP4")
def test_a_run_that_dies_behind_any_page_loses_and_doubles_nothing(kit_keeping):
    load.killed_after_each_page(kit_keeping)


@pytest.mark.requirement("ADP5")
def test_what_appears_while_pages_are_read_is_taken_in(kit_keeping):
    load.appear_during_a_run(kit_keeping)


@pytest.mark.requirement("ADP6")
def test_a_back_dated_entry_is_found_as_promised(kit_keeping):
    changes.back_dated(kit_keeping)


@pytest.mark.requirement("ADP7")
def test_each_edit_is_one_revision_and_no_edit_is_none(kit_keeping):
    changes.edits(kit_keeping)


@pytest.mark.requirement("ADP8")
def test_an_edit_with_a_new_id_leaves_one_live_entry(kit_keeping):
    changes.edits_with_new_ids(kit_keeping)


@pytest.mark.requirement("ADP9")
def test_what_is_deleted_is_a_tombstone_and_may_come_back(kit_keeping):
    changes.deletions(kit_keeping)


@pytest.mark.requirement("ADP10")
def test_a_listing_that_lies_deletes_nothing_and_is_told(kit_keeping):
    changes.lying_listings(kit_keeping)


@pytest.mark.requirement("ADP11")
def test_threads_are_stable_whatever_refers_to_whom(kit_keeping):
    threads.threads(kit_keeping)


@pytest.mark.requirement("ADP12")
def test_one_number_in_two_logbooks_is_two_entries(kit_keeping):
    threads.scoped_ids(kit_keeping)


@pytest.mark.requirement("ADP13")
def test_entries_of_one_second_are_all_taken_in_across_pages(kit_keeping):
    load.same_second(kit_keeping)


@pytest.mark.requirement("ADP14")
def test_more_than_a_page_in_one_second_is_stored_or_a_gap_is_told(kit_keeping):
    load.beyond_the_cap(kit_keeping)


@pytest.mark.requirement("ADP15")
def test_an_entry_of_next_year_does_not_drag_the_cursor(kit_keeping):
    changes.far_future(kit_keeping)


@pytest.mark.requirement("ADP16")
def test_a_source_whose_clock_is_wrong_loses_nothing(kit_keeping):
    changes.wrong_clock(kit_keeping)


@pytest.mark.requirement("ADP19")
def test_a_malformed_item_costs_itself_until_it_is_mended(kit_keeping):
    changes.malformed_item(kit_keeping)


@pytest.mark.requirement("ADP21")
def test_each_fault_of_the_server_has_its_class_and_moves_no_cursor(kit_keeping):
    faults.server_faults(kit_keeping)


@pytest.mark.requirement("ADP22")
def test_attachments_of_any_name_and_address_do_no_harm(kit_keeping):
    files.attachments(kit_keeping)


@pytest.mark.requirement("ADP23")
def test_a_cursor_is_small_and_json_and_an_unknown_one_no_crash(kit_keeping):
    load.cursor(kit_keeping)


@pytest.mark.requirement("ADP26")
def test_a_draft_is_not_shown_until_it_is_finished(kit_keeping):
    changes.drafts(kit_keeping)


@pytest.mark.requirement("ADP27")
def test_it_stops_between_pages_and_holds_none(kit_reading):
    load.stops_between_pages(kit_reading)


@pytest.mark.requirement("ADP28")
def test_any_size_of_page_gives_the_same_entries(kit_reading):
    load.page_sizes(kit_reading)


@pytest.mark.requirement("ADP29")
def test_the_row_of_a_run_counts_truly_and_a_limit_loses_nothing(kit_keeping):
    changes.counts(kit_keeping)


@pytest.mark.requirement("ADP30")
def test_half_a_snapshot_stands_in_for_its_source_and_takes_nothing(kit_keeping):
    snapshot.fallback(kit_keeping)


@pytest.mark.requirement("ADP31")
def test_one_poller_fetches_and_a_failing_source_is_left_alone_longer(kit_keeping):
    faults.pollers(kit_keeping)


@pytest.mark.requirement("ADP32")
def test_every_kind_of_run_stores_the_same(kit_keeping):
    files.every_kind_of_run(kit_keeping)

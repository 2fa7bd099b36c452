"""Answers made of what was found: cited, pinned, graded, or refused."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.answers.answer_question import answer_question
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.search.jobs import close_job
from shared.search.jobs import job as jobs
from shared.search.jobs.close_job import Ending
from shared.search.query.plan import Plan
from shared.search.query.result_detail import Synthesis
from shared.search.response.end_search import Beside, end_search, store
from shared.search.response.job_answer import JobReader, read_answer
from tests.support.ended_searches import job_of
from tests.support.fixtures.asking import ANNA, BEN, CLOCK, Asking

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
VALVE = (
    "11:04 gate valve 8 closed with beam in the machine. Beam lost at 400 mA. "
    "Vacuum looks clean on both sides."
)
CAUSE = (
    "Gate valve 8 closed because the compressed air had sagged to 3 bar: an O ring of "
    "the dryer leaks. Replaced it."
)


def draft(name: str, text: str, hours: int = 0, **more: Any) -> EntryDraft:
    at = BEGIN + timedelta(hours=hours)
    return EntryDraft("api", name, text, entry_time=at, **more)


def write_logbook(asking: Asking) -> None:
    asking.write(
        draft("OPS-1", VALVE, title="Gate valve 8 closed, beam lost"),
        draft("OPS-2", CAUSE, 5, title="Re: Gate valve 8 closed", reply_to="OPS-1"),
        draft("OPS-3", "Turbine 2 of the cold box stopped on bearing.", 9),
        draft("OPS-4", "Turbine 1 of the cold box was greased.", 10),
        draft("OPS-5", "Coffee machine repaired.", 11),
    )


@pytest.mark.requirement("S4-29", "S1-12", "S4-36")
def test_the_cause_is_told_in_the_words_of_the_reply_with_its_mark(asking) -> None:
    write_logbook(asking)
    told = asking.answer_with_cards("Why did gate valve 8 close?")

    assert told.answer is not None
    assert "an O ring of the dryer leaks [#OPS-2@1]." in told.answer
    assert told.answer_source == "deterministic"
    assert told.citation_mode == "cited"
    context = told.context_answer
    assert context is not None
    assert (context["status"], context["grade"]) == ("grounded", "A")
    texts = {"OPS-1": VALVE, "OPS-2": CAUSE}
    names = {one.entry_id: one.label for one in told.citations}
    for one in context["evidence"]:
        if one["start"] is not None:
            text = texts[names[one["entry_id"]]]
            assert text[one["start"] : one["end"]] == one["quote"]
    marks = re.findall(r"\[#(\S+)@1\]", told.answer)
    assert len(marks) == len(context["evidence"])
    assert list(dict.fromkeys(marks)) == list(told.sources)


@pytest.mark.parametrize(
    "query", ["what happened on 2 March 2026?", "was geschah am 2. M\u00e4rz 2026"]
)
def test_who_asks_what_happened_in_a_time_is_told_what_its_threads_are_about(
    asking: Asking, query: str
) -> None:
    write_logbook(asking)
    clock = replace(CLOCK, now=BEGIN + timedelta(days=9))
    told = asking.answer_with_cards(query, clock=clock)

    assert told.answer == (
        "Gate valve 8 closed, beam lost [#OPS-1@1]. "
        "Turbine 2 of the cold box stopped on bearing [#OPS-3@1]. "
        "Turbine 1 of the cold box was greased [#OPS-4@1]. "
        "Coffee machine repaired [#OPS-5@1]."
    )
    assert told.context_answer is not None
    assert told.context_answer["status"] == "grounded"
    assert [one.label for one in told.citations] == ["OPS-1", "OPS-3", "OPS-4", "OPS-5"]


def test_what_happened_on_a_day_is_not_what_was_written_on_the_next(asking) -> None:
    write_logbook(asking)
    asking.write(draft("OPS-6", "New toner for the printer.", 26))
    clock = replace(CLOCK, now=BEGIN + timedelta(days=9))
    told = asking.answer_with_cards("what happened on 2 March 2026?", clock=clock)
    assert told.answer is not None
    assert "toner" not in told.answer
    assert "OPS-6" in [one.external_id for one in told.results]
    # Of a day on which nobody wrote, the next one tells.
    after = asking.answer_with_cards("what happened on 1 March 2026?", clock=clock)
    assert after.answer is not None
    assert "beam lost" in after.answer


@pytest.mark.parametrize("query", ["source:api", "who was there on 2 March 2026"])
def test_of_what_only_passes_filters_nothing_else_is_told(asking, query) -> None:
    write_logbook(asking)
    clock = replace(CLOCK, now=BEGIN + timedelta(days=9))
    assert asking.answer_with_cards(query, clock=clock).answer is None


def test_who_wrote_an_entry_is_of_the_words_that_are_asked_for(asking: Asking) -> None:
    asking.write(
        draft("D-1", "Greased the azimuth bearing.", authors=("Klaus Brandt",)),
        draft("D-2", "Opened the dome.", 1, authors=("Maria Soto",)),
    )
    told = asking.answer_with_cards("what did Klaus grease")
    assert told.answer == "Greased the azimuth bearing [#D-1@1]."
    assert told.context_answer is not None
    assert told.context_answer["grade"] == "A"


def test_a_number_alone_is_answered_by_its_entry(asking: Asking) -> None:
    asking.write(draft("39265", "Report 39265: the charging pump stopped."))
    told = asking.answer_with_cards("39265", synthesize="deterministic")

    assert told.answer == "Report 39265: the charging pump stopped [#39265@1]."
    assert told.context_answer is not None
    assert told.context_answer["status"] == "grounded"


@pytest.mark.parametrize(
    ("query", "last", "grade"),
    [
        # Whatever the words: the last entry about it tells, in the title or the text.
        ("Is the following error of leg 4 fixed?", "A-2", "A"),
        ("Is the seeing monitor working again?", "B-2", "A"),
        ("Ist der Trockner 1 repariert?", "C-2", "A"),
        # Nobody wrote that it is, or that it is not.
        ("Is actuator 217 still dead?", "D-1", "B"),
    ],
)
def test_who_asks_how_something_is_now_is_told_what_was_written_last(
    asking: Asking, query: str, last: str, grade: str
) -> None:
    asking.write(
        draft("A-1", "Following error on leg 4 since the earthquake, limit raised."),
        draft("A-2", "Day report. Plug of leg 4 fastened, following error gone.", 9),
        draft(
            "B-1", "The seeing monitor does not answer.", title="Seeing monitor dead"
        ),
        draft("B-2", "Replaced its brick.", 40, title="Seeing monitor works again"),
        draft("C-1", "Der Trockner 1 schaltet nicht um, sein Ventil klemmt."),
        draft("C-2", "Ventil vom Trockner 1 ersetzt, er schaltet um.", 30),
        draft("D-1", "Actuator 217 of the mirror is dead."),
    )
    told = asking.answer_with_cards(query)
    assert told.context_answer is not None
    assert told.citations[-1].label == last
    assert told.context_answer["evidence"][0]["entry_id"] == told.citations[-1].entry_id
    assert told.context_answer["grade"] == grade


def test_the_same_question_twice_has_the_same_answer(asking: Asking) -> None:
    write_logbook(asking)
    first, second = (
        asking.answer_with_cards("Why did gate valve 8 close?") for _ in range(2)
    )
    assert first.answer == second.answer
    assert first.context_answer == second.context_answer
    assert first.stability_hash == second.stability_hash


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        (
            "Why did turbine 5 of the cold box stop?",
            "unknown_name",
            "No entry that was found names turbine 5; there are",
        ),
        (
            "Why did turbine 2 of the cold box explode?",
            "unsupported_words",
            "No entry has \u201cexplode\u201d.",
        ),
        (
            "How many volts did turbine 2 of the cold box consume?",
            "unsupported_words",
            "No entry that was found says \u201cvolts\u201d, \u201cconsume\u201d.",
        ),
        (
            "What is the beam energy right now?",
            "not_a_logbook_question",
            "A logbook tells what was written",
        ),
    ],
)
def test_a_slot_that_nothing_fills_is_named_and_the_nearest_is_shown(
    asking: Asking, query: str, code: str, said: str
) -> None:
    write_logbook(asking)
    told = asking.answer_with_cards(query)
    context = told.context_answer
    assert context is not None
    assert context["code"] == code
    assert context["status"] != "grounded"
    assert context["grade"] == "D"
    assert context["summary"].startswith(said)
    assert told.answer is not None
    assert "Nearest: " in told.answer
    assert told.citations


def test_another_number_of_the_same_thing_is_offered_where_it_is_answered(asking):
    write_logbook(asking)
    context = asking.answer_with_cards(
        "Why did turbine 5 of the cold box stop?"
    ).context_answer
    assert context is not None
    # Turbine 1 was greased, and of its stopping nothing is written.
    assert context["questions"] == ["Why did turbine 2 of the cold box stop?"]


def test_what_the_caller_may_not_see_is_no_evidence_and_no_word(asking: Asking) -> None:
    asking.write(
        draft("OPS-1", VALVE, title="Gate valve 8 closed"),
        draft(
            "OPS-2",
            CAUSE,
            5,
            title="Re: Gate valve 8 closed",
            reply_to="OPS-1",
            readers=("anna",),
        ),
    )
    assert "dryer" in (
        asking.answer_with_cards("Why did gate valve 8 close?").answer or ""
    )
    other = asking.answer_with_cards("Why did gate valve 8 close at the dryer?", BEN)
    assert "O ring" not in (other.answer or "")
    assert [one.label for one in other.citations] == ["OPS-1"]
    assert other.context_answer is not None
    # A word of an entry that they may not see is, for them, written nowhere.
    assert "dryer" in other.context_answer["unsupported"]


@pytest.mark.requirement("S1-44", "S1-27")
def test_numbers_are_places_among_the_results_and_marks_can_be_left_off(asking) -> None:
    write_logbook(asking)
    numbered = Synthesis(2, style="numeric")
    told = asking.answer_with_cards("Why did gate valve 8 close?", synthesis=numbered)
    assert told.answer is not None
    places = {int(one.label) for one in told.citations}
    assert places <= {1, 2}
    assert all(f"[{place}]" in told.answer for place in places)
    bare = asking.answer_with_cards(
        "Why did gate valve 8 close?", synthesis=replace(numbered, marked=False)
    )
    assert bare.answer is not None
    assert "[" not in bare.answer
    assert bare.citations == []


@pytest.mark.parametrize(("mode", "is_there"), [("keyword", False), ("hybrid", True)])
def test_modes_say_whether_there_is_an_answer_and_a_request_says_it_first(
    asking: Asking, mode: str, *, is_there: bool
) -> None:
    write_logbook(asking)
    assert (asking.answer_with_cards("valve", mode=mode).answer is not None) is is_there
    asked = asking.answer_with_cards("valve", mode=mode, synthesize=not is_there)
    assert (asked.answer is not None) is not is_there


@pytest.mark.requirement("S1-51")
def test_nothing_found_is_no_answer(asking: Asking) -> None:
    write_logbook(asking)
    told = asking.answer_with_cards("author:nobody zebra")
    assert told.results == []
    assert told.answer is None
    assert told.citations == []


@pytest.mark.requirement("S4-64")
def test_cards_stand_beside_an_answer_and_without_one(asking: Asking) -> None:
    write_logbook(asking)
    told = asking.answer_with_cards("Why did gate valve 8 close?")
    bare = asking.answer_with_cards("Why did gate valve 8 close?", synthesize=False)
    assert told.answer is not None
    assert (bare.answer, bare.citations) == (None, [])
    cards = [one.card_id for one in told.cards]
    assert cards
    assert [one.card_id for one in bare.cards] == cards


@pytest.mark.requirement("S4-66")
def test_two_sides_of_a_comparison_have_a_paragraph_each(asking: Asking) -> None:
    write_logbook(asking)
    told = asking.answer_with_cards("turbine 1 vs turbine 2")
    assert told.answer is not None
    first, second = told.answer.split("\n\n")
    assert "OPS-4" in first
    assert "OPS-3" in second


@pytest.mark.requirement("S4-37", "S4-38")
def test_however_much_is_told_five_pieces_of_evidence_and_labels_are_listed(asking):
    steps = ("stopped at noon", "was greased by the crew", "runs again since dusk")
    asking.write(
        *(
            draft(f"OPS-{n}{place}", f"Turbine {n} of the cold box {step}.", place)
            for n in (1, 2, 3)
            for place, step in enumerate(steps)
        )
    )
    told = asking.answer_with_cards(
        "turbine 1 vs turbine 2 vs turbine 3", mode="agentic"
    )
    context = told.context_answer
    assert told.answer is not None
    assert context is not None
    assert len(re.findall(r"\[#", told.answer)) > 5, told.answer
    assert (len(context["evidence"]), len(context["citations"])) == (5, 5)
    assert len(context["questions"]) <= 2
    assert {"code", "summary", "reason", "status"} <= context.keys()


def stored(asking: Asking, plan: Plan) -> Any:
    job = job_of(asking.context, plan)
    ended = end_search(
        asking.context, job, plan, asking.carried_out(plan), Beside(answer_question)
    )
    store(asking.pool, job, ended)
    with connection(asking.pool) as conn:
        return jobs.find_own_job(conn, plan.scope, job.job_id)


@pytest.mark.requirement("I11")
def test_an_answer_stays_pinned_and_marks_what_was_changed_since(asking) -> None:
    write_logbook(asking)
    plan = asking.plan("Why did gate valve 8 close?", mode="hybrid")
    kept = stored(asking, plan)
    reader = JobReader(asking.context, ANNA)
    before = read_answer(reader, kept)
    asking.write(
        draft(
            "OPS-2",
            "It was the timer.",
            5,
            title="Re: Gate valve 8 closed",
            reply_to="OPS-1",
        )
    )

    after = read_answer(reader, kept)

    assert before is not None
    assert after is not None
    assert after.answer == before.answer
    changed = {one.label: one.changed_since is not None for one in after.citations}
    assert changed["OPS-2"] is True
    assert not any(one.changed_since for one in before.citations)


def test_a_job_that_nobody_came_to_end_is_answered_for_its_reader(asking) -> None:
    write_logbook(asking)
    plan = asking.plan("Why did gate valve 8 close?", mode="hybrid")
    job = job_of(asking.context, plan)
    arrived = asking.carried_out(plan)
    told = [one for number in sorted(arrived) for one in arrived[number]]
    with connection(asking.pool) as conn:
        close_job.close_job(conn, job, Ending("done", told, None, None))
        kept = jobs.find_own_job(conn, plan.scope, job.job_id)
    reader = JobReader(asking.context, ANNA, answer_question=answer_question)

    read = read_answer(reader, kept)

    assert read is not None
    assert read.answer is not None
    assert "an O ring of the dryer leaks [#OPS-2@1]." in read.answer
    # What was stored without an answer has none.
    unanswered = read_answer(reader, replace(kept, ranked={"window": []}))
    assert unanswered is not None
    assert unanswered.answer is None


def test_who_may_see_a_cited_entry_no_more_is_not_told_its_words(asking) -> None:
    write_logbook(asking)
    kept = stored(asking, asking.plan("Why did gate valve 8 close?", mode="hybrid"))
    asking.write(
        draft(
            "OPS-2",
            CAUSE,
            5,
            title="Re: Gate valve 8 closed",
            reply_to="OPS-1",
            readers=("ben",),
        )
    )
    told = read_answer(JobReader(asking.context, ANNA), kept)
    assert told is not None
    assert told.answer is None
    assert told.citations == []


def test_how_often_is_counted_with_each_entry_one_click_away(asking) -> None:
    asking.write(
        draft("OPS-1", "Turbine 2 of the cold box tripped."),
        draft("OPS-2", "Again turbine 2 tripped on bearing.", 30),
        draft("OPS-3", "Turbine 1 of the cold box was greased.", 40),
        draft("OPS-4", "Nothing tripped, turbine 2 quiet.", 50),
    )
    told = asking.answer_with_cards("How often did turbine 2 trip?")

    assert told.answer is not None
    assert told.answer.startswith(
        "2 entries say “turbine”, “trip” or other words for it, from 2026-03-02 to"
        " 2026-03-03 [#OPS-2@1] [#OPS-1@1]. The last: "
    )
    assert {one.label for one in told.citations} == {"OPS-1", "OPS-2"}


def test_whether_something_is_so_is_told_by_the_last_word_and_as_of_when(asking):
    asking.write(
        draft("OPS-1", "Cold box CB-1 locked out."),
        draft("OPS-2", "Lock of cold box CB-1 removed.", 30),
    )
    told = asking.answer_with_cards("Is CB-1 locked?")
    assert told.answer == (
        "Lock of cold box CB-1 removed [#OPS-2@1]. (as of 2026-03-03 13:00)"
    )


@pytest.mark.parametrize(
    ("query", "is_told"),
    [
        ("Wie groß war die Bunchlänge im Strahl?", True),
        # Where no slot is to be filled, each word must be said.
        ("Welche Bunchlänge hatte der Strahl im Wiggler?", False),
    ],
)
def test_what_a_search_does_not_find_is_read_by_its_words_in_other_languages(
    asking: Asking, query: str, *, is_told: bool
) -> None:
    asking.write(
        draft("OPS-1", "Der Strahl war ruhig, sonst wurde nichts gemessen."),
        draft("OPS-2", "The bunch length of the beam was 13.8 ps.", 5),
    )
    told = asking.answer_with_cards(query)
    assert told.context_answer is not None
    assert (told.context_answer["status"] == "grounded") is is_told
    assert ("OPS-2" in {one.label for one in told.citations}) is is_told

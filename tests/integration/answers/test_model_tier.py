"""Answers that a model words: checked to the sentence, or the others stand."""

import functools
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.entries import tombstones
from shared.entries.draft import EntryDraft
from shared.language_models import quota
from shared.postgres.pool import connection
from shared.search.query.result_detail import Synthesis
from shared.search.response import seen_again
from shared.search.response.pinned_answer import read_pinned_answer
from shared.search.response.search_answer import SearchAnswer
from tests.integration.answers.test_answer_question import draft
from tests.support.model_tier import GOOD, QUESTION, marks_of, saying
from tests.support.stub_servers.chat_server import (
    answers,
    begin_stream,
    part,
    says,
    send_part,
    streams,
)


@pytest.mark.requirement("S0-58", "S0-59", "S4-30", "S4-32")
def test_sentences_that_hold_stand_with_the_labels_of_what_they_cite(tier):
    told = tier.ask(QUESTION, saying(GOOD))

    assert told.answer == (
        "Gate valve 8 closed because the compressed air had sagged to 3 bar [#OPS-2@1]."
        " The beam was lost at 400 mA [#OPS-1@1]."
    )
    assert (told.answer_source, told.llm_status) == ("llm", "ok")
    assert told.llm_model == "here:tiny"
    assert told.grounding_score == 1.0
    assert told.hallucinated_citations == 0
    assert list(told.sources) == ["OPS-2", "OPS-1"]
    worth = told.context_answer
    assert worth is not None
    assert (worth["status"], worth["grade"]) == ("grounded", "C")
    assert {one["quote"][:11] for one in worth["evidence"]} == {
        "Gate valve ",
        "Beam lost a",
    }
    assert {"assemble", "generate"} <= told.timings_ms.keys()
    (asked,) = tier.server.asked
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == (
        "tiny",
        0.1,
        500,
    )


@pytest.mark.requirement("S0-47")
def test_the_same_question_over_the_same_entries_gives_the_same_prompt(tier):
    tier.ask(QUESTION, saying(GOOD))
    tier.ask(QUESTION)
    first, second = tier.server.prompts
    assert first == second
    assert "ENTRY #OPS-1 | 2026-03-02T07:00:00+01:00 | Author: unknown |" in first


@pytest.mark.requirement("I04", "S4-32")
def test_a_sentence_that_its_sources_do_not_bear_out_goes(tier):
    text = (
        GOOD
        + " The beam was lost at 500 mA {lost}. Turbine 7 exploded {cause}."
        + " Gate valve 8 closed {cause}."
    )
    told = tier.ask(QUESTION, saying(text))

    assert told.answer is not None
    assert "500" not in told.answer
    assert "exploded" not in told.answer
    assert told.grounding_score == 0.6
    assert told.context_answer is not None
    assert told.context_answer["grade"] == "D"


@pytest.mark.requirement("S4-34", "P8")
def test_where_fewer_than_half_hold_the_answer_without_a_model_stands(tier):
    plain = tier.ask(QUESTION, answers(503, {}, "application/json"))
    told = tier.ask(
        QUESTION, saying("Turbine 7 exploded {cause}. It was 5 bar {cause}.")
    )

    assert told.answer == plain.answer
    assert (told.answer_source, told.llm_status) == ("deterministic", "failed")
    assert told.grounding_score == 0.0


@pytest.mark.requirement("S0-59")
def test_what_it_was_not_given_is_dropped_and_counted(tier):
    told = tier.ask(
        QUESTION,
        saying(
            "Gate valve 8 closed because the air had sagged {cause} [#OPS-99] [9.9]."
        ),
    )
    assert told.hallucinated_citations == 2
    assert list(told.sources) == ["OPS-2"]


@pytest.mark.requirement("S0-60", "C21")
def test_a_text_without_marks_names_all_that_was_read_and_is_never_grounded(tier):
    told = tier.ask(QUESTION, says("Gate valve 8 closed because the air had sagged."))

    assert told.citation_mode == "fallback_all"
    assert told.context_answer is not None
    assert told.context_answer["status"] == "clarify"
    assert told.context_answer["code"] == "fallback_citations"
    assert {"OPS-1", "OPS-2"} <= set(told.sources)
    assert told.answer is not None
    assert "[" not in told.answer


@pytest.mark.requirement("S0-59")
def test_an_entry_may_be_cited_whole_and_is_held_against_its_nearest_sentences(tier):
    told = tier.ask(
        QUESTION,
        says("Gate valve 8 closed because the air had sagged to 3 bar [#OPS-2@1]."),
    )
    assert told.answer_source == "llm"
    assert list(told.sources) == ["OPS-2"]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        pytest.param(answers(429, {}, "application/json"), "unavailable", id="429"),
        pytest.param(answers(401, {}, "application/json"), "failed", id="401"),
        pytest.param(answers(500, b"<p>", "text/html"), "unavailable", id="500"),
        pytest.param(answers(200, b"<p>Error: no", "text/html"), "failed", id="HTML"),
        pytest.param(streams(part("Error"), done=False), "unavailable", id="cut"),
        pytest.param(streams("data: {no\n\n"), "failed", id="malformed"),
        pytest.param(says("x" * 100_000), "failed", id="endless"),
        pytest.param(says(""), "failed", id="empty"),
        pytest.param(says("I cannot help with that."), "failed", id="refuses"),
    ],
)
@pytest.mark.requirement("S4-34", "P8")
def test_whatever_an_endpoint_does_the_answer_without_a_model_stands(
    tier, reply, status
):
    told = tier.ask(QUESTION, reply)

    assert told.answer is not None
    assert "[#OPS-2@1]" in told.answer
    assert "Error" not in told.answer
    assert (told.answer_source, told.llm_status) == ("deterministic", status)
    assert told.context_answer is not None
    assert told.context_answer["grade"] == "A"
    notes = [one for one in told.diagnostics if one.code == "llm_failed"]
    assert [one.source for one in notes] == ["rag.generate"]


@pytest.mark.requirement("P8")
def test_what_passes_is_asked_again_within_the_time(tier):
    told = tier.ask(
        QUESTION,
        answers(503, {}, "application/json"),
        streams(done=False),
        saying(GOOD),
    )
    assert told.llm_status == "ok"
    assert len(tier.server.asked) == 3


@pytest.mark.requirement("S4-31")
def test_of_two_questions_a_quota_of_one_answers_the_first(tier, jobs_client):
    jobs_client.flushdb()
    tier.quota = functools.partial(
        quota.take_answer, jobs_client, per_day=1, per_minute=10
    )
    first = tier.ask(QUESTION, saying(GOOD))
    second = tier.ask(QUESTION)

    assert (first.llm_status, second.llm_status) == ("ok", "quota")
    assert second.answer_source == "deterministic"
    assert "quota_blocked" in {one.code for one in second.diagnostics}
    assert len(tier.server.asked) == 1
    assert quota.left_answers(jobs_client, "default", 1, 10) == 0
    assert quota.left_answers(jobs_client, "other", 1, 10) == 1
    assert quota.list_tenants(jobs_client) == {"default"}


@pytest.mark.requirement("S4-31")
def test_of_two_callers_at_once_a_quota_of_one_answers_one(jobs_client):
    for number in range(50):
        tenant, ready = f"at-once-{number}", threading.Barrier(2)

        def take(
            _: int, tenant: str = tenant, ready: threading.Barrier = ready
        ) -> bool:
            ready.wait(10)
            return quota.take_answer(jobs_client, tenant, 1, 10).is_allowed

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(take, range(2))) == [False, True]
        assert quota.left_answers(jobs_client, tenant, 1, 10) == 0


@pytest.mark.requirement("S4-31")
def test_a_minute_has_its_own_quota_and_both_are_taken_or_neither(jobs_client):
    jobs_client.flushdb()
    taken = [quota.take_answer(jobs_client, "t", 5, 2).is_allowed for _ in range(3)]
    # A third one within this minute, unless a new one has begun meanwhile.
    assert taken[:2] == [True, True]
    day = next(jobs_client.scan_iter("quota:llm:t:day:*"))
    assert int(jobs_client.get(day) or 0) == sum(taken)


@pytest.mark.requirement("I23")
def test_no_name_of_an_author_goes_to_the_provider_and_each_is_shown(tier):
    tier.asking.write(
        draft(
            "OPS-9",
            "Gate valve 8 closed again, Maria Lopez reset it. Tell Lopez.",
            30,
            title="Gate valve 8 closed",
            authors=["Maria Lopez"],
        )
    )

    def reply(handler: Any, body: dict[str, Any]) -> None:
        prompt = body["messages"][1]["content"]
        (mark, who), *_ = re.findall(
            r"^\[(\d+\.\d+)\] .*?(PERSON_\w+) reset it", prompt, re.MULTILINE
        )
        says(f"Gate valve 8 closed again and {who} reset it [{mark}].")(handler, body)

    told = tier.ask("Who reset gate valve 8 when it closed again?", reply)

    (prompt,) = tier.server.prompts
    assert "Lopez" not in prompt
    assert "Maria" not in prompt
    assert told.answer is not None
    assert "Maria Lopez reset it [#OPS-9@1]." in told.answer
    assert "Maria Lopez" in "".join(one["text"] for one in tier.chunks)


@pytest.mark.requirement("U30")
def test_entries_of_an_excluded_logbook_are_not_sent(tier):
    tier.asking.write(
        draft("SEC-1", "Gate valve 8 closed by the guard.", 30, logbooks=["Security"])
    )
    tier.given = {"excluded_logbooks": ["Security"]}
    told = tier.ask(QUESTION, saying(GOOD))
    assert told.llm_status == "ok"
    assert "guard" not in tier.server.prompts[0]

    tier.given = {}
    tier.ask(QUESTION)
    assert "guard" in tier.server.prompts[1]


def test_a_question_that_is_refused_is_put_to_no_model(tier):
    told = tier.ask("Why did turbine 5 of the cold box stop?", saying(GOOD))
    assert (told.llm_status, told.answer_source) == ("off", "deterministic")
    assert tier.server.asked == []


@pytest.mark.requirement("S1-27", "S1-29", "S1-30")
def test_sources_by_number_are_cited_by_number(tier):
    numbered = Synthesis(2, style="numeric")
    reply = saying("Gate valve 8 closed because the air had sagged to 3 bar {cause}.")
    told = tier.ask(QUESTION, reply, synthesis=numbered)

    (prompt,) = tier.server.prompts
    asked = tier.server.asked[0]["messages"]
    assert "research assistant" in asked[0]["content"]
    lines = asked[1]["content"].splitlines()
    assert lines[:2] == [f"Question: {QUESTION}", "Sources:"]
    assert "citations" in lines[-1]
    assert "accurate" in lines[-1]
    assert "directly" in lines[-1]
    assert "Source 1 (logchord:default/api/" in prompt
    assert "Source 3 (" not in prompt
    assert told.answer is not None
    assert re.search(r"3 bar \[[12]\]\.", told.answer)


@pytest.mark.requirement("S4-30")
def test_text_is_handed_on_as_it_comes_with_each_sentences_verdict(tier):
    tier.ask(QUESTION, saying(GOOD + " It was 9 bar {cause}."))

    text = "".join(one["text"] for one in tier.chunks)
    assert "[#OPS-2@1]" in text
    assert "[1." not in text
    verdicts = [one for chunk in tier.chunks for one in chunk["sentences"]]
    assert [one["holds"] for one in verdicts] == [True, True, False]
    assert verdicts[-1]["flaw"] == "number"


@pytest.mark.requirement("S0-57")
def test_a_megabyte_in_one_entry_is_cut_and_said_so(tier):
    tier.asking.write(
        EntryDraft("api", "BIG", "Gate valve 8 closed. " + "noise " * 170_000)
    )
    told = tier.ask(QUESTION, saying(GOOD))
    assert told.context_truncated
    assert "context_truncated" in {one.code for one in told.diagnostics}
    assert len(tier.server.prompts[0]) < 12_000 + 6_000


@pytest.mark.requirement("I11")
def test_what_is_deleted_edited_or_closed_while_a_model_speaks_is_not_shown(tier):
    told = tier.ask(QUESTION, saying(GOOD))
    pool, plan, worded = tier.asking.pool, tier.plan, tier.worded
    assert seen_again.see_answer_again(pool, plan, worded) == worded
    assert see_ids(seen_again.see_hits_again(pool, plan, told)) == see_ids(told)

    tier.asking.write(draft("OPS-1", "Edited.", title="Gate valve 8 closed, beam lost"))
    edited = seen_again.see_answer_again(pool, plan, worded)
    assert edited.text == worded.text
    assert [bool(one.changed_since) for one in edited.citations] == [False, True]

    entry_id = worded.citations[0].entry_id
    with connection(pool) as conn:
        conn.execute("UPDATE entry SET readers = '{nobody}' WHERE id = %s", (entry_id,))
    closed = seen_again.see_answer_again(pool, plan, worded)
    assert (closed.text, list(closed.citations)) == (None, [])
    assert closed.context.status == "insufficient"
    assert "dryer" not in json.dumps(closed.to_json())
    assert entry_id not in see_ids(seen_again.see_hits_again(pool, plan, told))


@pytest.mark.requirement("I11")
@pytest.mark.parametrize("is_purged", [False, True])
def test_what_is_removed_between_two_words_of_a_model_takes_them_with_it(
    tier, *, is_purged: bool
):
    """A source deletes an entry that the model is just reading."""
    pool = tier.asking.pool

    def reply(handler: Any, body: dict[str, Any]) -> None:
        mark = marks_of("\n".join(one["content"] for one in body["messages"]))["cause"]
        begin_stream(handler)
        send_part(handler, part("Gate valve 8 closed because the compressed air "))
        with connection(pool) as conn:
            (entry_id,) = tombstones.live(conn, "default", "api", ["OPS-2"])
            tombstones.bury(conn, "default", [entry_id], reason="test")
            if is_purged:
                conn.execute("DELETE FROM entry WHERE id = %s", (entry_id,))
        send_part(handler, part(f"had sagged to 3 bar {mark}."))
        send_part(handler, part(finish="stop"))
        send_part(handler, "data: [DONE]\n\n")

    told = tier.ask(QUESTION, reply)
    assert told.answer_source == "llm"
    seen = seen_again.see_answer_again(pool, tier.plan, tier.worded)

    assert (seen.text, list(seen.citations)) == (None, [])
    assert (seen.context.status, seen.context.grade) == ("insufficient", "D")
    assert "sagged" not in json.dumps(seen.to_json())
    removed = tier.worded.citations[0].entry_id
    assert removed not in see_ids(seen_again.see_hits_again(pool, tier.plan, told))


@pytest.mark.requirement("I11", "U01")
def test_a_stored_answer_says_when_what_it_cites_was_removed(tier):
    """Once it is told an answer keeps its words: only what it cites is marked."""
    tier.ask(QUESTION, saying(GOOD))
    pool, plan = tier.asking.pool, tier.plan
    with connection(pool) as conn:
        (entry_id,) = tombstones.live(conn, "default", "api", ["OPS-2"])
        tombstones.bury(conn, "default", [entry_id], reason="test")

    read = read_pinned_answer(pool, plan.scope, tier.worded.to_json(), 1000)

    assert read is not None
    assert read.text == tier.worded.text
    assert {one.label: bool(one.removed_at) for one in read.citations} == {
        "OPS-1": False,
        "OPS-2": True,
    }


def see_ids(response: SearchAnswer) -> set[str]:
    return {one.entry_id for one in response.results}


@pytest.mark.requirement("SEC13")
def test_entries_that_make_a_model_talk_for_ever_cost_what_a_call_may(tier):
    tier.ask(QUESTION, says("on " * 50_000))
    (asked,) = tier.server.asked
    assert asked["max_tokens"] == 500

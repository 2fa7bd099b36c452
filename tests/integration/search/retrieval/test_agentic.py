"""A question of several parts, searched part by part and merged; on Postgres."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.entries.draft import EntryDraft
from shared.errors import EmbeddingGenerationError
from shared.postgres.pool import connection
from shared.search.explain import why_not
from shared.search.jobs.outcome import Outcome, make_overdue
from shared.search.query.plan import Plan
from shared.search.response import job_answer
from shared.search.results.conclude import conclude
from shared.search.results.validate_candidates import CONTENT_CHARACTERS
from tests.support.fixtures.asking import ANNA, BEN, Asking

QUESTION = "vacuum leak and RF trip"
PARTS = [QUESTION, "vacuum leak", "RF trip"]
LONG = "RF trip of the klystron, reset by the crew at noon. " * 20


def draft(name: str, text: str, **fields: Any) -> EntryDraft:
    return EntryDraft("api", name, text, **fields)


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        draft("both", "RF trip after a vacuum leak in sector four"),
        draft("leak", "vacuum leak at the gate valve"),
        draft("trip", "RF trip of cavity 3"),
        draft("long", LONG),
        draft("closed", "vacuum leak and RF trip, for ben", readers=("ben",)),
        draft("other", "coffee machine repaired"),
    )
    return asking


def ask(logbook: Asking, query: str = QUESTION, **fields: Any) -> dict[str, Any]:
    given = {"validation_threshold": 0.0, **fields}
    return logbook.ask(query, mode="agentic", **given)


def names(body: dict[str, Any]) -> list[str]:
    return [hit["external_id"] for hit in body["results"]]


@pytest.mark.requirement(
    "S3-01",
    "S3-04",
    "S3-05",
    "S3-06",
    "S3-08",
    "S3-09",
    "S3-10",
    "S3-12",
    "S3-13",
    "S3-37",
    "S3-39",
    "S3-40",
)
def test_each_entry_comes_once_and_says_which_parts_found_it(logbook):
    body = ask(logbook)
    assert body["method_used"] == "agentic"
    assert (body["sub_queries"], body["decomposed"]) == (PARTS, True)
    found = {hit["external_id"]: hit for hit in body["results"]}
    assert names(body)[0] == "both"
    assert len(found) == len(body["results"])
    assert found["both"]["found_by"] == PARTS
    assert "closed" not in found
    assert all(
        hit["multi_source"] == (len(hit["found_by"]) > 1) for hit in body["results"]
    )
    assert found["both"]["factors"]["multi_source"] == pytest.approx(1.1**2)
    meta = body["meta"]
    assert meta["returned"] == len(body["results"])
    assert meta["sub_query_count"] == 3
    assert meta["total_candidates"] >= meta["returned"]
    asked = [one["sub_query"] for one in body["branches"] if one["name"] == "pg_fts"]
    assert asked == PARTS


@pytest.mark.requirement("S3-02")
def test_the_trace_tells_what_each_phase_came_to(logbook):
    body = ask(logbook, debug=True)
    phases = body["plan"]["phases"]
    assert list(phases) == ["planner", "retriever", "validator", "synthesizer"]
    assert phases["planner"] == {"sub_queries": 3}
    assert phases["retriever"]["branches"] == len(body["branches"])
    slowest = max(one["took_ms"] for one in body["branches"])
    assert phases["retriever"]["took_ms"] == slowest
    meta = body["meta"]
    assert phases["validator"] == {
        "validated": meta["validated"],
        "rejected": meta["rejected_by_validation"],
    }
    assert phases["synthesizer"] == {
        "found": meta["total_candidates"],
        "returned": meta["returned"],
    }
    plain = logbook.ask("vacuum", debug=True)
    assert "phases" not in plain["plan"]


@pytest.mark.requirement("S3-44")
def test_a_question_of_one_part_is_one_sub_query(logbook):
    body = ask(logbook, "vacuum leak")
    assert (body["decomposed"], body["meta"]["sub_query_count"]) == (False, 1)
    assert body["sub_queries"] == ["vacuum leak"]


def told(logbook: Asking, plan: Plan) -> dict[int, list[Outcome]]:
    return logbook.carried_out(plan)


@pytest.mark.requirement("S3-38", "C27")
def test_the_order_does_not_depend_on_which_branch_was_heard_first(logbook):
    plan = logbook.plan(QUESTION, mode="agentic")
    heard = told(logbook, plan)
    first = conclude(plan, heard)
    for turned in (dict(reversed(heard.items())), dict(sorted(heard.items()))):
        assert conclude(plan, turned).order == first.order


class RecordingEncoder(HashingEncoder):
    """Remembers how long the texts are that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def encode(self, texts: Any) -> Any:
        self.lengths += map(len, texts)
        return super().encode(texts)


@pytest.mark.requirement("S3-05", "S3-11", "S3-34", "S3-35", "C03", "C32")
def test_what_is_too_far_from_the_whole_question_is_left_out_and_counted(logbook):
    recorder = RecordingEncoder()
    logbook.context = replace(logbook.context, encoder=lambda _: recorder)
    body = ask(logbook, validation_threshold=0.3)
    scores = {hit["external_id"]: hit["validation_score"] for hit in body["results"]}
    assert scores
    assert all(score >= 0.3 and score == round(score, 4) for score in scores.values())
    assert {hit["validation"] for hit in body["results"]} == {"kept"}
    meta = body["meta"]
    assert meta["validated"] == len(scores)
    everything = ask(logbook, validation_threshold=0.0)
    left_out = set(names(everything)) - set(scores)
    assert meta["rejected_by_validation"] == len(left_out) > 0
    # A long entry is compared by its beginning.
    assert recorder.lengths
    assert max(recorder.lengths) <= CONTENT_CHARACTERS
    # And whoever asks why is told so.
    plan = logbook.plan(QUESTION, mode="agentic", validation_threshold=0.3)
    job = logbook.ended(plan)
    reader = job_answer.JobReader(logbook.context, ANNA)
    said = why_not.explain(reader, job, f"api/{left_out.pop()}").body()
    assert (said["gate"], said["limit"]) == ("validation", 0.3)
    assert said["value"] < 0.3
    again = job_answer.read_answer(reader, job)
    assert again is not None
    assert again.meta == body["meta"]
    assert [one.validation_score for one in again.results] == [*scores.values()]


def test_of_a_long_entry_only_what_lies_far_off_is_read_again(logbook):
    recorder = RecordingEncoder()
    logbook.context = replace(logbook.context, encoder=lambda _: recorder)
    body = ask(logbook, synthesize=False)
    near = {hit["external_id"]: hit["validation_score"] for hit in body["results"]}
    assert 0 < near["long"] < 0.9
    # The parts of the question alone.
    assert max(recorder.lengths) == len(QUESTION)
    ask(logbook, validation_threshold=0.9, synthesize=False)
    assert max(recorder.lengths) == CONTENT_CHARACTERS


@pytest.mark.requirement("S3-35", "C03")
def test_without_the_model_nothing_is_left_out_and_that_is_said(logbook):
    class Broken(HashingEncoder):
        def encode(self, texts: Any) -> Any:
            raise EmbeddingGenerationError(technical=f"{len(texts)} texts")

    plan = logbook.plan(QUESTION, mode="agentic", validation_threshold=0.9)
    heard = told(logbook, plan)
    logbook.context = replace(logbook.context, encoder=lambda _: Broken())
    body = logbook.answer(plan, heard)
    assert names(body)
    assert {hit["validation"] for hit in body["results"]} == {"skipped"}
    assert {hit["validation_score"] for hit in body["results"]} == {None}
    assert "validation_skipped" in {note["code"] for note in body["diagnostics"]}


@pytest.mark.requirement("S3-07")
def test_a_request_may_do_without_validation(logbook):
    body = ask(logbook, validate=False)
    assert {hit["validation"] for hit in body["results"]} == {"skipped"}
    assert body["meta"]["rejected_by_validation"] == 0
    assert "validation_skipped" not in {note["code"] for note in body["diagnostics"]}


@pytest.mark.requirement("S3-32", "C34")
def test_a_branch_that_is_late_costs_its_hits_alone(logbook):
    plan = logbook.plan(QUESTION, mode="agentic", validation_threshold=0.0)
    heard = told(logbook, plan)
    late = plan.branches.index("semantic", 6)
    heard[late] = [replace(make_overdue("semantic", "cosine"), part=1)]
    body = logbook.answer(plan, heard)
    assert (body["state"], body["degraded"]) == ("partial", True)
    assert "both" in names(body)


@pytest.mark.requirement("S3-29", "S3-30")
def test_each_part_brings_as_many_as_are_asked_for(logbook):
    logbook.write(*(draft(f"leak {n}", f"vacuum leak number {n}") for n in range(20)))
    body = ask(logbook, limit=2)
    assert len(body["results"]) == 2
    plan = logbook.plan(QUESTION, mode="agentic", limit=2, validate=False)
    order = conclude(plan, told(logbook, plan)).order
    assert len(order.items) <= 3 * 2
    assert order.found > len(order.items)


@pytest.mark.parametrize(("limit", "is_whole"), [(2, False), (10, True)])
def test_an_answer_that_leaves_hits_of_a_part_behind_is_not_called_complete(
    logbook, limit, is_whole
):
    logbook.write(*(draft(f"leak {n}", f"vacuum leak number {n}") for n in range(4)))
    plan = logbook.plan("leak", mode="agentic", validation_threshold=0.0, limit=limit)
    told = logbook.carried_out(plan)
    body = logbook.answer(plan, told)
    assert body["next_cursor"] is None
    assert (body["meta"]["total_candidates"] == len(body["results"])) == is_whole
    assert (body["complete"], body["window_complete"]) == (is_whole, is_whole)
    # What is left behind has been found all the same.
    found = {"lower_bound": body["meta"]["total_candidates"], "exact": False}
    assert body["total_candidates"] == found
    reader = job_answer.JobReader(logbook.context, plan.scope)
    stored = logbook.ended(plan, told)
    again = job_answer.read_answer(reader, stored)
    assert again is not None
    assert (again.complete, again.window_complete) == (is_whole, is_whole)
    _, _, is_file_whole = job_answer.window(reader, stored)
    assert is_file_whole == is_whole


def test_what_a_part_leaves_behind_is_told_its_place_in_that_part(logbook):
    ids = logbook.write(
        *(draft(f"leak {n}", f"vacuum leak number {n}") for n in range(9))
    )
    plan = logbook.plan("leak", mode="agentic", validation_threshold=0.0, limit=2)
    job = logbook.ended(plan)
    reader = job_answer.JobReader(logbook.context, ANNA)
    said = [why_not.explain(reader, job, str(one)).body() for one in ids.values()]
    left = [one for one in said if not one["returned"]]
    assert {one["gate"] for one in left} == {"outside_candidates"}
    assert {one["limit"] for one in left} == {2}
    assert all(2 < one["value"] <= 11 for one in left)
    assert len({one["value"] for one in left}) == len(left)
    of_part = f"at place {left[0]['value']} of a part of the question, of which the"
    assert left[0]["explanation"] == f"It was found {of_part} best 2 are taken."


@pytest.mark.requirement("S3-28", "S3-59")
def test_procedures_tags_kin_and_files_are_found_beside_words_and_meaning(asking):
    ids = asking.write(
        draft("how", "interlock reset step by step", kind="procedure"),
        draft("tagged", "nothing of note", tags=("interlock",)),
        draft("first", "interlock tripped"),
        draft("reply", "solved by the crew", reply_to="first"),
        draft("filed", "see the picture"),
        draft("closed", "see the other picture", readers=("ben",)),
    )
    for name in ("filed", "closed"):
        _attach(asking, ids[name], "Interlock_panel.png")
    plan = asking.plan("interlock", mode="agentic")
    by_name = {
        name: [hit.entry_id for hit in outcomes[0].hits]
        for name, outcomes in zip(
            plan.branches, told(asking, plan).values(), strict=True
        )
    }
    assert by_name["procedure"] == [str(ids["how"])]
    assert by_name["tag"] == [str(ids["tagged"])]
    assert str(ids["reply"]) in by_name["graph"]
    assert by_name["attachment_name"] == [str(ids["filed"])]
    plan = asking.plan("interlock", BEN, mode="agentic", modules=["attachment_name"])
    [[found]] = told(asking, plan).values()
    assert {hit.entry_id for hit in found.hits} == {
        str(ids["filed"]),
        str(ids["closed"]),
    }


def _attach(asking: Asking, entry_id: UUID, filename: str) -> None:
    with connection(asking.pool) as conn:
        conn.execute(
            "INSERT INTO attachment (id, tenant, entry_id, external_id, position,"
            " filename) VALUES (%s, 'default', %s, %s, 0, %s)",
            (uuid4(), entry_id, filename, filename),
        )

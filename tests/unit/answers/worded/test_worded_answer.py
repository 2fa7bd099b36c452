"""A model's words for an answer: never worth more, and never without its notices."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from shared.access.scope import Scope
from shared.answers.answer_question import PreparedAnswer
from shared.answers.compose_answer import Marks, make_labels
from shared.answers.prompt.context import AssembledContext
from shared.answers.prompt.model_prompt import ModelPrompt
from shared.answers.prompt.pseudonyms import Pseudonyms
from shared.answers.question.question import read_part
from shared.answers.worded.check_sentence import Checker
from shared.answers.worded.model_text import Mark
from shared.answers.worded.worded_answer import WordedAnswer, word_answer
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.response.answer import Answer, ContextAnswer, Grade, Status
from shared.search.results.superseded import Other
from shared.text.facility.facility import PLAIN
from shared.times.calendar import Clock
from tests.unit.answers.worded.test_check_sentence import entry

ENTRY = entry("Gate valve 8 closed because the air had sagged to 3 bar.")
CANDIDATES = [*ENTRY.candidates()]
PLAN = make_plan(
    SearchQuery("Why did gate valve 8 close?"),
    Scope("default", "anna"),
    PlanLimits(opensearch=False),
    Clock(),
)
MARKED = "Gate valve 8 closed because the air had sagged to 3 bar [1.1]."
UNMARKED = MARKED.replace(" [1.1]", "")


def plain(status: Status, code: str, grade: Grade) -> PreparedAnswer:
    context = ContextAnswer(
        status=status, code=code, summary="As it was.", reason="", grade=grade
    )
    answer = Answer(
        text="As it was.",
        source="deterministic",
        citation_mode="cited",
        citations=[],
        context=context,
    )
    marks = Marks(make_labels([ENTRY]))
    return PreparedAnswer(answer, PLAN, [ENTRY], marks)


GROUNDED = plain("grounded", "single_lead", "A")
CLARIFY = replace(
    plain("clarify", "unsupported_words", "D"),
    unfilled="No entry has \u201cquench\u201d.",
    unsearched="Procedures were not searched.",
)
REFUSED = plain("insufficient", "unknown_name", "D")


def word(prepared: PreparedAnswer, text: str, *, is_cut: bool = False) -> WordedAnswer:
    labels = tuple(prepared.marks.labels.values())
    prompt = ModelPrompt(
        [],
        AssembledContext("", labels, is_truncated=False),
        {"1.1": Mark(ENTRY, CANDIDATES[-1])},
        Pseudonyms([]),
        {ENTRY: CANDIDATES},
    )
    return word_answer(prepared, prompt, text, Checker(), is_cut=is_cut)


@pytest.mark.parametrize(
    ("prepared", "text", "status", "code", "grade"),
    [
        (GROUNDED, MARKED, "grounded", "single_lead", "C"),
        (GROUNDED, UNMARKED, "clarify", "fallback_citations", "D"),
        (CLARIFY, MARKED, "clarify", "unsupported_words", "D"),
        (CLARIFY, UNMARKED, "clarify", "unsupported_words", "D"),
    ],
)
def test_no_wording_makes_more_of_an_answer(prepared, text, status, code, grade):
    told = word(prepared, text).answer
    assert told is not None
    assert (told.context.status, told.context.code, told.context.grade) == (
        status,
        code,
        grade,
    )


@pytest.mark.parametrize("text", [MARKED, UNMARKED])
def test_no_wording_takes_the_place_of_a_refusal(text: str) -> None:
    worded = word(REFUSED, text)
    assert worded.answer is None
    # What the model made of it is counted all the same.
    assert worded.grounding_score == 1.0


def test_what_is_said_again_goes_and_a_loop_is_no_answer() -> None:
    twice = word(GROUNDED, f"{MARKED} {MARKED}")
    assert [one.flaw for one in twice.sentences] == [None, "repeated"]
    assert twice.answer is not None
    assert twice.answer.text is not None
    assert twice.answer.text.count("sagged") == 1
    assert twice.answer.context.grade == "D"
    looped = word(GROUNDED, " ".join([MARKED] * 7))
    assert looped.answer is None
    assert looped.grounding_score == pytest.approx(1 / 7)


@pytest.mark.parametrize(
    ("text", "flaws"),
    [
        (f"{UNMARKED} The gate valve", [None, "cut"]),
        (MARKED, [None]),
        (MARKED.replace(" [1.1].", ". [1.1]"), [None]),
    ],
)
def test_a_sentence_that_the_longest_answer_cuts_goes(text, flaws) -> None:
    told = word(GROUNDED, text, is_cut=True)
    assert [one.flaw for one in told.sentences] == flaws
    assert told.answer is not None


def test_what_is_missing_and_what_was_not_searched_stays_said() -> None:
    told = word(CLARIFY, MARKED).answer
    assert told is not None
    assert told.text is not None
    assert told.text.startswith("No entry has \u201cquench\u201d. Gate valve 8 closed")
    assert told.context.summary.startswith("No entry has \u201cquench\u201d. ")
    assert told.context.summary.endswith(" Procedures were not searched.")


@pytest.mark.parametrize("text", [MARKED, UNMARKED])
def test_a_value_that_was_replaced_is_said_to_be(text: str) -> None:
    newer = Other(
        entry_id=ENTRY.row.entry_id,
        device="GV8",
        parameter="air",
        dimension="pressure",
        stated=300_000.0,
        is_older=False,
        value=500_000.0,
        said_at=datetime(2026, 3, 4, 12, tzinfo=UTC),
        other_id=UUID(int=2),
        source="api",
        external_id="OPS-2",
    )
    values = {ENTRY.row.entry_id: (newer,)}
    told = word(replace(GROUNDED, values=values), text).answer
    assert told is not None
    assert told.text is not None
    assert "(replaced on 2026-03-04" in told.text
    assert ": 5 bar)" in told.text
    other = replace(newer, stated=700_000.0)
    told = word(replace(GROUNDED, values={ENTRY.row.entry_id: (other,)}), text).answer
    assert told is not None
    assert "replaced" not in str(told.text)


def test_a_wording_that_loses_what_was_asked_for_is_no_answer() -> None:
    text = "To how many bar had the air sagged?"
    asked_how_much = replace(GROUNDED, filled=[read_part(text, text, PLAIN)])
    assert word(asked_how_much, MARKED).answer is not None
    told = "The gate valve closed because the air had sagged [1.1]."
    assert word(GROUNDED, told).answer is not None
    lost = word(asked_how_much, told)
    assert lost.answer is None
    # Each of its sentences holds all the same.
    assert lost.grounding_score == 1.0

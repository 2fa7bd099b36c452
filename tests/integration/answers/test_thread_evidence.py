"""What of the threads of hits an answer may be made of, and how long its parts are."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.answers.answer_question import Preparing
from shared.answers.choice.choose_sentences import MOST_CHARACTERS
from shared.answers.evidence.load_evidence import THREADS_READ
from shared.entries.draft import EntryDraft
from shared.search.response.end_search import Beside, end_search
from tests.support.ended_searches import job_of
from tests.support.fixtures.asking import Asking

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
CAUSE = "An O ring of the dryer had worn through."


def draft(name: str, text: str, hours: int, **more: Any) -> EntryDraft:
    at = BEGIN + timedelta(hours=hours)
    return EntryDraft("api", name, text, entry_time=at, **more)


@pytest.mark.requirement("S4-29")
def test_a_reply_without_a_word_of_the_question_tells_the_cause(asking) -> None:
    asking.write(
        draft("OPS-1", "Gate valve 8 closed with beam in the machine.", 0),
        draft("OPS-2", CAUSE, 5, reply_to="OPS-1"),
        draft("OPS-3", "The coffee machine was repaired by Oskar.", 6),
    )
    told = asking.answer_with_cards(
        "Why did gate valve 8 close?", mode="keyword", synthesize="deterministic"
    )
    # By its words it is no hit.
    assert [one.external_id for one in told.results] == ["OPS-1"]
    assert told.answer is not None
    assert "An O ring of the dryer had worn through [#OPS-2@1]." in told.answer
    assert "coffee" not in told.answer


def test_only_the_threads_of_the_first_three_hits_are_read(asking: Asking) -> None:
    for number in range(1, THREADS_READ + 3):
        words = "gate valve closed " * (8 - number)
        asking.write(
            draft(f"OPS-{number}", f"{words}in sector {number}.", number),
            draft(f"RE-{number}", f"{CAUSE} {number}", 20, reply_to=f"OPS-{number}"),
        )
    plan = asking.plan("gate valve closed", mode="keyword", synthesize="deterministic")
    preparing = Preparing()
    ended = end_search(
        asking.context,
        job_of(asking.context, plan),
        plan,
        asking.carried_out(plan),
        Beside(preparing),
    )
    assert ended.answer is not None
    assert preparing.prepared is not None
    hits = [one.external_id for one in ended.answer.results]
    assert len(hits) == THREADS_READ + 2
    read = {one.row.external_id for one in preparing.prepared.entries if not one.is_hit}
    assert read == {one.replace("OPS", "RE") for one in hits[:THREADS_READ]}


def test_an_answer_is_the_same_however_few_hits_are_shown(asking) -> None:
    words = "gate valve 8 closed "
    asking.write(
        *(draft(f"OPS-{n}", f"{words * n}in the list of valves.", n) for n in range(6)),
        draft("OPS-9", "Gate valve 8 closed because its air had sagged.", 9),
    )
    question = "Why did gate valve 8 close?"
    whole, short = (
        asking.answer_with_cards(
            question, mode="keyword", synthesize="deterministic", limit=limit
        )
        for limit in (10, 1)
    )
    (only,) = short.results
    assert only.external_id != "OPS-9"
    assert "[#OPS-9@1]" in (short.answer or "")
    assert short.answer == whole.answer
    assert short.cards == whole.cards


def test_the_parts_of_a_question_share_the_characters_of_an_answer(asking) -> None:
    tails = (
        "because the oil level had dropped below the lower mark of the glass",
        "and the vibration of its bearing had risen over several weeks by then",
        "although the crew of the night shift had looked after it just before",
    )
    asking.write(
        *(
            draft(f"OPS-{n}{place}", f"Turbine {n} of the cold box stopped {tail}.", n)
            for n in (1, 2)
            for place, tail in enumerate(tails)
        )
    )
    one = asking.answer_with_cards("Why did turbine 1 of the cold box stop?")
    two = asking.answer_with_cards(
        "Why did turbine 1 of the cold box stop and why did turbine 2 stop?"
    )
    assert one.answer is not None
    assert two.answer is not None
    (whole,) = _lengths(one.answer)
    parts = _lengths(two.answer)
    assert MOST_CHARACTERS // 2 < whole <= MOST_CHARACTERS
    assert len(parts) == 2
    assert all(0 < part <= MOST_CHARACTERS // 2 for part in parts)


def _lengths(answer: str) -> list[int]:
    return [len(re.sub(r" \[#\S+\]", "", part)) for part in answer.split("\n\n")]


def test_the_last_time_is_told_however_many_others_are_found_first(asking) -> None:
    often = "RF cavity 2 tripped at {:02}:10, reset. "
    asking.write(
        *(draft(f"OPS-{n}", often.format(n) * 3, 24 * n) for n in range(12)),
        draft(
            "OPS-90",
            "Handover. Quiet night, coffee is out and the lift works again. "
            "RF cavity 2 tripped at 04:40 on reflected power. Users were told.",
            24 * 90,
        ),
        draft("OPS-91", "RF cavity 3 tripped at 05:00, reset.", 24 * 91),
        draft("OPS-92", "RF cavity 2 has not tripped since the access.", 24 * 92),
    )
    told = asking.answer_with_cards(
        "When did RF cavity 2 last trip?", mode="keyword", synthesize="deterministic"
    )
    assert told.answer is not None
    # The older ones are not what is asked for.
    said = "RF cavity 2 tripped at 04:40 on reflected power [#OPS-90@1]."
    assert told.answer == said


def test_the_last_time_is_that_of_what_the_caller_may_see(asking: Asking) -> None:
    hidden = "Klystron 4 tripped at"
    asking.write(
        draft("OPS-1", "Klystron 4 tripped at 04:10.", 0, logbooks=("Shift",)),
        draft("OPS-2", f"{hidden} 06:20.", 9, logbooks=("Shift",), readers=("ben",)),
        draft("OPS-3", f"{hidden} 08:30.", 10, logbooks=("Security",)),
    )
    told = asking.answer_with_cards(
        "When did klystron 4 last trip?",
        filters={"logbook": "Shift"},
        mode="keyword",
        synthesize="deterministic",
    )
    assert told.answer is not None
    assert "04:10" in told.answer
    assert "06:20" not in told.answer
    assert "08:30" not in told.answer

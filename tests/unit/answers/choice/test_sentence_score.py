"""How well a sentence answers: by the names, the words and the kind of a question."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shared.answers.choice.sentence_score import SHIPPED, ScoredSentence, SentenceScores
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.question import read_part
from shared.text.facility.facility import PLAIN
from tests.unit.answers.worded.test_check_sentence import entry

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def made(
    text: str, number: int = 1, *, score: float = 1.0, reply: bool = False, **more: Any
) -> EvidenceEntry:
    given = entry(text, number, **{"title": "", "authors": [], **more})
    return EvidenceEntry(given.row, score, number, is_reply=reply)


def scores(question: str, *entries: EvidenceEntry) -> SentenceScores:
    return SentenceScores(read_part(question, question, PLAIN), entries)


def texts(found: list[ScoredSentence]) -> list[str]:
    return [one.candidate.text for one in found]


@pytest.mark.parametrize(
    ("text", "is_in"),
    [
        ("The corrector HCM03 tripped again.", True),
        ("The corrector HCM-03 tripped again.", True),
        ("The corrector HCM030 tripped again.", False),
        ("The corrector HCM04 tripped again.", False),
        ("The corrector tripped again.", False),
    ],
)
def test_an_entry_without_the_name_of_the_question_is_out(text, *, is_in) -> None:
    found = scores("Why did HCM03 trip?", made(text))
    assert found.is_gated is not is_in
    assert bool(found.score_by_words()) is is_in
    assert [one.written for one in found.unnamed] == ([] if is_in else ["HCM03"])


def test_a_name_in_the_thread_is_enough_for_each_of_its_entries() -> None:
    thread = UUID(int=99)
    first = made("The corrector HCM03 tripped again.", 1, thread_id=thread)
    reply = made("Its fuse had blown at noon.", 2, thread_id=thread)
    other = made("Its fuse had blown at dusk.", 3)
    found = texts(scores("Why did HCM03 trip?", first, reply, other).score_by_words())
    assert sorted(found) == [
        "Its fuse had blown at noon.",
        "The corrector HCM03 tripped again.",
    ]


@pytest.mark.parametrize(
    ("text", "is_in"),
    [
        ("Turbine 2 of the cold box stopped.", True),
        ("Turbines 1, 2 and 3 of the cold box stopped.", True),
        ("Turbine 20 of the cold box stopped.", False),
        ("Turbine 2.5 of the cold box stopped.", False),
    ],
)
def test_a_numbered_thing_is_a_name(text: str, *, is_in: bool) -> None:
    assert scores("Why did turbine 2 stop?", made(text)).is_gated is not is_in


def test_a_title_is_a_candidate_and_counts_for_why_alone() -> None:
    titled = made("The beam was lost then.", title="Beam lost on a vacuum trip")
    for question, extra in (("Why was beam lost?", SHIPPED.title), ("beam lost", 0.0)):
        title, text = scores(question, titled).score_by_words()
        assert (title.candidate.start, text.candidate.start) == (None, 0)
        # Read with its title, the sentence has the same words of the question.
        assert title.coverage == text.coverage == 1.0
        assert title.score - text.score == pytest.approx(extra)


@pytest.mark.parametrize(
    ("title", "is_echo"),
    [
        ("Beam lost on a vacuum trip", False),
        ("Re: Re: Beam lost again, vacuum trip", False),
        ("Beam lost again, postmortem", True),
        ("Re: why the beam was lost", True),
        ("Beam lost at BPM12, BPM13 and BPM14", True),
    ],
)
def test_a_title_that_adds_no_two_words_to_a_why_question_is_no_answer(
    title: str, *, is_echo: bool
) -> None:
    titled = made("Nobody was there.", title=title)
    for question, less in (("Why was beam lost?", SHIPPED.echo), ("beam lost", 0.0)):
        found = {
            one.candidate.start: one
            for one in scores(question, titled).score_by_words()
        }
        extra = SHIPPED.title if less else 0.0
        assert found[None].score - found[0].score == pytest.approx(
            extra - less * is_echo
        )


@pytest.mark.parametrize(
    ("text", "names_cause"),
    [
        ("The root cause is backlash in the tuner.", True),
        ("It was lost due to a vacuum leak.", True),
        ("Ursache war ein Leck.", True),
        ("It was lost after a vacuum leak was found.", False),
        ("Nobody was there.", False),
    ],
)
def test_what_names_a_cause_counts_for_why_alone(text, *, names_cause) -> None:
    for question, extra in (("Why was beam lost?", SHIPPED.cause), ("beam lost", 0.0)):
        [one] = scores(question, made(text)).score_by_words()
        known = SHIPPED.coverage * one.coverage + SHIPPED.entry
        known += SHIPPED.kind * one.is_of_kind
        assert one.score - known == pytest.approx(extra * names_cause)


def test_a_later_reply_counts_for_why_alone() -> None:
    text = "The beam was lost at noon."
    first, reply = made(text, 1), made(text, 2, reply=True)
    for question, extra in (("Why was beam lost?", SHIPPED.reply), ("beam lost", 0.0)):
        found = {
            one.candidate.entry.is_reply: one.score
            for one in scores(question, first, reply).score_by_words()
        }
        assert found[True] - found[False] == pytest.approx(extra)


@pytest.mark.parametrize(
    ("question", "of_kind", "not_of_kind"),
    [
        ("When was the dryer replaced?", "It was replaced at 11:04.", "It was old."),
        ("Who replaced the dryer?", "The vacuum group did it.", "It was replaced."),
        ("How much air did it leak?", "It leaked 3 litres a day.", "It leaked a lot."),
        ("How long did it take?", "It took two hours in all.", "It took very long."),
        ("Why did it stop?", "It stopped: dirt was found.", "It stopped again then."),
    ],
)
def test_a_sentence_of_the_kind_counts_more(question, of_kind, not_of_kind) -> None:
    kinds = {
        text: one.is_of_kind
        for text in (of_kind, not_of_kind)
        for one in scores(question, made(text)).score_by_words()
    }
    assert kinds == {of_kind: True, not_of_kind: False}
    with_kind = scores(question, made(of_kind)).score_by_words()[0]
    assert with_kind.score == pytest.approx(
        SHIPPED.coverage * with_kind.coverage + SHIPPED.entry + SHIPPED.kind
    )


def test_a_rarer_word_of_the_question_covers_more_of_it() -> None:
    common = [made(f"The pump was greased by crew {n}.", n) for n in range(1, 5)]
    rare = made("The dryer was greased by nobody.", 9)
    found = scores("pump dryer", *common, rare)
    best = found.score_by_words()[0]
    assert best.candidate.entry is rare
    assert 0.5 < best.coverage < 1.0


def test_what_scores_alike_stands_in_the_order_of_entries_and_places() -> None:
    text = "The pump was greased again."
    numbers = (3, 1, 2)
    found = scores("pump", *(made(f"{text} {text}", n) for n in numbers))
    places = [one.candidate.place for one in found.score_by_words()]
    assert places == sorted(places)
    assert len(places) == 6


def test_the_cosine_of_those_that_were_compared_is_added() -> None:
    first = made("The pump was greased again.", 1)
    second = made("The pump was greased at noon.", 2)
    found = scores("pump greased", first, second)
    scored = found.score_by_words()
    last = scored[-1].candidate
    told = found.add_cosines(scored, {last: 0.4})
    assert told[0].candidate is last
    assert told[0].score == pytest.approx(scored[-1].score + SHIPPED.cosine * 0.4)
    assert (told[0].cosine, told[1].cosine) == (0.4, None)


def test_a_word_that_no_entry_at_hand_has_is_told() -> None:
    found = scores("Why did the pump quench?", made("The pump stopped again."))
    assert found.is_written("pump")
    assert not found.is_written("quench")


def test_entries_of_a_question_without_names_are_all_in() -> None:
    entries = [
        made(f"The pump {n} stopped.", n, entry_time=BEGIN + timedelta(hours=n))
        for n in (1, 2, 3)
    ]
    assert len(scores("pump stopped", *entries).score_by_words()) == 3


def test_a_moment_is_that_of_what_was_done_in_its_thread() -> None:
    alarm = made("Alarm of the oscillator at 11:43.", 1)
    plan = made("Some day the oscillator will be exchanged.", 2)
    question = "When was the oscillator exchanged?"
    found = scores(question, alarm, plan).score_by_words()
    assert not any(one.fills_slot for one in found)
    done = made("At 11:43 the oscillator was exchanged.", 1)
    told = {
        one.candidate.entry: (one.fills_slot, one.is_sure)
        for one in scores(question, done, plan).score_by_words()
    }
    assert told == {done: (True, True), plan: (False, True)}

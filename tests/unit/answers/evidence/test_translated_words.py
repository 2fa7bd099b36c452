"""Words of an entry that say what a question says in another language."""

from dataclasses import replace

import pytest

from shared.answers.choice.part_answer import PartAnswer, answer_part
from shared.answers.choice.sentence_meaning import no_meanings
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.evidence.translated_words import translate_entries
from shared.answers.question.question import read_part
from shared.embedding.models.sentence_encoder import SentenceEncoder
from shared.text.facility.facility import PLAIN
from shared.vocabulary.common_words import detect_language
from tests.unit.answers.worded.test_check_sentence import entry


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder()


def translate(
    encoder: SentenceEncoder, question: str, *entries: EvidenceEntry
) -> list[EvidenceEntry] | None:
    language = detect_language(question)
    asked = read_part(question, question, PLAIN)
    others = {one.language for one in entries} - {language}
    return translate_entries(asked, language, others, entries, encoder.encode_words)


def list_pairs(entries: list[EvidenceEntry] | None) -> set[tuple[str, str]]:
    (one,) = entries or []
    return {(word.asked, word.said) for word in one.translations}


FEED = entry(
    "Injection efficiency was poor after operators detected smoke in the hall.",
    title="Pump 2 tripped",
)

INJECTION = "injection efficiency"


@pytest.mark.parametrize(
    ("question", "asked", "said"),
    [
        ("Wann wurde der Rauch entdeckt?", "rauch", "smoke"),
        ("Quand a-t-on vu la fum\u00e9e ?", "fum\u00e9e", "smoke"),
        ("Quando \u00e8 stato rilevato il fumo?", "fumo", "smoke"),
        ("\u00bfCu\u00e1ndo se detect\u00f3 el humo?", "humo", "smoke"),
        # One word in German, two in English.
        ("Wann sank die Injektionseffizienz?", "injektionseffizienz", INJECTION),
    ],
)
def test_a_word_is_told_by_its_meaning(encoder, question, asked, said) -> None:
    assert (asked, said) in list_pairs(translate(encoder, question, FEED))


def test_an_entry_that_translates_nothing_is_not_read_again(encoder) -> None:
    dry = entry("Der Taupunkt im Hohlleiter ist gestiegen.", language="de", title="")
    own, other = translate(encoder, "What is the dew point there?", FEED, dry) or ()
    assert own is FEED
    assert other.translations


@pytest.mark.parametrize(("score", "is_read"), [(0.75, True), (0.65, False)])
def test_a_language_far_below_the_best_hit_is_not_read(encoder, score, is_read) -> None:
    dry = entry("Der Taupunkt im Hohlleiter ist gestiegen.", language="de", title="")
    entries = FEED, replace(dry, score=score)
    translated = translate(encoder, "What is the dew point there?", *entries)
    assert (translated is not None) == is_read


def test_two_words_are_told_by_one_that_is_made_of_both(encoder) -> None:
    dry = entry("Der Taupunkt im Hohlleiter ist gestiegen.", language="de", title="")
    pairs = list_pairs(translate(encoder, "What is the dew point there?", dry))
    assert ("dew point", "taupunkt") in pairs


def test_a_word_that_is_one_of_two_says_nothing_of_the_other(encoder) -> None:
    cold = entry("Das Septum war am Morgen kalt.", language="de", title="")
    pairs = list_pairs(translate(encoder, "When was the septum painted?", cold))
    assert ("septum", "septum") in pairs
    assert ("septum painted", "septum") not in pairs


@pytest.mark.parametrize(
    "question",
    [
        # A part of the compound alone.
        "Wie ist die Telefonnummer der Halle?",
        # Nothing of the kind.
        "Warum wurde der Spiegel vergoldet?",
    ],
)
def test_what_only_sounds_alike_is_not_told(encoder, question) -> None:
    told = entry("The number of the spare pump was noted at the door.", title="Spares")
    translated = translate(encoder, question, told) or [told]
    asked = {word.asked for one in translated for word in one.translations}
    assert not asked & {"telefonnummer", "spiegel", "vergoldet"}


def test_who_asks_in_the_language_of_all_entries_has_nothing_translated(encoder):
    assert translate(encoder, "When was the smoke detected?", FEED) is None


def test_a_text_is_told_in_the_words_of_the_question(encoder: SentenceEncoder) -> None:
    (one,) = translate(encoder, "Quando \u00e8 stato rilevato il fumo?", FEED) or []
    assert "fumo in the hall" in one.translate(one.text)
    assert FEED.translate(FEED.text) == FEED.text


def answer(
    encoder: SentenceEncoder, question: str, *entries: EvidenceEntry, meaning: float
) -> PartAnswer:
    """Answer from translated entries, all of which are so alike in meaning."""
    return answer_part(
        read_part(question, question, PLAIN),
        translate(encoder, question, *entries) or entries,
        lambda _, candidates: dict.fromkeys(candidates, meaning),
        lambda _, words: tuple(words),
        420,
    )


SMOKE = entry(
    "Operators detected smoke in the hall at 12:20. The cable was replaced.",
    title="Smoke in the hall",
)


@pytest.mark.parametrize(
    ("question", "meaning", "status", "grade"),
    [
        ("Wann wurde der Rauch in der Halle entdeckt?", 0.7, "grounded", "B"),
        # Words one by one, and something else as a whole.
        ("Wann wurde der Rauch in der Halle entdeckt?", 0.55, "clarify", "D"),
        # However alike it is, nobody has sold any.
        ("Wann wurde der Rauch in der Halle verkauft?", 0.95, "clarify", "D"),
        # Nobody has counted them.
        ("Wie viele Kabel wurden ersetzt?", 0.95, "insufficient", "D"),
    ],
)
def test_translated_words_ground_an_answer_where_its_meaning_does_too(
    encoder: SentenceEncoder, question: str, meaning: float, status: str, grade: str
) -> None:
    judged = answer(encoder, question, SMOKE, meaning=meaning).judgement
    assert (judged.status, judged.grade) == (status, grade)


def test_what_is_counted_and_numbered_is_told_in_other_words(encoder) -> None:
    spill = entry("50 gallons were lost at pump 2.", title="Leak at pump 2")
    question = "Quanti galloni ha perso la pompa 2?"
    part = answer(encoder, question, spill, meaning=0.8)
    assert part.judgement.status == "grounded"
    other = replace(
        spill, row=replace(spill.row, text="3 gallons were lost.", title="Leak")
    )
    part = answer(encoder, question, other, meaning=0.8)
    assert part.judgement.code == "unknown_name"


def test_without_a_model_at_hand_translated_words_do_not_do(encoder) -> None:
    question = "Wann wurde der Rauch in der Halle entdeckt?"
    part = answer_part(
        read_part(question, question, PLAIN),
        translate(encoder, question, SMOKE) or [],
        no_meanings,
        lambda _, words: tuple(words),
        420,
    )
    assert part.judgement.status != "grounded"

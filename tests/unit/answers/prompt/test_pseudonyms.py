"""Names of people: hidden before a model reads, put back behind it."""

import pytest

from shared.answers.prompt.pseudonyms import Pseudonyms

AUTHORS = ["Maria Lopez", "J. Ruiz", "Will Young", "Maria Lopez", "operator"]
TEXT = (
    "Maria Lopez called Young; Lopez will write to maria.lopez@lab.example.org."
    " Ruiz's shift. The young magnet was replaced."
)


@pytest.mark.requirement("I23")
def test_no_name_is_left_and_each_comes_back_as_it_stood():
    known = Pseudonyms(AUTHORS, [TEXT])
    hidden = known.hide(TEXT)
    for name in ("Maria", "Lopez", "Young", "Ruiz", "@lab"):
        assert name not in hidden
    assert "will write" in hidden
    assert "The young magnet" in hidden
    assert known.show(hidden) == TEXT


def test_the_same_people_have_the_same_names_whoever_asks():
    one, other = Pseudonyms(AUTHORS, [TEXT]), Pseudonyms(AUTHORS, [TEXT])
    assert one.hide(TEXT) == other.hide(TEXT)


def test_who_is_not_known_by_such_a_name_stays_what_was_written():
    assert Pseudonyms(["A. Bee"]).show("PERSON_9 said so") == "PERSON_9 said so"
    assert Pseudonyms([]).hide("nobody") == "nobody"

"""Words that entries have: looked up once, for a while, by each tenant."""

from shared.vocabulary import recent_words
from shared.vocabulary.expand import Expansion, Want
from shared.vocabulary.recent_words import Present

BEAM, BAEM = Want("typo", "beam"), Want("typo", "baem")
FOUND = {BEAM: Expansion(is_known=True), BAEM: Expansion(spellings=("beam",))}


def test_what_was_found_is_not_looked_up_until_its_time_is_over() -> None:
    now = [100.0]
    words = Present(lambda: now[0])
    assert words.others("a", [BEAM, BAEM]) == [BEAM, BAEM]
    words.note("a", FOUND)
    # A word that is misspelt is looked up each time: an entry may have it by then.
    assert words.others("a", [BEAM, BAEM]) == [BAEM]
    assert words.others("b", [BEAM]) == [BEAM]
    now[0] += recent_words.KEPT_SECONDS - 0.1
    assert words.others("a", [BEAM]) == []
    now[0] += 0.1
    assert words.others("a", [BEAM]) == [BEAM]


def test_no_more_words_are_kept_than_the_limit() -> None:
    words = Present(lambda: 0.0)
    names = [Want("typo", f"word{number}") for number in range(10_001)]
    for want in names[:-1]:
        words.note("a", {want: Expansion(is_known=True)})
    assert words.others("a", names[:-1]) == []
    words.note("a", {names[-1]: Expansion(is_known=True)})
    assert words.others("a", names) == names[:-1]
